from __future__ import annotations

from pathlib import Path

import pytest

from captain.errors import ConfigError
from scenarios.attempts import scorer_function
from scenarios.benchmarks import MissingData, dabench, humaneval, math500, scibench
from scenarios.scorers import dabench as closed_form
from scenarios.scorers import hidden_tests, numeric


def test_humaneval_shows_the_prompt_and_hides_the_tests(data: Path) -> None:
    task = humaneval()[3]
    assert task.id == "HumanEval/3"
    assert task.expected["prompt"].strip() in task.question
    assert "assert" not in task.question and "math.floor" not in task.question
    assert not task.shareable
    assert task.scorer is not None and scorer_function(task.scorer) is hidden_tests


def test_dabench_hands_over_the_table(data: Path) -> None:
    task = dabench()[1]
    assert [path.name for path in task.files] == ["a table + more.csv"]
    assert "Leave out empty cells." in task.question and "@mean_a[value]" in task.question
    assert "2.50" not in task.question
    assert task.labels["level"] == "hard"
    assert closed_form("@mean_a[2.5]", task.expected)


def test_math500_labels(data: Path) -> None:
    tasks = math500()
    assert [task.labels["integer_answer"] for task in tasks[:3]] == [False, True, True]
    assert all("secret" not in task.question for task in tasks)


def test_scibench_names_the_unit_and_multiplies_its_power_in(data: Path) -> None:
    tasks = scibench(area="chemistry")
    assert len(tasks) == 12  # the text that comes twice in each of four books is taken once
    assert "$10^{-3} \\mathrm{~J}$" in tasks[0].question
    assert tasks[0].expected == [10.5, pytest.approx(0.0105)]
    assert tasks[0].scorer is not None
    assert numeric("11.0", tasks[0].expected, **tasks[0].scorer.options)
    assert tasks[1].question.endswith("Give the answer as a number.")
    assert len(scibench()) == 30


def test_unknown_area(data: Path) -> None:
    with pytest.raises(ConfigError, match="no area 'biology'"):
        scibench(area="biology")


def test_missing_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CAPTAIN_DATA", raising=False)
    with pytest.raises(MissingData, match="CAPTAIN_DATA is not set"):
        humaneval()
    monkeypatch.setenv("CAPTAIN_DATA", str(tmp_path))
    with pytest.raises(MissingData, match="benchmarks/humaneval/HumanEval.jsonl"):
        humaneval()
    monkeypatch.setenv("CAPTAIN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="names no folder") as caught:
        humaneval()
    assert not isinstance(caught.value, MissingData)
