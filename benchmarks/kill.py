"""Runs that are killed at random moments and resumed: what is paid twice, what happens twice, what comes out.

    python benchmarks/kill.py [--times 100] [--seed 20261130] [--json]

A scripted run (four parallel subtasks, two written experts, tool calls with side effects) is killed with SIGKILL at a
random moment, resumed, perhaps killed again, and resumed to its end. Everything is compared with a run that nobody
disturbed.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from autogen_core import FunctionCall

from captain import Captain, tool
from captain.durable.reading import read_journal
from captain.results import Result
from captain.tools import idempotency_key

PLACE = "CAPTAIN_KILL_FOLDER"
PARTS = ("north", "south", "east", "west")
TITLES = {"north": "Surveyor", "south": "Surveyor", "east": "Glassblower", "west": "Beekeeper"}
TASK = "Book a visit in each of the four regions and say what was booked."
_SECOND_KILL = 0.3


def _folder() -> Path:
    return Path(os.environ[PLACE])


def _log(name: str, line: str) -> None:
    with (_folder() / name).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


@tool(side_effects=True, idempotent=True)
def book_visit(region: str) -> str:
    """Book a visit in a region.

    Args:
        region: Name of the region.
    """
    time.sleep(random.uniform(0, 0.02))
    key = idempotency_key()
    _log("booked.calls", f"{region} {key}")
    try:
        (_folder() / "booked" / f"{key}").open("x").close()
    except FileExistsError:
        return f"the visit in {region} is booked already"
    _log("booked.effects", region)
    return f"the visit in {region} is booked"


@tool(side_effects=True)
def send_letter(region: str) -> str:
    """Send a letter to a region.

    Args:
        region: Name of the region.
    """
    time.sleep(random.uniform(0, 0.01))
    _log("letters.effects", region)
    time.sleep(random.uniform(0, 0.01))
    return f"the letter to {region} is sent"


async def reply(messages: Sequence[Any], tools: Sequence[Any]) -> Any:
    """The scripted model; each call is noted when it begins."""
    _log("model.begun", "call")
    await asyncio.sleep(random.uniform(0.002, 0.03))
    texts = [str(message.content) for message in messages]
    whole = "\n".join(texts)
    if texts[-1].startswith("You plan how"):
        return json.dumps({"subtasks": [_part(region) for region in PARTS]})
    if texts[-1].startswith("Write a profile"):
        return json.dumps({"experts": [_written(whole)]})
    if texts[-1].startswith("Answer each question"):
        return json.dumps({"answers": ["A hive or a furnace is inspected with great care before work."]})
    if texts[-1].startswith("Choose the expert"):
        return json.dumps({"choices": [1]})
    if "You review the" in whole:
        return json.dumps({"verdict": "accept"})
    if not tools:
        return "Everything is booked."
    region = next(name for name in PARTS if f"part {name}" in whole)
    done = sum(message.type == "FunctionExecutionResultMessage" for message in messages)
    if done < 2:
        name = ("book_visit", "send_letter")[done]
        return [FunctionCall(id=f"{region}-{done}", name=name, arguments=json.dumps({"region": region}))]
    return f"FINAL ANSWER: {region} is booked"


def _part(region: str) -> dict[str, Any]:
    expert = {"title": TITLES[region], "does": f"works as a {TITLES[region]}"}
    return {"goal": f"part {region}", "method": "recall", "experts": [expert], "depends_on": []}


def _written(asked: str) -> dict[str, str]:
    title = "Glassblower" if "Glassblower" in asked else "Beekeeper"
    what = {"Glassblower": "glass at a furnace into vessels", "Beekeeper": "bees in a hive for their honey"}[title]
    return {
        "description": f"{title} who tends {what} and inspects it with great care before work.",
        "instructions": f"Inspect {what} first. Say what was found. Name each step that was done.",
        "probe": "What is inspected with great care before work?",
    }


def captain_settings(folder: Path) -> dict[str, Any]:
    """The run's settings: everything below one folder."""
    return {
        "model": {"name": "scripted", "provider": "scripted", "handler": "kill.reply"},
        "embedding": "hash",
        "library.profiles": [str(folder / "experts.yaml")],
        "library.user_dir": str(folder / "library"),
        "library.threshold": 0.4,
        "tools.modules": ["kill"],
        "tools.threshold": -1.0,
        "approval.after_untrusted": False,
        "walk.review": "always",
        "team.cross_check": False,
        "runs_dir": str(folder / "runs"),
    }


def prepare(folder: Path) -> None:
    """Writes the small library of a run."""
    (folder / "booked").mkdir(parents=True)
    surveyor = {
        "name": "surveyor",
        "title": "Surveyor",
        "description": "Works as a surveyor who measures land.",
        "instructions": "Measure the land and say how.",
        "tools": ["book_visit", "send_letter"],
    }
    (folder / "experts.yaml").write_text(yaml.safe_dump({"domain": "land", "profiles": [surveyor]}), encoding="utf-8")


