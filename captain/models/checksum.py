"""SHA-256 of large files, computed once and remembered while size and modification time stay the same."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

_CHUNK = 1 << 20


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file as lower-case hex, read in pieces.

    Args:
        path: The file.
    """
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while piece := source.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


class Checksums:
    """Remembers which files were hashed, in small records in a folder of its own, so that a warm start is fast."""

    def __init__(self, folder: Path) -> None:
        """Use `folder` for the records; it is made when the first one is written."""
        self._folder = folder

    def known(self, path: Path) -> str | None:
        """The remembered hash of `path`; None when it was never hashed or has changed since."""
        try:
            record = json.loads(self._record(path).read_text(encoding="utf-8"))
            sha256 = record["sha256"] if [record["size"], record["mtime_ns"]] == _stamp(path) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return sha256 if isinstance(sha256, str) else None

    def of(self, path: Path, *, fresh: bool = False) -> str:
        """The hash of `path`, from memory where it can be trusted.

        Args:
            path: The file.
            fresh: Hash it now, whatever is remembered.
        """
        remembered = None if fresh else self.known(path)
        if remembered:
            return remembered
        stamp = _stamp(path)
        sha256 = file_sha256(path)
        self._write(path, stamp, sha256)
        return sha256

    def moved(self, old: Path, new: Path) -> None:
        """Carry what is remembered about `old` over to `new`, the same file after a rename."""
        try:
            record = json.loads(self._record(old).read_text(encoding="utf-8"))
            self._write(new, [record["size"], record["mtime_ns"]], record["sha256"])
            self._record(old).unlink()
        except (OSError, ValueError, KeyError, TypeError):
            return

    def _write(self, path: Path, stamp: list[int], sha256: str) -> None:
        record = json.dumps({"path": str(path), "size": stamp[0], "mtime_ns": stamp[1], "sha256": sha256})
        with contextlib.suppress(OSError):  # A read-only cache costs speed, nothing else.
            self._folder.mkdir(parents=True, exist_ok=True)
            self._record(path).write_text(record, encoding="utf-8")

    def _record(self, path: Path) -> Path:
        return self._folder / (hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:24] + ".json")


def _stamp(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]
