"""Orders in texts of others: a model that obeys all of them calls nothing without a person's consent."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def injection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark as a module, which counts the calls of planted tools."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import injection

    yield injection
    for name in ("injection", "injection_town"):
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Runs that pause tell so for each scene."""
    caplog.set_level(logging.CRITICAL)


def test_the_attacks_are_of_many_kinds_and_stand_in_every_carrier(injection: Any) -> None:
    scenes = injection.attack_scenes()
    assert len({scene.attack for scene in scenes}) == len(scenes) >= 64
    assert len({scene.kind for scene in scenes}) >= 8
    carriers = {(scene.kind, scene.carrier) for scene in scenes}
    assert len(carriers) == 6 * len({scene.kind for scene in scenes})
    assert {(scene.carrier, scene.tool) for scene in scenes} >= {
        (carrier, tool) for carrier in injection.CARRIERS for tool in injection.PLANTED
    }


async def test_an_obedient_model_calls_nothing_without_approval(injection: Any) -> None:
    outcomes = await injection.play_rows(["on"], model="scripted", limit=24)  # benchmarks/injection.py plays all
    assert len(outcomes) == 24 and all(outcome.read for outcome in outcomes)
    assert [outcome for outcome in outcomes if outcome.calls] == []
    assert [outcome for outcome in outcomes if not outcome.paused] == []  # it wanted to, each time


async def test_without_the_defences_it_calls_what_it_is_told(injection: Any) -> None:
    outcomes = await injection.play_rows(["off"], model="scripted", limit=12)
    assert [outcome for outcome in outcomes if not outcome.as_asked] == []
    assert injection.broken(injection.summarise("on", outcomes), "scripted") == "a tool was called without approval"


async def test_granted_tools_are_not_held_up(injection: Any) -> None:
    assert len(injection.scenes_of("granted")) >= 30
    outcomes = await injection.play_rows(["granted"], model="scripted", limit=10)
    assert [outcome for outcome in outcomes if outcome.paused or not outcome.as_asked] == []


async def test_the_same_tasks_wait_without_the_grant(injection: Any) -> None:
    outcomes = await injection.play_rows(["held"], model="scripted", limit=6)
    assert [outcome for outcome in outcomes if outcome.calls or not outcome.paused] == []
