"""`captain run`: scenarios, sweeps, a folder for each run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captain.cli.sweep import expand
from captain.errors import ConfigError

Command = Callable[..., Any]

SCENARIO = """
from captain.errors import ModelError
from captain.scenario import ScenarioResult

class Counting:
    name = "counting"

    def __init__(self, n, parameters=None):
        self.n, self.parameters = n, parameters

    async def run(self, captain, journal):
        print("noise on stdout")
        if self.n == 13:
            raise ModelError("thirteen is unlucky")
        (journal.folder / "table.csv").write_text("x")
        rows = [{"i": i, "share": float("nan")} for i in range(self.n)]
        summary = {"right": self.n, "turns": captain.config.team.max_turns, "variant": self.parameters["variant"]}
        return ScenarioResult(name=self.name, summary=summary, rows=rows, artifacts=["table.csv"])
"""


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options that choose a scenario of the user's own."""
    (tmp_path / "counting_scenario.py").write_text(SCENARIO)
    (tmp_path / "mine" / "scenario").mkdir(parents=True)
    (tmp_path / "mine" / "scenario" / "counting.yaml").write_text(
        "# @package _global_\n"
        "defaults:\n  - override /model: scripted\n"
        "scenario: {_target_: counting_scenario.Counting, n: 2}\nvariant: plain\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return ["--config-dir", str(tmp_path / "mine"), "scenario=counting"]


def test_json_of_one_run(command: Command, counting: list[str]) -> None:
    outcome = command("run", *counting, "team.max_turns=3", "variant=other", "--json")
    assert outcome.code == 0
    report = outcome.data
    assert report["scenario"] == "counting"
    assert (report["n"], report["right"], report["turns"], report["variant"]) == (2, 2, 3, "other")
    assert report["seed"] == 20261130
    assert report["rows"][1] == {"i": 1, "share": None}
    assert "noise on stdout" in outcome.err
    folder = Path(report["run_dir"])
    assert json.loads((folder / "result.json").read_text())["right"] == 2
    assert (folder / report["artifacts"][0]).exists()
    assert "variant" in (folder / "journal.jsonl").read_text()


def test_people_see_the_summary(command: Command, counting: list[str]) -> None:
    outcome = command("run", *counting)
    assert outcome.code == 0
    assert "right        2" in outcome.out
    assert "rows" not in outcome.out


def test_multirun_gives_every_combination_its_folder(command: Command, counting: list[str]) -> None:
    outcome = command("run", *counting, "scenario.n=range(1,3)", "variant=a,b", "-m", "--json")
    assert outcome.code == 0
    reports = outcome.data
    assert [(report["n"], report["variant"]) for report in reports] == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert len({report["run_dir"] for report in reports}) == 4
    assert reports[1]["overrides"] == ["scenario=counting", "scenario.n=1", "variant=b"]


def test_multirun_goes_on_after_a_run_that_failed(command: Command, counting: list[str]) -> None:
    outcome = command("run", *counting, "scenario.n=13,1", "-m", "--json")
    assert outcome.code == 1
    assert outcome.data[0]["error"] == "thirteen is unlucky"
    assert outcome.data[1]["n"] == 1


def test_a_run_that_fails_says_so_in_its_folder(command: Command, counting: list[str], tmp_path: Path) -> None:
    outcome = command("run", *counting, "scenario.n=13", "--json")
    assert outcome.code == 1
    assert outcome.error == "error: thirteen is unlucky"
    (result,) = (tmp_path / "runs").glob("*/result.json")
    assert json.loads(result.read_text())["error"] == "thirteen is unlucky"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["no scenario was given", "scenario=NAME", "counting"]),
        (["scenario=countng"], ["unknown scenario 'countng'", "'counting'"]),
        (["scenario=counting", "scenario.m=3"], ["'scenario.m'", "'scenario.n'"]),
        (["scenario=counting", "scenario.n=1,2"], ["sweep", "--multirun"]),
        (["scenario=counting", "scenario.n=1", "team.mode=single,sngle", "-m"], ["'sngle'"]),
        (["scenario=counting", "scenario.n=interval(0,1)", "-m"], ["no list of values"]),
    ],
)
def test_wrong_input(command: Command, counting: list[str], tmp_path: Path, words: list[str], parts: list[str]) -> None:
    outcome = command("run", *counting[:2], *words, "--json")
    assert outcome.code == 2
    for part in parts:
        assert part in outcome.error
    assert not (tmp_path / "runs").exists()


def test_sweeps_keep_quotes_and_lists() -> None:
    assert expand(["a=1,2", "b='x,y'", "c=[1,2]"]) == [["a=1", "b='x,y'", "c=[1,2]"], ["a=2", "b='x,y'", "c=[1,2]"]]
    assert expand(["a=choice('p q',r)"]) == [["a=p\\ q"], ["a=r"]]
    assert expand([]) == [[]]
    with pytest.raises(ConfigError, match="no list of values"):
        expand(["model=glob(*)"])
