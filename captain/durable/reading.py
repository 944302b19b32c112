"""Reading a journal back, also one whose process was killed in the middle of a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captain.errors import ConfigError
from captain.journal import JOURNAL

Entry = Mapping[str, Any]

_DEEPEST = 200
_LONGEST = 1e10
"""Seconds of work that no run comes to: three hundred years."""


@dataclass(frozen=True)
class JournalText:
    """What a journal holds."""

    entries: tuple[Entry, ...]
    """One object for each whole line, in the order of writing."""
    whole: int
    """Bytes up to the end of the last whole line."""
    torn: int
    """Bytes behind it: the beginning of a line that was never finished."""

    @property
    def elapsed(self) -> float:
        """Seconds that the processes that wrote it worked on the run."""
        return max((_seconds(entry.get("t")) for entry in self.entries), default=0.0)


def read_journal(folder: Path) -> JournalText:
    """Reads the journal of a run.

    Args:
        folder: The run's folder.

    Raises:
        ConfigError: There is no journal, or a line before the last is no JSON object (the line is named).
    """
    path = folder / JOURNAL
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{str(folder)!r} is no folder of a run: it holds no {JOURNAL}") from None
    except OSError as error:
        raise ConfigError(f"{path}: the journal cannot be read: {error.strerror or error}") from error
    *lines, rest = content.split(b"\n")
    entries: list[Entry] = []
    whole = 0
    for number, line in enumerate(lines, start=1):
        entry = _object(line)
        if entry is None:
            if number == len(lines) and not rest:
                break  # a line of which only the end reached the disk before the power went
            raise ConfigError(
                f"{path}:{number}: the journal is damaged here; restore the file, or remove this line and all after it"
            )
        entries.append(entry)
        whole += len(line) + 1
    return JournalText(tuple(entries), whole, len(content) - whole)


def repair(folder: Path, text: JournalText) -> None:
    """Cuts a torn last line off, so that what is written next begins a line of its own."""
    if text.torn:
        with (folder / JOURNAL).open("r+b") as file:
            file.truncate(text.whole)


@contextmanager
def on_record(kind: str) -> Iterator[None]:
    """Where recorded data is taken apart: data of another shape than was written is a fault of the file.

    Raises:
        ConfigError: The block stumbled over the data.
    """
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise ConfigError(
            f"the journal's record of a {kind.replace('_', ' ')} is damaged ({type(error).__name__}: {reason}); "
            "restore the file, or remove this line and all after it"
        ) from error


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LONGEST:
        return 0.0
    return float(value)


def _depth(value: Any) -> int:
    """How deep lists and objects stand in each other; counted up to one level too many."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        inner = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]
        level, depth = [child for child in inner if isinstance(child, dict | list)], depth + 1
    return depth


def _object(line: bytes) -> Entry | None:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return None
    # Whoever writes it again, deeper in its own calls, would come to the end of the stack.
    deep = line.count(b"[") + line.count(b"{") > _DEEPEST and _depth(value) > _DEEPEST
    return None if deep else value
