"""`captain solve`: one task, from the words of the command to the answer on the screen."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from captain.cli.models import fetch_missing
from captain.cli.terminal import clean, notice, one_line, output, progress, say
from captain.config import CaptainConfig
from captain.errors import ConfigError
from captain.results import Result

ANSWERED = ("solved", "unverified")
EVIDENCE_SHOWN = 5


def solve_task(
    words: Sequence[str], *, file: Path | None, files: Sequence[Path], config_dir: Path | None, as_json: bool
) -> int:
    """Solves the task that the words give and shows the result.

    Returns:
        The exit code: 0 with an answer, 1 without, 130 when interrupted.
    """
    from captain.compose import load_config

    task, overrides = read_task(words, file)
    for path in files:
        if not path.exists():
            raise ConfigError(f"the file {str(path)!r} does not exist; --files takes existing files")
    with output(as_json) as emit:
        result = _solve(load_config(overrides, config_dir=config_dir).captain, task, files)
        if result is None:
            return 130
        emit(result.to_dict())
        if not as_json:
            show_result(result)
    return 0 if result.status in ANSWERED else 1


def _solve(config: CaptainConfig, task: str, files: Sequence[Path]) -> Result | None:
    """Solves the task in a run of its own, showing each event; None when interrupted."""
    from captain import Captain
    from captain.cli.approving import ask_on_terminal
    from captain.journal import Run

    fetch_missing(config)
    run = Run.create(config.runs_dir, config)
    try:
        with progress() as show:
            chief = Captain(config, approver=ask_on_terminal())
            return asyncio.run(chief.solve_async(task, files=list(files), run=run, listener=show))
    except KeyboardInterrupt:
        if not run.closed:  # interrupted before the Captain had it, which else keeps what was done
            run.finish({"status": "stopped", "stop_reason": "interrupted", "run_dir": str(run.folder)})
        notice(f"interrupted; what was done is kept in {run.folder}")
        return None


def read_task(words: Sequence[str], file: Path | None) -> tuple[str, list[str]]:
    """Parts the words of the command into the task, verbatim, and the overrides.

    Raises:
        ConfigError: There is no task, its file cannot be read, or a word is neither.
    """
    if file is not None:
        task, overrides = _read_file(file), list(words)
    elif words and not _looks_like_override(words[0]):
        task, overrides = (sys.stdin.read() if words[0] == "-" else words[0]), list(words[1:])
    else:
        hint = f" ({words[0]!r} is a setting)" if words else ""
        raise ConfigError(f"the task is missing{hint}; give it as the first argument in quotes, as -, or by --file")
    if not task.strip():
        raise ConfigError("the task is empty; write what is to be solved")
    for word in overrides:
        if "=" not in word and not word.startswith("~"):
            raise ConfigError(f"{word!r} is no setting (KEY=VALUE); put the whole task in quotes")
    return task, overrides


def show_result(result: Result) -> None:
    """Shows the answer on stdout and, short, what supports it and what it cost."""
    say(result.answer or "(no answer)")
    say()
    say(f"status    {result.status}{f' ({one_line(result.stop_reason)})' if result.stop_reason else ''}")
    for item in result.evidence[:EVIDENCE_SHOWN]:
        say(f"evidence  {item.kind} by {item.source}: {one_line(item.quote, limit=100)}")
    if len(result.evidence) > EVIDENCE_SHOWN:
        say(f"          and {len(result.evidence) - EVIDENCE_SHOWN} more")
    say(f"usage     {_usage(result)}")
    for goal in result.missing[:EVIDENCE_SHOWN]:
        say(f"missing   {one_line(goal, limit=100)}")
    for line in result.unknown:
        say(f"unknown   {one_line(line)}")
    if result.run_dir is not None and result.status in ("paused", "stopped"):
        say(f"go on     captain resume {clean(str(result.run_dir))}")
    if result.run_dir is not None:
        say(f"run       {clean(str(result.run_dir))}")


def _usage(result: Result) -> str:
    usage = result.usage
    money = "" if usage.usd is None else f", ${usage.usd:.4f}"
    tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    return f"{usage.calls} model calls, {tokens}, {usage.seconds:.1f} s{money}"


def _looks_like_override(word: str) -> bool:
    """Whether a first word is plainly a setting, so that a forgotten task is not solved as `model=auto`."""
    roots: set[Any] = {*CaptainConfig.model_fields, "scenario"}
    match = re.fullmatch(r"[+~]*(\w+)(\.[\w.]+)?=\S*", word)
    return match is not None and match.group(1) in roots


def _read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"the file {str(path)!r} does not exist; --file takes a text file with the task") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the task from {str(path)!r}: {error}; give a UTF-8 text file") from error
