"""Who failed, and where: the rules, the model's scores, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captain.errors import ConfigError
from scenarios import attribution
from scenarios.attribution import Attribution, Log, Step, judge, rule_step

PROGRAM = "```python\nprint(1)\n```"


def steps(*spoken: tuple[str, str]) -> tuple[Step, ...]:
    return tuple(Step(agent, text) for agent, text in spoken)


@pytest.mark.parametrize(
    ("spoken", "named"),
    [
        ([("A", PROGRAM), ("Computer_terminal", "exitcode: 1 (failed)"), ("B", "hm")], 0),
        ([("A", "plan"), ("B", PROGRAM), ("Computer_terminal", "exitcode: 0"), ("A", "done")], 1),
        (
            [
                ("A", PROGRAM),
                ("Computer_terminal", "exitcode: 0"),
                ("B", PROGRAM),
                ("Computer_terminal", "exitcode: 2"),
            ],
            2,
        ),
        ([("A", "plan"), ("B", "the answer is 3")], 1),
        ([("A", "alone")], 0),
    ],
)
def test_rules_name_who_wrote_the_program_that_failed(spoken: list[tuple[str, str]], named: int) -> None:
    assert rule_step(steps(*spoken)) == named


def test_a_verdict_compares_agent_and_step() -> None:
    log = Log("q", steps(("A", "x"), ("B", "y"), ("A", "z")), "A", 2)
    assert (judge(log, 2).agent, judge(log, 2).step) == (True, True)
    assert (judge(log, 0).agent, judge(log, 0).step) == (True, False)
    assert (judge(log, 1).agent, judge(log, 1).step) == (False, False)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten made-up logs: the second member errs, and says so in a word that a test's model hears."""
    folder = tmp_path / "benchmarks" / "who_and_when" / "Algorithm-Generated"
    folder.mkdir(parents=True)
    for number in range(10):
        wrong = number % 3
        history = [{"name": f"Agent_{n}", "content": "WRONG" if n == wrong else "fine"} for n in range(3)]
        data = {"question": "secret question", "history": history, "mistake_agent": f"Agent_{wrong}"}
        (folder / f"{number}.json").write_text(json.dumps({**data, "mistake_step": str(wrong)}))
    monkeypatch.setenv("CAPTAIN_DATA", str(tmp_path))
    return tmp_path


async def test_rules_alone_need_no_model(logs: Path, make_captain: Any, journal: Any) -> None:
    result = await Attribution(ask_model=False).run(make_captain(), journal)
    rows = {(row["method"], row["part"]): row for row in result.rows}
    assert rows["rules", "all"]["n"] == 10 and rows["rules", "tuned on"]["n"] == 5
    assert rows["rules", "all"]["step"] == 0.3 and rows["first step", "all"]["agent"] == 0.4
    assert list(result.headline) == ["method", "agent", "step"] and result.headline["method"] == "rules"
    assert "secret question" not in json.dumps(journal.lines) + result.model_dump_json()


async def test_a_model_that_knows_is_believed(
    logs: Path, make_captain: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scored(client: Any, prompt: str, texts: list[str]) -> list[float]:
        assert prompt.endswith("The first mistake is in step") and "secret question" in prompt
        lines = [line for line in prompt.splitlines() if line.startswith("Step ")]
        # It always likes the last number best, but less so than the step that is wrong.
        return [(-1.0 if "WRONG" in line else -3.0) + (1.5 if n == 2 else 0.0) for n, line in enumerate(lines)]

    monkeypatch.setattr(attribution, "score_continuations", scored)
    result = await Attribution().run(make_captain(), journal)
    rows = {(row["method"], row["part"]): row for row in result.rows}
    assert rows["model", "all"]["step"] == 1.0 and rows["model and rules", "all"]["agent"] == 1.0
    assert result.headline["step"] == 1.0 and result.summary["model"] == "fake"


async def test_an_endpoint_without_log_probabilities_is_named(logs: Path, make_captain: Any, journal: Any) -> None:
    with pytest.raises(ConfigError, match="gives no log-probabilities"):
        await Attribution(limit=1).run(make_captain(), journal)


async def test_missing_logs_are_named(
    tmp_path: Path, make_captain: Callable[..., Any], journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPTAIN_DATA", str(tmp_path))
    with pytest.raises(ConfigError, match="who_and_when"):
        await Attribution(ask_model=False).run(make_captain(), journal)
