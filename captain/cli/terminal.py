"""What people and programs see: JSON alone on stdout, everything else on stderr, nothing that drives the terminal."""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captain.events import Event

# Texts of models, tools and files are data: their escape sequences must not reach the terminal.
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LINE = 200
STYLES = {
    "finished": "bold green",
    "reviewed": "magenta",
    "execution": "cyan",
    "tool_call": "cyan",
    "model_call": "dim",
}


def prepare_streams() -> None:
    """Lets a terminal with a narrow character set show what it can instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def clean(text: str) -> str:
    """Gives the text without control characters, line ends and tabs kept."""
    return _CONTROL.sub("", text)


def one_line(text: str, *, limit: int = LINE) -> str:
    """Gives the text on one line of at most `limit` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def complain(message: str) -> None:
    """Writes `error: …` as one line on stderr."""
    notice(f"error: {one_line(message, limit=2000)}")


def notice(text: str) -> None:
    """Writes one line on stderr."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is the one place that writes there


def say(text: str = "") -> None:
    """Writes text for people on stdout."""
    print(clean(text), flush=True)  # noqa: T201 - this is the one place that writes there


@contextmanager
def output(as_json: bool) -> Iterator[Callable[[Any], None]]:
    """Lends a function that takes the JSON object to print when the block is done.

    With `as_json`, whatever else is written to stdout inside the block, also by C code and child processes, goes to
    stderr. Without, the function does nothing.
    """
    if not as_json:
        yield lambda _: None
        return
    kept: list[Any] = []
    with _descriptor_on_stderr(), redirect_stdout(sys.stderr):
        yield kept.append
    for data in kept[-1:]:
        print(_json(data), flush=True)  # noqa: T201 - the output that was asked for


@contextmanager
def progress() -> Iterator[Callable[[Event], None]]:
    """Lends a function that shows an event on stderr: styled on a terminal, as plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda event: notice(_line(event))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with console.status("working …") as status:

        def show(event: Event) -> None:
            console.print(Text(_line(event), style=STYLES.get(event.kind, "")), soft_wrap=True)
            status.update(Text(event.kind.replace("_", " ")))

        yield show


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Shows rows on stdout: a table on a terminal, tab-separated lines in a pipe."""
    if not sys.stdout.isatty():
        for row in rows:
            say("\t".join(one_line(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(*head, box=None, header_style="bold")
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    Console().print(grid)


def _line(event: Event) -> str:
    where = " ".join(part for part in (event.subtask, event.source) if part)
    return one_line(f"{event.kind}{f' [{where}]' if where else ''}: {event.text}")


@contextmanager
def _descriptor_on_stderr() -> Iterator[None]:
    try:
        descriptor, target = sys.__stdout__.fileno(), sys.__stderr__.fileno()  # type: ignore[union-attr]  # see except
    except (AttributeError, OSError, ValueError):
        yield
        return
    sys.stdout.flush()
    saved = os.dup(descriptor)
    os.dup2(target, descriptor)
    try:
        yield
    finally:
        _flush_c_streams()
        os.dup2(saved, descriptor)
        os.close(saved)


def _flush_c_streams() -> None:
    """Empties the buffers of C code, which would else come out on the real stdout when the process ends."""
    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).fflush(None)


def _json(data: Any) -> str:
    plain = _finite(data)
    text = json.dumps(plain, ensure_ascii=False, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(plain, default=str)
    return text


def _finite(data: Any) -> Any:
    """Replaces numbers that JSON has not (NaN, infinities) by null."""
    if isinstance(data, float) and not math.isfinite(data):
        return None
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data
