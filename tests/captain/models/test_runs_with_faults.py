"""Faults of the endpoint in the middle of a run: what was paid for is kept, and the run goes on later."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from captain import Captain
from captain.durable.reading import read_journal
from captain.errors import ModelError
from captain.testing import Fault, Server, serve

SECOND = "YOUR PART\nsecond"


class Endpoint:
    """Answers the steps of a run of two parts; while `sick`, requests about the second part fail with the fault."""

    def __init__(self, steps: Any) -> None:
        self.sick: Fault | None = None
        self.where: Callable[[str], bool] = lambda text: SECOND in text
        self.answered: Counter[str] = Counter()
        self.server: Server
        self._steps = steps

    def reply(self, body: dict[str, Any]) -> Any:
        text = "\n".join(str(message["content"]) for message in body["messages"])
        if self.sick is not None and self.where(text):
            return self.sick
        self.answered[json.dumps(body["messages"])] += 1
        return self._answer(text)

    def _answer(self, text: str) -> str:
        if text.startswith("You plan how"):
            experts = {"first": "Mathematician", "second": "Programmer"}
            return str(self._steps.plan(*(self._steps.part(e, goal=g, method="recall") for g, e in experts.items())))
        if text.startswith("You review the"):
            return str(self._steps.verdict())
        if text.startswith("Answer the task from"):
            return "42 and 5"
        return "FINAL ANSWER: 5" if SECOND in text else "FINAL ANSWER: 42"


@pytest.fixture
def endpoint(steps: Any) -> Iterator[Endpoint]:
    endpoint = Endpoint(steps)
    with serve(endpoint.reply) as endpoint.server:
        yield endpoint


@pytest.fixture
def captain(endpoint: Endpoint, captain_with: Callable[..., Captain]) -> Captain:
    model = {"name": "m", "provider": "compatible", "model": "m1", "base_url": endpoint.server.base_url}
    return captain_with({**model, "timeout": 20, "retries": 0})


def calls(folder: Path) -> list[Any]:
    return [entry for entry in read_journal(folder).entries if entry["kind"] == "model_call"]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault("status", status=503), id="503"),
        pytest.param(Fault("reset"), id="reset"),
        pytest.param(Fault("body", status=401, body='{"error": {"message": "expired"}}'), id="expired key"),
    ],
)
def test_a_run_that_loses_its_endpoint_keeps_what_was_paid_and_goes_on(
    captain: Captain, endpoint: Endpoint, fault: Fault
) -> None:
    endpoint.sick = fault
    stopped = captain.solve("Do both.")
    assert (stopped.status, stopped.answer, stopped.missing) == ("stopped", "## first\n42", ["second"])
    assert stopped.stop_reason.startswith("EndpointError: model 'm1' at http://127.0.0.1")
    paid = calls(stopped.run_dir)
    assert sum(call["error"] is not None for call in paid) == 1
    assert sum(endpoint.answered.values()) == len(paid) - 1 == stopped.usage.calls
    endpoint.sick = None
    again = Captain.resume(stopped.run_dir)
    assert (again.status, again.answer, again.missing) == ("unverified", "42 and 5", [])
    assert set(endpoint.answered.values()) == {1}
    assert again.usage.calls == sum(endpoint.answered.values())


def test_a_run_that_fails_before_any_answer_raises_and_goes_on_too(captain: Captain, endpoint: Endpoint) -> None:
    endpoint.sick, endpoint.where = Fault("status", status=500), lambda text: not text.startswith("You plan how")
    with pytest.raises(ModelError, match="HTTP 500"):
        captain.solve("Do both.")
    (folder,) = Path(captain.config.runs_dir).iterdir()
    assert json.loads((folder / "result.json").read_text())["status"] == "failed"
    planned, *failed = calls(folder)
    assert planned["error"] is None and failed and all(call["error"] for call in failed)
    endpoint.sick = None
    assert Captain.resume(folder).answer == "42 and 5"
    assert set(endpoint.answered.values()) == {1}


def test_faults_that_pass_leave_no_trace_in_the_result(
    endpoint: Endpoint, captain_with: Callable[..., Captain]
) -> None:
    left = [Fault("status", status=429, retry_after=0.05), Fault("reset"), Fault("malformed"), Fault("empty_choices")]
    turns = itertools.cycle([False, True])

    def reply(body: dict[str, Any]) -> Any:
        return left.pop() if left and next(turns) else endpoint.reply(body)

    with serve(reply) as server:
        model = {"name": "m", "provider": "compatible", "model": "m1", "base_url": server.base_url}
        result = captain_with(model).solve("Do both.")
    assert left == []
    assert (result.status, result.answer) == ("unverified", "42 and 5")
    assert [call["error"] for call in calls(result.run_dir)] == [None] * result.usage.calls
    assert result.usage.calls == sum(endpoint.answered.values())
