"""Model calls and prompt tokens beside the reference implementation, on the same scripted endpoint.

    python benchmarks/calls.py --harness DIR --reference-python PYTHON

`DIR` holds the reference harness (`run.py`, `server.py`, `fakes/`), `PYTHON` an environment of its own with
`autogen[openai]==0.14.1`. Both sides talk to the harness's server and get the same replies from experts: a trivial task
of two expert messages, and four teams of three experts that talk ten rounds and never finish by themselves.
Tokens are characters of the request / 4, counted by that server, on both sides.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from captain import Captain

ROLES = [
    {"title": "Mathematician", "does": "solves the mathematics"},
    {"title": "Python programmer", "does": "writes the programs"},
    {"title": "Checker", "does": "checks the result"},
]
LIMITS = {"trivial": (6, 16), "four_teams": (45, 110)}
TOKEN_RATIO = 0.4


def kind_of(prompt: str) -> str:
    """Which step of ours a request belongs to."""
    starts = {"You plan how": "planner", "You review the": "reflector", "Answer the task from": "composer"}
    starts["Choose the expert for"] = "selector"
    return next((kind for start, kind in starts.items() if prompt.startswith(start)), "expert")


def reply(which: str, body: dict[str, Any], number: int) -> str:
    """What the scripted model says to a request of ours."""
    prompt = str(body["messages"][-1]["content"])
    kind = kind_of(prompt)
    if kind == "planner":
        parts = 1 if which == "trivial" else 4
        method = "compute" if which == "trivial" else "recall"
        experts = ROLES[:1] if which == "trivial" else ROLES
        goals = [{"goal": f"Part {i}.", "method": method, "experts": experts, "depends_on": []} for i in range(parts)]
        return json.dumps({"subtasks": goals})
    if kind == "reflector":
        return json.dumps(
            {"verdict": "accept", "evidence": [], "issues": [], "unsupported_claims": [], "contradictions": []}
        )
    if kind == "composer":
        return "42"
    if kind == "selector":
        return json.dumps({"choices": [1] * prompt.count("\nRole ")})
    if which == "trivial":
        return "FINAL ANSWER: 42" if "printed:\n42" in prompt else "```python\nprint(6*7)\n```"
    return f"Step {number}: " + "I looked at the previous statement and add one more consideration to it. " * 6


def run_ours(which: str, server: Any) -> dict[str, Any]:
    """Runs one scenario through the Captain."""
    server.CALLS.clear()
    server.STATE["script"] = lambda kind, body, number: reply(which, body, len(server.CALLS))
    port = server.start()
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "model": "compatible",
            "model.base_url": f"http://127.0.0.1:{port}/v1",
            "model.model": "scripted",
            "embedding": "hash",
            "library.user_dir": f"{folder}/library",
            "runs_dir": f"{folder}/runs",
            # The reference's ten rounds count the opening message: nine turns of experts.
            "team.max_turns": 9,
        }
        start = time.perf_counter()
        result = Captain(settings).solve("What is 6*7?")
        seconds = time.perf_counter() - start
    calls = list(server.CALLS)
    return {
        "scenario": which,
        "status": result.status,
        "answer": result.answer[:40],
        "calls": len(calls),
        "by_kind": dict(Counter(kind_of(str(body["messages"][-1]["content"])) for _, _, _, body in calls)),
        "prompt_tokens": sum(size for _, _, size, _ in calls) // 4,
        "seconds": round(seconds, 2),
    }


def run_reference(which: str, harness: Path, python: str) -> dict[str, Any]:
    """Runs one scenario through the reference, in its own environment."""
    done = subprocess.run([python, str(harness / "run.py"), which], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"the reference failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> int:
    """Runs both sides and says whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--reference-python", help="without it only our side runs")
    options = parser.parse_args()
    sys.path.insert(0, str(options.harness))
    server = importlib.import_module("server")
    good = True
    for which, (most, _) in LIMITS.items():
        ours = run_ours(which, server)
        print(json.dumps({"ours": ours}))
        good &= ours["calls"] <= most
        if options.reference_python:
            theirs = run_reference(which, options.harness, options.reference_python)
            ratio = ours["prompt_tokens"] / theirs["prompt_tokens"]
            print(json.dumps({"reference": theirs, "token_ratio": round(ratio, 3)}))
            good &= which == "trivial" or ratio <= TOKEN_RATIO
    print("goals met" if good else "goals missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
