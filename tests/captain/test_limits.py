"""Limits of a run: what stops it, and what is left to tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from captain import Captain
from captain.config import LimitsConfig
from captain.errors import LimitExceeded
from captain.limits import Spending
from captain.models.calls import CallUsage, ModelCall

CaptainWith = Callable[..., Captain]


def call(**settings: Any) -> ModelCall:
    return ModelCall(role="expert", model="m", request_hash="", **settings)


@pytest.mark.parametrize(
    ("limits", "calls", "reason"),
    [
        ({"calls": 2}, [call(), call()], "limit of 2 calls"),
        ({"tokens": 100}, [call(usage=CallUsage(60, 40))], "limit of 100 tokens"),
        ({"usd": 0.5}, [call(usd=0.3), call(usd=0.2)], "limit of 0.5 usd"),
        ({"seconds": 1e-9}, [], "limit of 1e-09 seconds"),
    ],
)
def test_the_next_call_is_refused_when_a_limit_is_reached(
    limits: dict[str, Any], calls: list[ModelCall], reason: str
) -> None:
    spending = Spending(LimitsConfig(**limits))
    for one in calls:
        spending.check()
        spending.add(one)
    with pytest.raises(LimitExceeded, match=reason):
        spending.check()


def test_failed_calls_cost_no_call_and_unknown_prices_no_money() -> None:
    spending = Spending(LimitsConfig(calls=1, usd=1))
    spending.add(call(error="refused"))
    spending.check()
    spending.add(call(usd=None))
    assert (spending.total.calls, spending.total.usd) == (1, 0.0)


def test_without_limits_nothing_is_refused() -> None:
    spending = Spending(LimitsConfig())
    for _ in range(1000):
        spending.add(call(usage=CallUsage(10**6, 10**6), usd=100))
    spending.check()


def priced(model: Any) -> dict[str, Any]:
    return {**model.spec, "price": {"prompt": 1e6, "completion": 1e6}}


@pytest.mark.parametrize(
    ("limits", "calls"),
    [({"limits.calls": 3}, 3), ({"limits.tokens": 10}, 1), ({"limits.usd": 1.0}, 1), ({"limits.seconds": 1e-6}, 0)],
)
def test_a_limit_ends_the_run_with_status_stopped(
    captain_with: CaptainWith, make_model: Any, steps: Any, limits: dict[str, Any], calls: int
) -> None:
    model = make_model({"expert": [steps.program(f"print({n})") for n in range(9)]})
    result = captain_with(priced(model), limits).solve("What is 6 times 7?")
    name = next(iter(limits)).partition(".")[2]
    assert result.status == "stopped" and name in result.stop_reason
    assert len(model.asks) == result.usage.calls == calls
    assert json.loads((result.run_dir / "result.json").read_text())["status"] == "stopped"


def test_a_stopped_run_tells_what_is_done(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    first = steps.part("Geographer", method="recall", goal="find the country")
    second = steps.part("Historian", method="recall", goal="find its first king", depends_on=[1])
    model = make_model({"planner": steps.plan(first, second), "geographer": "FINAL ANSWER: Atlantis"})
    result = captain_with(model, {"limits.calls": 3}).solve("Who was the first king?")
    assert result.status == "stopped" and "Atlantis" in result.answer
    assert [report.answer for report in result.subtasks] == ["Atlantis"]


def test_a_run_stopped_in_its_second_attempt_tells_the_first(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model(
        {
            "planner": steps.plan(steps.part(method="recall")),
            "expert": ["FINAL ANSWER: a first guess"],
            "reflector": [steps.verdict("retry", issues=["too vague"])],
        }
    )
    result = captain_with(model, {"limits.calls": 3}).solve("Say it.")
    assert (result.status, result.answer) == ("stopped", "a first guess")


def test_money_is_counted_for_the_whole_tree(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": steps.plan(steps.part(method="recall")), "expert": "FINAL ANSWER: yes"})
    result = captain_with(priced(model)).solve("Is it so?")
    spent = result.usage
    assert spent.usd == pytest.approx(spent.prompt_tokens + spent.completion_tokens)
    assert sum(role.calls for role in spent.by_role.values()) == spent.calls == 3
