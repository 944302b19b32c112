"""`captain why`: what went wrong in a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from captain.cli.terminal import one_line, output, say
from captain.durable.reading import read_journal


def explain_run(folder: Path, *, as_json: bool) -> None:
    """Shows what failed in a run, per subtask and member, and which step first went wrong.

    Raises:
        ConfigError: It is no folder of a run.
    """
    from captain.attribution import failures_in, first_wrong

    with output(as_json) as emit:
        journal = read_journal(folder)
        failures = failures_in(journal.entries)
        first = first_wrong(failures)
        result = _result(folder)
        missing, unknown = _lines(result.get("missing")), _lines(result.get("unknown"))
        emit(
            {
                "status": result.get("status"),
                "stop_reason": result.get("stop_reason"),
                "first": first.model_dump(mode="json") if first else None,
                "failures": [failure.model_dump(mode="json") for failure in failures],
                "missing": missing,
                "unknown": unknown,
            }
        )
        if as_json:
            return
        say(f"status    {result.get('status')} ({one_line(str(result.get('stop_reason', '')))})")
        if first is None:
            say("nothing on record failed")
            return
        say(f"first     {first.line()}")
        for failure in failures:
            say(f"{failure.what:9} {failure.line()}")
        for goal in missing:
            say(f"missing   {one_line(goal)}")
        for line in unknown:
            say(f"unknown   {one_line(line)}")


def _lines(value: Any) -> list[str]:
    return [str(line) for line in value] if isinstance(value, list) else []


def _result(folder: Path) -> dict[str, Any]:
    try:
        value = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
