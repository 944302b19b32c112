"""What a member reads about a run of its program: short tracebacks, plain sentences, bounded length."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from captain.execution.processes import Ending, Finished, cut_middle

TIMEOUT_CODE = 124
FLOOD_CODE = 125
_MEMORY_CODE = 128 + signal.SIGKILL
_DISK_CODE = 128 + signal.SIGXFSZ
_FRAMES_KEPT = 3
_SLACK = 100  # room for the line that says what was cut while reading
_CRASHES: dict[int, str] = {
    signal.SIGKILL: "the signal SIGKILL (out of memory?)",
    signal.SIGSEGV: "the signal SIGSEGV (a crash in compiled code)",
    signal.SIGABRT: "the signal SIGABRT",
    signal.SIGTERM: "the signal SIGTERM",
}
_START = "Traceback (most recent call last):"
_FRAME = re.compile(r'^  File "(?P<path>[^"]*)", line (?P<line>\d+)')
_CHAINED = re.compile(
    r"\n(?:During handling of the above exception, another exception occurred|"
    r"The above exception was the direct cause of the following exception):\n\n"
)


@dataclass(frozen=True)
class Program:
    """A program that was run: the file on disk, the name that members see, and the text that the member wrote."""

    path: Path
    shown: str
    code: str


def describe(finished: Finished, program: Program, *, seconds: float, characters: int) -> str:
    """Write the text that a member reads after its program ended.

    A program that ended well is reported by what it printed alone, even if that is nothing: its output is evidence.
    Sentences of ours are added to failures only.

    Args:
        finished: How it ended and what it wrote.
        program: What was run.
        seconds: The time limit, named when it was reached.
        characters: The length that the text should not exceed by much.
    """
    output = finished.output
    if finished.exit_code and program.shown.endswith(".py"):
        output = shorten_traceback(output, program)
    output = _rename(output, program) if finished.exit_code else output
    notes = _notes(finished, output, seconds)
    return "\n".join(part for part in (cut_middle(output.rstrip(), characters + _SLACK), *notes) if part)


def _rename(output: str, program: Program) -> str:
    """Show the file's plain name where an error names a place in it (`File "…", line 3`, `….sh: line 3:`)."""
    name = re.escape(program.path.name)
    return re.sub(
        rf'(?<=File ")[^"\n]*{name}(?=", line)|^[^"\n]*{name}(?=: )', program.shown, output, flags=re.MULTILINE
    )


def exit_code(ending: Ending, code: int) -> int:
    """Return the exit code that is reported: 124 after a time-out, 125 after a flood of output, else as of a signal."""
    codes = {"timeout": TIMEOUT_CODE, "flood": FLOOD_CODE, "memory": _MEMORY_CODE, "disk": _DISK_CODE}
    return codes.get(ending, code)


def _notes(finished: Finished, output: str, seconds: float) -> list[str]:
    if finished.ending == "timeout":
        return [f"The program was stopped: it ran longer than {seconds:g} seconds. Use a faster method or less data."]
    if finished.ending == "flood":
        return ["The program was stopped: it printed far too much. Print only the result."]
    if finished.ending in ("memory", "disk"):
        return [f"The program was stopped: it used too much {finished.ending}. Work with less data at once."]
    notes = []
    if finished.exit_code and "EOFError: EOF when reading a line" in output:
        notes.append("There is no keyboard here: input() cannot be used. Write the values into the program.")
    crash = finished.exit_code - 128
    if crash in _CRASHES:
        notes.append(f"The program was ended by {_CRASHES[crash]}.")
    return notes


def shorten_traceback(output: str, program: Program) -> str:
    """Keep of the last traceback what helps to mend the program: its own last frames, the frame that raised, the error.

    Of exceptions that led to the last one only their message stays. Text before and after is left alone.
    """
    start = output.find(_START)
    if start < 0:
        return output
    before, report = output[:start], output[start:]
    *causes, last = _CHAINED.split(report)
    earlier = [message for message in map(_message, causes) if message and message not in last]
    return before + "".join(f"{message}\n" for message in earlier) + _shorten(last, program)


def _message(report: str) -> str:
    """Return the error's own lines of a report, without its frames."""
    lines = report.split("\n")
    frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
    return "\n".join(lines[frames[-1] + 1 :]).strip() if frames else ""


def _shorten(report: str, program: Program) -> str:
    lines = report.split("\n")
    starts = [number for number, line in enumerate(lines) if _FRAME.match(line)]
    if not starts:
        return report
    end = next((n for n in range(starts[-1] + 1, len(lines)) if not lines[n].startswith("  ")), len(lines))
    frames = [lines[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
    own = [n for n, frame in enumerate(frames) if f'{program.path.name}"' in frame[0]]
    kept = sorted({*own[-_FRAMES_KEPT:], len(frames) - 1})
    shown = [line for n in kept for line in _show_frame(frames[n], program)]
    return "\n".join([*lines[: starts[0]], *shown, *lines[end:]])


def _show_frame(frame: list[str], program: Program) -> list[str]:
    """Show the member's own line, not the one that was changed to print its value; library paths by their end."""
    match = _FRAME.match(frame[0])
    if match is None:
        return frame
    path, number = match["path"], int(match["line"])
    if Path(path).name != program.path.name:  # inside a container the folder has another path
        tail = "/".join(Path(path).parts[-2:])
        return [frame[0].replace(f'"{path}"', f'"{tail}"'), *frame[1:]]
    source = program.code.split("\n")
    if number > len(source) or len(frame) != 2:
        return frame
    return [frame[0], f"    {source[number - 1].strip()}"]
