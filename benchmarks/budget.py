"""How far a run goes beyond its limits: calls, tokens, seconds and money, with eight parallel subtasks.

    python benchmarks/budget.py [--json]

A scripted model with a fixed latency works on eight subtasks at once. Each limit is reached in the middle of the work;
what is spent beyond it must not be more than the calls that were in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from captain import Captain

PARTS = 8
LATENCY = 0.2
PRICE = {"prompt": 1.0, "completion": 10.0}
LIMITS: tuple[tuple[str, float], ...] = (("calls", 20), ("tokens", 6000), ("seconds", 1.0), ("usd", 0.01))


@dataclass(frozen=True)
class Overshoot:
    """What one limit came to."""

    limit: str
    allowed: float
    spent: float
    in_flight: int
    """Requests that were out when the limit was reached."""
    most_by_those: float
    """What these requests used."""
    status: str
    missing: int
    """Subtasks without an accepted answer."""

    @property
    def held(self) -> bool:
        """Whether no more was spent than the limit and the calls in flight."""
        return self.status == "stopped" and self.spent <= self.allowed + self.most_by_those + 1e-9


async def reply(messages: Sequence[Any], tools: Sequence[Any]) -> str:
    """The scripted model: a plan of eight parts, and members who never finish by themselves."""
    await asyncio.sleep(LATENCY)
    texts = [str(message.content) for message in messages]
    if texts[-1].startswith("You plan how"):
        expert = {"title": "Historian", "does": "knows the history of science"}
        parts = [{"goal": f"part {n}", "method": "recall", "experts": [expert], "depends_on": []} for n in range(PARTS)]
        return json.dumps({"subtasks": parts})
    if "You review the" in "\n".join(texts):
        return json.dumps({"verdict": "retry", "issues": ["More detail is needed."]})
    return f"Here is what I know so far about it. {len(messages)}\nFINAL ANSWER: something"


async def measure(name: str, allowed: float, folder: Path) -> Overshoot:
    """Runs into one limit."""
    captain = Captain(
        {
            "model": {"name": "scripted", "provider": "scripted", "handler": "budget.reply", "price": PRICE},
            "model.concurrency": 64,
            "embedding": "hash",
            "library.user_dir": str(folder / "library"),
            "library.threshold": -1.0,
            "library.margin": 0.0,
            "tools.enabled": False,
            "team.max_subtasks": PARTS,
            "walk.max_parallel": PARTS,
            "walk.max_attempts": 50,
            "walk.review": "always",
            "limits.subtask_share": float(PARTS),
            f"limits.{name}": int(allowed) if name in ("calls", "tokens") else allowed,
            "runs_dir": str(folder / "runs"),
        }
    )
    begun = time.perf_counter()
    result = await captain.solve_async("Tell all that is known about it.")
    seconds = time.perf_counter() - begun
    assert result.run_dir is not None
    lines = [json.loads(line) for line in (result.run_dir / "journal.jsonl").read_text().splitlines()]
    calls = [line for line in lines if line["kind"] == "model_call"]
    spent = {
        "calls": float(len(calls)),
        "tokens": float(sum(c["usage"]["prompt_tokens"] + c["usage"]["completion_tokens"] for c in calls)),
        "seconds": seconds,
        "usd": sum(c["usd"] or 0.0 for c in calls),
    }
    late = late_calls(calls, name, allowed)
    by_those = {
        "calls": float(len(late)),
        "tokens": float(sum(c["usage"]["prompt_tokens"] + c["usage"]["completion_tokens"] for c in late)),
        "seconds": LATENCY + 0.3,
        "usd": sum(c["usd"] or 0.0 for c in late),
    }
    return Overshoot(name, allowed, spent[name], len(late), by_those[name], result.status, len(result.missing))


def late_calls(calls: list[dict[str, Any]], name: str, allowed: float) -> list[dict[str, Any]]:
    """The calls that were in flight when the limit was reached: they had begun before and ended then or later."""
    total = 0.0
    reached = None
    late = []
    for call in calls:
        if reached is not None and call["t"] - call["seconds"] <= reached + 0.01:
            late.append(call)
        used = call["usage"]["prompt_tokens"] + call["usage"]["completion_tokens"]
        total += {"calls": 1.0, "tokens": float(used), "usd": call["usd"] or 0.0, "seconds": 0.0}[name]
        if reached is None and (total >= allowed if name != "seconds" else call["t"] >= allowed):
            reached = call["t"]
            late.append(call)  # it was in flight too: the limit was reached by its answer
    return late


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure("calls", 3, Path(folder)))  # imports and the index
        rows = [asyncio.run(measure(name, allowed, Path(folder))) for name, allowed in LIMITS]
    if given.json:
        print(json.dumps([asdict(row) | {"held": row.held} for row in rows]))
    else:
        print(f"{'limit':8} {'allowed':>8} {'spent':>9} {'in flight':>9} {'by those':>9}  status   missing  held")
        for row in rows:
            print(
                f"{row.limit:8} {row.allowed:8g} {row.spent:9.4g} {row.in_flight:9} {row.most_by_those:9.4g}  "
                f"{row.status:8} {row.missing:6}  {row.held}"
            )
    raise SystemExit(0 if all(row.held for row in rows) else 1)


if __name__ == "__main__":
    main()
