"""`captain doctor`: can tasks be solved here, and what can be done about what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from captain.cli.terminal import one_line, output, say

MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def examine(overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> int:
    """Runs all checks and shows them.

    Returns:
        The exit code: 0 unless something is in the way of solving tasks.
    """
    from captain.cli.checks import check_all
    from captain.compose import load_config

    with output(as_json) as emit:
        config = load_config(overrides, config_dir=config_dir).captain
        checks = []
        for check in check_all(config):
            checks.append(check)
            if not as_json:
                remedy = f"  ->  {check.remedy}" if check.remedy else ""
                say(f"{MARKS[check.state]}  {check.name:<10} {one_line(check.detail, limit=400)}{remedy}")
        works = all(check.state != "problem" for check in checks)
        emit({"ok": works, "checks": [asdict(check) for check in checks]})
        if not as_json:
            say("tasks can be solved here" if works else "tasks cannot be solved here: mend what is marked PROBLEM")
    return 0 if works else 1
