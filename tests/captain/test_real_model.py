"""The Captain on real weights: run with `-m model`."""

from __future__ import annotations

from pathlib import Path

import pytest

from captain import Captain

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]


def test_a_computed_answer_is_solved_on_what_programs_printed(tmp_path: Path) -> None:
    settings = {"model": "embedded", "runs_dir": str(tmp_path), "library.user_dir": str(tmp_path / "library")}
    result = Captain(settings).solve("What is the sum of all prime numbers below 2000? Check it by a second method.")
    assert "277050" in result.answer
    assert result.status == "solved"
    executed = [evidence for evidence in result.evidence if evidence.kind == "execution"]
    assert executed and "277050" in executed[0].quote
    assert result.usage.usd == 0.0 and result.usage.calls >= 2


def test_a_recorded_run_is_replayed_with_the_network_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"model": "embedded_small", "runs_dir": str(tmp_path), "library.user_dir": str(tmp_path / "library")}
    recorded = Captain(settings).solve("What is 17 * 23? Compute it.")

    def no_network(*_: object) -> None:
        raise OSError("the network is off")

    monkeypatch.setattr("socket.socket.connect", no_network)
    monkeypatch.setattr("socket.socket.bind", no_network)
    replayed = Captain.replay(recorded.run_dir or "")
    assert replayed.model_dump(exclude={"usage"}) == recorded.model_dump(exclude={"usage"})
    assert replayed.usage.calls == recorded.usage.calls > 0


def test_a_plain_question_needs_no_team(tmp_path: Path) -> None:
    settings = {"model": "embedded", "runs_dir": str(tmp_path), "library.user_dir": str(tmp_path / "library")}
    result = Captain(settings).solve("What is the capital of Canada?")
    assert "Ottawa" in result.answer
    assert len(result.subtasks) == 1 and len(result.subtasks[0].team) == 1
    assert result.status == "unverified"  # nothing but a statement supports it


def test_the_smallest_model_gives_a_result_within_its_limits(tmp_path: Path) -> None:
    settings = {
        "model": "embedded_tiny",
        "runs_dir": str(tmp_path),
        "library.user_dir": str(tmp_path / "library"),
        "limits.calls": 4,
    }
    result = Captain(settings).solve("How many days are there from 1 March 2024 to 10 March 2024?")
    assert result.usage.calls <= 4
    assert result.status in ("solved", "unverified", "failed", "stopped")
    assert result.run_dir is not None and (result.run_dir / "journal.jsonl").exists()
