"""One budget for a whole tree, with shares for its parts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from captain import Captain

CaptainWith = Callable[..., Captain]


def test_no_limit_is_passed_by_more_than_the_calls_in_flight() -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "budget.py"
    done = subprocess.run([sys.executable, str(script), "--json"], capture_output=True, text=True, timeout=100)
    rows = {row["limit"]: row for row in json.loads(done.stdout)}
    assert set(rows) == {"calls", "tokens", "seconds", "usd"} and all(
        row["status"] == "stopped" for row in rows.values()
    )
    assert all(row["held"] for name, row in rows.items() if name != "seconds")  # a busy machine has slow seconds
    assert rows["calls"]["spent"] == rows["calls"]["allowed"]


def test_one_part_cannot_use_up_what_the_others_need(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    def expert(ask: Any) -> str:
        return "I am still thinking." if "the endless" in ask.text else "FINAL ANSWER: Bern"

    parts = [steps.part("Geographer", method="recall", goal=goal) for goal in ("the endless", "the short")]
    model = make_model(
        {
            "planner": steps.plan(*parts),
            "expert": expert,
            "reflector": lambda ask: steps.verdict("retry" if "thinking" in ask.text else "accept", issues=["more"]),
        }
    )
    settings = {
        "limits.calls": 21,
        "limits.subtask_share": 1.0,
        "walk.max_attempts": 50,
        "walk.max_parallel": 1,
        "walk.review": "always",
    }
    result = captain_with(model, settings).solve("Say both.")
    assert result.status == "stopped" and "this part's share of 10 calls is used up" in result.stop_reason
    assert result.missing == ["the endless"]
    assert "Bern" in result.answer