def work(folder: Path) -> Result:
    """Solves the task, or goes on where an earlier process was killed."""
    os.environ[PLACE] = str(folder)
    runs = sorted((folder / "runs").glob("*")) if (folder / "runs").is_dir() else []
    begun = [run for run in runs if (run / "journal.jsonl").is_file() and read_journal(run).entries]
    if begun:
        return Captain.resume(begun[0])
    return Captain(captain_settings(folder)).solve(TASK)


def warm_up() -> None:
    """Imports here what children need, so that kills fall into their work and not into their imports."""
    for name in ("captain.walk", "captain.casting", "captain.durable.again", "captain.effects", "bm25s", "hydra"):
        importlib.import_module(name)


def in_child(folder: Path) -> int:
    """Starts the work in a process of its own and gives its id."""
    child = os.fork()
    if child:
        return child
    random.seed()
    code = 1
    try:
        os.close(1)
        os.open(os.devnull, os.O_WRONLY)
        (folder / "result.json").write_text(json.dumps(work(folder).to_dict()), encoding="utf-8")
        code = 0
    finally:
        os._exit(code)


def lines(folder: Path, name: str) -> list[str]:
    """The lines of a log."""
    path = folder / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def recorded_calls(folder: Path) -> int:
    """Model calls that are on record."""
    runs = list((folder / "runs").glob("*/journal.jsonl"))
    return sum(entry["kind"] == "model_call" for run in runs for entry in read_journal(run.parent).entries)


def essence(folder: Path) -> dict[str, Any]:
    """What must be the same however often the run was killed."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    parts = [[part["id"], part["verdict"], part["answer"], part["team"]] for part in result["subtasks"]]
    experts = sorted(path.name for path in (folder / "library" / "experts").glob("*.yaml"))
    return {"answer": result["answer"], "status": result["status"], "parts": parts, "experts": experts}


@dataclass(frozen=True)
class Attempt:
    """One run that was killed and resumed to its end."""

    kills: int
    same: bool
    paid_twice: int
    in_flight: int
    booked_twice: int
    sent_twice: int
    unknown: int
    letters: int


def attempt(folder: Path, *, seconds: float, expected: dict[str, Any], calls: int) -> Attempt:
    """Kills a run once or more, resumes it to its end, and counts."""
    prepare(folder)
    kills = in_flight = 0
    while True:
        child = in_child(folder)
        if kills == 0 or (kills < 4 and random.random() < _SECOND_KILL):
            time.sleep(random.uniform(0, seconds))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status):
                kills += 1
                in_flight = len(lines(folder, "model.begun")) - recorded_calls(folder)
                continue
        else:
            _, status = os.waitpid(child, 0)
        if os.WEXITSTATUS(status):
            raise SystemExit(f"a resume failed; its folder is {folder}")
        break
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    letters = lines(folder, "letters.effects")
    booked = lines(folder, "booked.effects")
    return Attempt(
        kills=kills,
        same=essence(folder) == expected,
        paid_twice=len(lines(folder, "model.begun")) - calls,
        in_flight=in_flight,
        booked_twice=len(booked) - len(set(booked)),
        sent_twice=len(letters) - len(set(letters)),
        unknown=len(result["unknown"]),
        letters=len(letters),
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    random.seed(given.seed)
    warm_up()
    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place) / "whole")
        start = time.perf_counter()
        os.waitpid(in_child(Path(place) / "whole"), 0)
        seconds = time.perf_counter() - start
        expected = essence(Path(place) / "whole")
        calls = len(lines(Path(place) / "whole", "model.begun"))
        rows = [
            attempt(Path(place) / str(number), seconds=seconds, expected=expected, calls=calls)
            for number in range(given.times)
        ]
    report(rows, expected=expected, calls=calls, seconds=seconds, as_json=given.json)


def report(rows: list[Attempt], *, expected: dict[str, Any], calls: int, seconds: float, as_json: bool) -> None:
    """Prints the counts; exit code 1 when a promise was broken."""
    found = {
        "runs": len(rows),
        "kills": sum(row.kills for row in rows),
        "same_result": sum(row.same for row in rows),
        "calls_of_a_whole_run": calls,
        "seconds_of_a_whole_run": round(seconds, 2),
        "paid_twice": sum(row.paid_twice for row in rows),
        "most_paid_twice_in_a_run": max(row.paid_twice for row in rows),
        "paid_twice_beyond_those_in_flight": sum(max(0, row.paid_twice - row.in_flight) for row in rows),
        "bookings_twice": sum(row.booked_twice for row in rows),
        "letters_twice": sum(row.sent_twice for row in rows),
        "letters_unknown": sum(row.unknown for row in rows),
        "status": expected["status"],
    }
    if as_json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name.replace('_', ' '):36} {value}")
    broken = found["same_result"] != len(rows) or any(
        found[name] for name in ("paid_twice_beyond_those_in_flight", "bookings_twice", "letters_twice")
    )
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
