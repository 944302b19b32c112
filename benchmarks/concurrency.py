"""How well many solves share one process: N at once beside one alone, against an endpoint with a fixed latency.

    python benchmarks/concurrency.py [--solves 50] [--latency 0.5]

The endpoint runs in a process of its own, so that what is measured is our work between calls. No code is run.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from captain import Captain
from captain.testing import serve

GOAL = 1.5
EXPERT = {"title": "Historian", "does": "knows the history of science"}
PLAN = json.dumps({"subtasks": [{"goal": "all", "method": "recall", "experts": [EXPERT], "depends_on": []}]})
REVIEW = json.dumps({"verdict": "accept", "evidence": [], "issues": [], "unsupported_claims": [], "contradictions": []})


def handler(body: dict[str, Any]) -> str:
    """The scripted model: a plan, an answer, a review."""
    prompt = str(body["messages"][-1]["content"])
    if prompt.startswith("You plan how"):
        return PLAN
    if prompt.startswith("Choose the expert"):
        return json.dumps({"choices": [1]})
    if prompt.startswith("You review the"):
        return REVIEW
    return "Marie Curie received it.\nFINAL ANSWER: Marie Curie"


async def timed(captain: Captain, solves: int) -> float:
    """Seconds that `solves` solves take when they start at once."""
    start = time.perf_counter()
    tasks = [captain.solve_async(f"Who received two Nobel prizes? ({number})") for number in range(solves)]
    results = await asyncio.gather(*tasks)
    assert all(result.answer == "Marie Curie" for result in results)
    return time.perf_counter() - start


async def measure(base_url: str, solves: int) -> dict[str, float]:
    """Times one alone and many at once, after one to warm up."""
    with tempfile.TemporaryDirectory() as folder:
        captain = Captain(
            {
                "model": "compatible",
                "model.base_url": base_url,
                "model.model": "scripted",
                "model.concurrency": 64,
                "embedding": "hash",
                "execution.enabled": False,
                "library.user_dir": f"{folder}/library",
                "runs_dir": f"{folder}/runs",
            }
        )
        await timed(captain, 1)
        one = min([await timed(captain, 1) for _ in range(3)])
        many = await timed(captain, solves)
    return {"one": round(one, 3), "many": round(many, 3), "ratio": round(many / one, 3)}


def main() -> int:
    """Measures and says whether the goal is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", type=int, default=50)
    parser.add_argument("--latency", type=float, default=0.5)
    options = parser.parse_args()
    # The endpoint's process imports the handler by its module's name.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    sys.path.insert(0, str(Path(__file__).parent))
    scripted = importlib.import_module("concurrency").handler
    with serve(scripted, latency=options.latency, process=True) as server:
        figures = asyncio.run(measure(server.base_url, options.solves))
    print(json.dumps({"solves": options.solves, "latency": options.latency, **figures}))
    return 0 if figures["ratio"] <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
