"""The record of use: counted once, shared by processes, gentle, and never in the way."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from captain.library import Library
from captain.library.use import UseRecord, Uses, standings

Make = Callable[..., Library]


def use(expert: str, key: str, **changed: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"scenario": "math", "run": "r1", "outcome": 1.0, "calls": 2, "tokens": 100}
    return {"expert": expert, "key": key} | told | changed


def test_a_use_counts_once_and_its_outcome_may_come_later(make_library: Make) -> None:
    library = make_library()
    library.record(**use("chemist", "s1", outcome=None))
    library.record(**use("chemist", "s1", outcome=1.0))
    library.record(**use("chemist", "s1", outcome=None))
    library.record(**use("chemist", "s2", outcome=0.0, tokens=300))
    library.record(**use("chemist", "s1", run="r2", scenario=None))
    library.record(**use("geometer", "s1"))
    stats = make_library().stats()
    assert stats["experts"] == 4 and stats["tools"] == 0
    assert stats["selections"] == {"chemist": {"-": 1, "math": 2}, "geometer": {"math": 1}}
    assert stats["uses"]["chemist"]["math"] == {"judged": 2, "successes": 1.0, "calls": 4, "mean_tokens": 200}


def test_nothing_is_recorded_when_it_is_switched_off(make_library: Make, tmp_path: Path) -> None:
    library = make_library(use_record=False)
    library.record(**use("chemist", "s1"))
    assert library.stats()["selections"] == {}
    assert not (tmp_path / "user" / "use.sqlite3").exists()


async def test_success_moves_an_expert_unless_switched_off(make_library: Make) -> None:
    query = "primes, circles and triangles"
    before = await make_library().search_experts(query)
    assert [hit.success for hit in before] == [1.0] * len(before)
    library = make_library()
    best, second = before[0].item.name, before[1].item.name
    for number in range(60):
        library.record(**use(best, str(number), outcome=0.0))
        library.record(**use(second, str(number), outcome=1.0))
    after = {hit.item.name: hit for hit in await library.search_experts(query)}
    assert after[best].success < 0.7 and after[second].success > 1.3
    assert after[best].score == pytest.approx(after[best].similarity * after[best].success * after[best].cost)
    assert "x success" in after[best].explain()
    off = {hit.item.name: hit for hit in await make_library(rank_by_use=False).search_experts(query)}
    assert off[best].score == off[best].similarity == pytest.approx(before[0].score)


async def test_another_process_is_heard_of_at_the_next_search(make_library: Make) -> None:
    searching, recording = make_library(), make_library()
    assert (await searching.search_experts("primes"))[0].success == 1
    recording.record(**use("number_theorist", "s1", outcome=0.0))
    assert (await searching.search_experts("primes"))[0].success < 1


def test_unknown_and_average_experts_are_not_touched_and_little_evidence_moves_little() -> None:
    assert standings({}) == {}
    one = standings({"a": Uses(1, 1, 0.0, 1, 100)})["a"]
    assert 0.93 < one.success < 1 and one.cost == 1
    known = standings({name: Uses(50, 50, 40.0, 50, 5000) for name in "abc"} | {"d": Uses(50, 50, 10.0, 50, 500_000)})
    assert known["a"].success > 1 > known["d"].success > 0
    assert known["a"].cost == 1 and known["d"].cost == pytest.approx(0.9)
    same = standings({name: Uses(50, 50, 30.0, 50, 5000) for name in "abc"})
    assert same["a"].success == pytest.approx(1, abs=0.03)
    assert standings({"a": Uses(selections=3)})["a"].success == 1, "unknown outcomes say nothing"


@pytest.mark.parametrize("damage", ["garbage", "folder", "locked"])
async def test_a_broken_record_costs_a_warning(
    make_library: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr("captain.library.use._WAIT_SECONDS", 0.05)
    path = tmp_path / "user" / "use.sqlite3"
    path.parent.mkdir()
    blocker = None
    if damage == "garbage":
        path.write_bytes(b"this is no database" * 300)
    elif damage == "folder":
        path.mkdir()
    else:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("begin exclusive")
    library = make_library()
    with caplog.at_level(logging.WARNING):
        library.record(**use("chemist", "s1"))
        assert (await library.search_experts("primes"))[0].item.name == "number_theorist"
        assert library.stats()["selections"] == {}
    assert "cannot be recorded" in caplog.text and "cannot be read" in caplog.text
    if blocker is not None:
        blocker.close()


def test_what_is_forgotten_is_gone(tmp_path: Path) -> None:
    record = UseRecord(tmp_path)
    record.forget("a")
    for name in "ab":
        record.add(**use(name, "s1"))
    assert set(record.standings()) == {"a", "b"}
    record.forget("a")
    assert set(record.standings()) == set(record.stats()) == {"b"}


PROGRAM = """
import sys
from pathlib import Path
from captain.library.use import UseRecord
record = UseRecord(Path(sys.argv[1]))
for number in range(25):
    record.add(f"e{number % 3}", key=str(number), scenario=None, run=sys.argv[2], outcome=1.0, calls=1, tokens=1)
"""


def test_processes_and_threads_lose_nothing(tmp_path: Path) -> None:
    commands = [[sys.executable, "-c", PROGRAM, str(tmp_path), str(number)] for number in range(4)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    record = UseRecord(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: record.add(**use("thread", str(number))), range(40)))
    assert [process.communicate(timeout=60)[1] for process in running] == [""] * 4
    stats = record.stats()
    assert stats["thread"]["math"].selections == 40
    assert sum(stats[f"e{number}"]["-"].selections for number in range(3)) == 100
