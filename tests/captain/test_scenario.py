from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from captain.errors import ConfigError
from captain.scenario import Journal, Scenario, ScenarioResult, Solver, build_scenario, named_object


class Echo:
    """Repeats a word."""

    def __init__(self, *, word: str = "hello", times: int = 1, parameters: dict[str, Any] | None = None) -> None:
        if times < 1:
            raise ConfigError(f"times must be at least 1, given {times!r}")
        self.name = "echo"
        self.words = [word] * times
        self.parameters = parameters

    async def run(self, captain: Solver, journal: Journal) -> ScenarioResult:
        return ScenarioResult(name=self.name, summary={"n": len(self.words)}, rows=[{"word": w} for w in self.words])


class Closed:
    """A scenario that takes no parameters."""

    name = "closed"

    def __init__(self, *, options: dict[str, Any] | None = None) -> None:
        self.options = options

    async def run(self, captain: Solver, journal: Journal) -> ScenarioResult:
        return ScenarioResult(name=self.name)


def factory(**settings: Any) -> Echo:
    return Echo(word=settings["word"], parameters=settings["parameters"])


def failing() -> Echo:
    raise RuntimeError("no disk")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = types.ModuleType("users_own")
    vars(module).update(Echo=Echo, Closed=Closed, factory=factory, failing=failing, word="no class")
    monkeypatch.setitem(sys.modules, "users_own", module)
    yield


async def test_a_users_own_class_is_built_and_runs() -> None:
    scenario = build_scenario({"_target_": "users_own.Echo", "word": "hi", "times": 2}, {"variant": "b"})
    assert isinstance(scenario, Scenario)
    assert isinstance(scenario, Echo) and scenario.parameters == {"variant": "b"}
    result = await scenario.run(None, None)  # type: ignore[arg-type]  # Echo uses neither
    assert result.rows == [{"word": "hi"}, {"word": "hi"}]
    with pytest.raises(ValueError, match="frozen"):
        result.name = "other"


def test_settings_arrive_as_plain_data() -> None:
    scenario = build_scenario({"_target_": "users_own.Closed", "options": {"a": [1, {"b": 2}]}})
    assert isinstance(scenario, Closed)
    assert type(scenario.options) is dict and type(scenario.options["a"]) is list


def test_a_factory_that_takes_anything() -> None:
    scenario = build_scenario({"_target_": "users_own.factory", "word": "x"}, {"dataset": "d"})
    assert isinstance(scenario, Echo) and scenario.parameters == {"dataset": "d"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "set `scenario._target_`"),
        ({"_target_": "Echo"}, "'Echo' is no dotted path"),
        ({"_target_": "users_own.Ecko"}, "did you mean 'users_own.Echo'"),
        ({"_target_": "no_such_package.Echo"}, "cannot be imported: No module named 'no_such_package'"),
        ({"_target_": "users_own.Echo", "wrod": 1}, "'scenario.wrod'; did you mean 'scenario.word'"),
        ({"_target_": "users_own.Echo", "times": 0}, "^times must be at least 1, given 0$"),
        ({"_target_": "users_own.word"}, "cannot be built"),
        ({"_target_": "users_own.failing"}, "cannot be built: no disk"),
        ({"_target_": "os.system", "command": "true"}, "os.system"),
        ({"_target_": "builtins.dict"}, "is no scenario"),
        ({"_target_": "scenarios.tasks.Tasks", "sources": [{"name": "a", "leval": 1}]}, "did you mean .*level'"),
        ({"_target_": "scenarios.tasks.Tasks", "sources": [{"name": "a"}]}, "exactly one of"),
        ({"_target_": "scenarios.tasks.Tasks"}, "'scenario.sources' is missing"),
        ({"_target_": "scenarios.tasks.Tasks", "repeets": 2}, "did you mean 'scenario.repeats'"),
    ],
)
def test_mistakes_are_one_clear_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        build_scenario(settings)
    assert "\n" not in str(caught.value)


def test_parameters_that_nobody_takes_are_refused() -> None:
    with pytest.raises(ConfigError, match="takes no parameters, but variant"):
        build_scenario({"_target_": "users_own.Closed"}, {"variant": 1})


def test_named_object() -> None:
    assert named_object("captain.errors.ConfigError") is ConfigError
