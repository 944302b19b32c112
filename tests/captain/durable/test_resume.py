"""Runs that were cut off go on: nothing paid twice, nothing done twice, nothing guessed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captain import Captain, ConfigError
from captain.durable.reading import read_journal
from captain.errors import NotRecorded

CaptainWith = Callable[..., Captain]


def cut_after(folder: Path, lines: int) -> None:
    """Leaves of a journal what a process that was killed after some lines leaves."""
    journal = folder / "journal.jsonl"
    kept = journal.read_bytes().splitlines(keepends=True)[:lines]
    journal.write_bytes(b"".join(kept))
    (folder / "result.json").write_text('{"status": "running"}')


@pytest.fixture
def two_parts(make_model: Any, steps: Any) -> Any:
    """A model for two parallel parts, each with a program."""

    def expert(ask: Any) -> str:
        return steps.program(
            "print('FINAL ANSWER:', 6 * 7)" if "first" in ask.text else "print('FINAL ANSWER:', 2 + 3)"
        )

    plan = steps.plan(steps.part("Mathematician", goal="the first"), steps.part("Programmer", goal="the second"))
    return make_model({"planner": plan, "expert": expert, "composer": "42 and 5"})


def test_a_run_cut_anywhere_ends_in_the_same_result_and_pays_nothing_twice(
    captain_with: CaptainWith, two_parts: Any
) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    paid = len(two_parts.asks)
    lines = read_journal(whole.run_dir).entries
    first = next(n for n, entry in enumerate(lines) if entry["kind"] == "task") + 1
    original = (whole.run_dir / "journal.jsonl").read_bytes()
    for kept in range(first, len(lines), 3):
        (whole.run_dir / "journal.jsonl").write_bytes(original)
        cut_after(whole.run_dir, kept)
        on_record = sum(entry["kind"] == "model_call" for entry in lines[:kept])
        two_parts.asks.clear()
        again = Captain.resume(whole.run_dir)
        assert len(two_parts.asks) == paid - on_record, f"cut after line {kept}"
        assert again.model_dump(exclude={"usage"}) == whole.model_dump(exclude={"usage"})
        assert again.usage.calls == whole.usage.calls


def test_a_resumed_journal_tells_each_event_once(captain_with: CaptainWith, two_parts: Any) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    told = [(e["kind"], e["text"]) for e in read_journal(whole.run_dir).entries if "text" in e and "usage" not in e]
    cut_after(whole.run_dir, 14)
    Captain.resume(whole.run_dir)
    again = [(e["kind"], e["text"]) for e in read_journal(whole.run_dir).entries if "text" in e and "usage" not in e]
    assert sorted(event for event in again if event[0] != "resumed") == sorted(told)


def test_a_torn_last_line_is_cut_off(captain_with: CaptainWith, two_parts: Any) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    cut_after(whole.run_dir, 12)
    with (whole.run_dir / "journal.jsonl").open("ab") as file:
        file.write(b'{"t": 1.0, "kind": "model_call", "te')
    again = Captain.resume(whole.run_dir)
    assert again.answer == whole.answer
    journal = read_journal(whole.run_dir)
    assert journal.torn == 0
    assert any("torn last line" in entry["text"] for entry in journal.entries if entry["kind"] == "resumed")


def test_a_damaged_line_in_the_middle_is_named(captain_with: CaptainWith, two_parts: Any) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    journal = whole.run_dir / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[4] = b"\x00\x00\x00\n"
    journal.write_bytes(b"".join(lines))
    (whole.run_dir / "result.json").write_text('{"status": "running"}')
    with pytest.raises(ConfigError, match=r"journal\.jsonl:5: the journal is damaged"):
        Captain.resume(whole.run_dir)


def test_a_run_that_has_ended_gives_its_result(captain_with: CaptainWith, two_parts: Any) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    before = (whole.run_dir / "journal.jsonl").read_bytes()
    asked = len(two_parts.asks)
    again = Captain.resume(whole.run_dir)
    assert again.to_dict() == whole.to_dict()
    assert len(two_parts.asks) == asked and (whole.run_dir / "journal.jsonl").read_bytes() == before


def test_a_run_stopped_by_a_limit_goes_on_with_a_higher_one(captain_with: CaptainWith, two_parts: Any) -> None:
    stopped = captain_with(two_parts, {"limits.calls": 2}).solve("Do both.")
    assert stopped.status == "stopped" and stopped.missing
    asked = len(two_parts.asks)
    again = Captain.resume(stopped.run_dir, overrides=["limits.calls=50"])
    assert (again.status, again.answer, again.missing) == ("solved", "42 and 5", [])
    assert len(two_parts.asks) - asked == again.usage.calls - asked
    told = [e["text"] for e in read_journal(again.run_dir).entries if e["kind"] == "resumed"]
    assert "changed for this resume: limits.calls=50" in told


def test_changed_settings_and_code_are_told(captain_with: CaptainWith, two_parts: Any) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    cut_after(whole.run_dir, 12)
    config = whole.run_dir / "config.yaml"
    config.write_text(config.read_text().replace("max_attempts: 3", "max_attempts: 2"))
    journal = whole.run_dir / "journal.jsonl"
    task, rest = journal.read_text().split("\n", 1)
    journal.write_text(json.dumps(json.loads(task) | {"code": "another", "version": "0.0.1"}) + "\n" + rest)
    told: list[str] = []
    import asyncio

    asyncio.run(Captain.resume_async(whole.run_dir, listener=lambda event: told.append(event.text)))
    assert any("config.yaml was changed" in line for line in told)
    assert any("code differs" in line and "0.0.1" in line for line in told)


def test_only_one_process_works_on_a_run(captain_with: CaptainWith, two_parts: Any) -> None:
    from captain.journal import Run

    whole = captain_with(two_parts).solve("Do both.")
    cut_after(whole.run_dir, 12)
    holder = Run(whole.run_dir)
    with pytest.raises(ConfigError, match="another process works on the run"):
        Captain.resume(whole.run_dir)
    holder.close()
    assert Captain.resume(whole.run_dir).status == "solved"


@pytest.mark.parametrize("content", [None, b"", b'{"t": 0, "kind": "started"}\n'])
def test_what_is_no_run_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "journal.jsonl").write_bytes(content)
    with pytest.raises(ConfigError, match="no folder of a run|holds no task"):
        Captain.resume(tmp_path)


def test_other_members_than_the_runs_are_refused(captain_with: CaptainWith, two_parts: Any, make_model: Any) -> None:
    from autogen_agentchat.agents import AssistantAgent

    from captain.testing import ScriptedModel

    whole = captain_with(two_parts).solve("Do both.")
    cut_after(whole.run_dir, 12)
    with pytest.raises(ConfigError, match="with the members none, not with guest"):
        Captain.resume(whole.run_dir, members=[AssistantAgent("guest", ScriptedModel([]))])


def test_replay_gives_the_recorded_result_and_asks_nobody(captain_with: CaptainWith, two_parts: Any) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    asked = len(two_parts.asks)
    before = {path: path.read_bytes() for path in whole.run_dir.rglob("*") if path.is_file()}
    again = Captain.replay(whole.run_dir)
    assert again.model_dump(exclude={"usage"}) == whole.model_dump(exclude={"usage"})
    assert len(two_parts.asks) == asked
    assert {path: path.read_bytes() for path in whole.run_dir.rglob("*") if path.is_file()} == before


def test_replay_fails_loudly_where_something_was_not_recorded(captain_with: CaptainWith, two_parts: Any) -> None:
    whole = captain_with(two_parts).solve("Do both.")
    lines = (whole.run_dir / "journal.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["kind"] != "program"]
    (whole.run_dir / "journal.jsonl").write_text("".join(kept))
    with pytest.raises(NotRecorded, match="asks for a program that was not recorded on branch 'plan1/"):
        Captain.replay(whole.run_dir)


def test_values_of_secret_variables_never_reach_the_disk(
    captain_with: CaptainWith, make_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-abcdef123456")
    model = make_model({"expert": "The key is sk-abcdef123456.\nFINAL ANSWER: sk-abcdef123456"})
    result = captain_with(model).solve("Say it: sk-abcdef123456")
    written = b"".join(path.read_bytes() for path in result.run_dir.rglob("*") if path.is_file())
    assert b"sk-abcdef123456" not in written and b"[SOME_API_KEY]" in written


def test_the_killed_and_resumed_benchmark_holds(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = Path(__file__).parents[3] / "benchmarks" / "kill.py"
    done = subprocess.run(
        [sys.executable, str(script), "--times", "2", "--json"],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["kills"] >= 1 and found["same_result"] == 2 and found["letters_twice"] == 0


def test_a_second_task_with_the_teams_of_the_first_can_be_replayed_alone(
    captain_with: CaptainWith, two_parts: Any
) -> None:
    captain = captain_with(two_parts)
    captain.solve("Do both.")
    second = captain.solve("Do both again.")
    again = Captain.replay(second.run_dir)
    assert again.model_dump(exclude={"usage"}) == second.model_dump(exclude={"usage"})
