"""The folder that programs write: it belongs to their user while they run, and what they left in it is distrusted."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

_DEPTH = 64  # folders nested deeper are left as they are


class Holding:
    """A run's folder, lent to the user that its programs become.

    Programs can leave links, pipes and folders without rights in it, so nothing here follows a link.
    """

    def __init__(self, folder: Path, uid: int | None) -> None:
        """Take over a folder that exists.

        Args:
            folder: Absolute path without symbolic links.
            uid: The programs' user; None when they run as we do.
        """
        self._folder = folder
        self._uid = uid
        owner = folder.stat()
        self._owner = (owner.st_uid, owner.st_gid) if owner.st_uid != uid else (os.getuid(), os.getgid())

    def open_up(self) -> None:
        """See to it that the folder is there and that we may write in it, whatever a program did to it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        mode = self._folder.stat().st_mode
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            self._folder.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)

    def lend(self) -> int:
        """Make all that the folder holds the programs' own, with a folder `tmp` in it.

        Returns:
            Bytes on disk that it holds.
        """
        temporary = self._folder / "tmp"
        with contextlib.suppress(OSError):  # programs that disturb each other here have no temporary folder
            if os.path.lexists(temporary) and not stat.S_ISDIR(temporary.lstat().st_mode):
                temporary.unlink()
            temporary.mkdir(exist_ok=True)
        return self._give(None if self._uid is None else (self._uid, self._uid))

    def take_back(self) -> None:
        """Remove temporary files and own the rest again."""
        with contextlib.suppress(RecursionError):  # nested deeper than Python can walk: it stays
            shutil.rmtree(self._folder / "tmp", ignore_errors=True)
        if self._uid is not None and self._folder.is_dir():
            self._give(self._owner)

    def _give(self, owner: tuple[int, int] | None) -> int:
        held = 0
        with _opened(self._folder) as folder:
            if owner is not None:
                os.fchown(folder, *owner)
            for parent, name, status in _walk(folder):
                held += status.st_blocks * 512
                # a file with several names may be somebody else's too
                shared = status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode)
                if owner is not None and status.st_uid != owner[0] and not shared:
                    with contextlib.suppress(OSError):
                        os.chown(name, *owner, dir_fd=parent, follow_symlinks=False)
        return held


def size_of(folder: Path) -> int:
    """Bytes on disk of all that a folder holds; 0 when it is gone."""
    with contextlib.suppress(OSError), _opened(folder) as opened:
        return sum(status.st_blocks * 512 for _, _, status in _walk(opened))
    return 0


@contextlib.contextmanager
def _opened(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield number
    finally:
        os.close(number)


def _walk(folder: int, depth: int = 0) -> Iterator[tuple[int, str, os.stat_result]]:
    """Give all entries below an open folder as (open parent, name, status), without following links."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        with contextlib.suppress(OSError):  # it went away, or we may not look into it
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            yield folder, name, status
            if stat.S_ISDIR(status.st_mode) and depth < _DEPTH:
                with _opened(name, folder) as inner:
                    yield from _walk(inner, depth + 1)
