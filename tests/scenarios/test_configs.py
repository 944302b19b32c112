"""The scenario files of the package, composed as users compose them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import captain_configs
import pytest

from captain.compose import load_config
from captain.scenario import build_scenario
from scenarios.scorers import contains_number, contains_text
from scenarios.tasks import Tasks

FILES = sorted(path.stem for path in Path(captain_configs.__path__[0], "scenario").glob("*.yaml"))


def built(name: str, *overrides: str) -> tuple[Any, Tasks]:
    composed = load_config([f"scenario={name}", "model=scripted", *overrides], scenario_required=True)
    assert composed.scenario is not None
    scenario = build_scenario(composed.scenario, composed.parameters)
    assert isinstance(scenario, Tasks)
    return composed.captain, scenario


def test_the_scenarios_that_the_package_ships() -> None:
    wanted = {"smoke", "maths", "programming", "data_analysis", "chemistry", "physics", "world_information"}
    assert wanted <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_every_scenario_composes_and_keeps_no_experts(name: str) -> None:
    composed = load_config([f"scenario={name}", "model=scripted"], scenario_required=True)
    assert composed.scenario is not None
    scenario = build_scenario(composed.scenario, composed.parameters)
    assert scenario.name == name
    assert composed.captain.library.keep_written is False or not isinstance(scenario, Tasks)


async def test_smoke_has_twenty_tasks(make_captain: Any, journal: Any, data: Path) -> None:
    config, scenario = built("smoke")
    captain = make_captain(limits=config.limits, seed=config.seed)
    result = await scenario.run(captain, journal)
    assert result.summary["seed"] == 20261130
    counts = {name: entry["n"] for name, entry in result.summary["by_source"].items()}
    assert counts == {"own": 4, "dabench": 6, "humaneval": 5, "math500": 5}
    assert "assistant" in result.summary and config.limits.seconds == 600


async def test_smoke_with_the_next_seed_shares_only_our_own_tasks(make_captain: Any, journal: Any, data: Path) -> None:
    runs = []
    for overrides in ([], ["seed=20261131"]):
        config, scenario = built("smoke", "scenario.compare=null", *overrides)
        runs.append(await scenario.run(make_captain(seed=config.seed), journal))
    shared = {row["id"] for row in runs[0].rows} & {row["id"] for row in runs[1].rows}
    assert shared == {"own/primes", "own/days", "own/planet", "own/capital"}


@pytest.mark.parametrize("name", ["smoke", "world_information"])
async def test_own_answers_pass_their_scorers(
    make_captain: Any, journal: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPTAIN_DATA", raising=False)
    _, scenario = built(name, "scenario.compare=null")
    tasks = {task["question"]: task["answer"] for source in scenario.sources for task in source.tasks or []}
    for question, answer in tasks.items():
        first = answer[0] if isinstance(answer, list) else answer
        scorer = contains_number if isinstance(first, int) else contains_text
        assert scorer(f"The answer is {first}.", answer)
        assert not scorer(question, answer)
    result = await scenario.run(make_captain(lambda text, config: f"It is {_first(tasks, text)}"), journal)
    assert result.summary["captain"]["rate"] == 1.0


def _first(tasks: dict[str, Any], text: str) -> Any:
    answer = next(answer for question, answer in tasks.items() if text.startswith(question))
    return answer[0] if isinstance(answer, list) else answer
