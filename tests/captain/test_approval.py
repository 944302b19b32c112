"""Calls and parts that wait for a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autogen_core import FunctionCall

from captain import Captain
from captain.effects import Approval, ApprovalRequest

CaptainWith = Callable[..., Captain]

_MODULE = '''
from pathlib import Path
from captain import tool

LEDGER = Path({ledger!r})

@tool(side_effects=True{more})
def pay(amount: int) -> str:
    """Pay an amount of money.

    Args:
        amount: In euros.
    """
    with LEDGER.open("a") as file:
        file.write(str(amount) + "\\n")
    return "paid " + str(amount)
'''


@pytest.fixture
def paying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, captain_with: CaptainWith, make_model: Any, steps: Any
) -> Any:
    """Gives `paying(settings, more)`: a Captain whose expert pays 5 euros, the model, and the ledger's lines."""

    def build(settings: dict[str, Any] | None = None, more: str = "", parts: int = 1) -> Any:
        name = f"paying_{tmp_path.name.replace('-', '_')}"
        ledger = tmp_path / "ledger"
        (tmp_path / f"{name}.py").write_text(_MODULE.format(ledger=str(ledger), more=more))
        monkeypatch.syspath_prepend(str(tmp_path))

        def expert(ask: Any) -> Any:
            if "FunctionExecutionResultMessage" not in ask.forms:
                return [FunctionCall(id="1", name="pay", arguments='{"amount": 5}')]
            return f"FINAL ANSWER: {ask.last.splitlines()[1]}"

        planned = [steps.part("Historian", method="recall", goal=f"pay {number}") for number in range(parts)]
        model = make_model({"planner": steps.plan(*planned), "expert": expert, "composer": "done"})
        usual = {"tools.enabled": True, "tools.modules": [name], "tools.threshold": -1.0}
        lines = lambda: ledger.read_text().splitlines() if ledger.exists() else []  # noqa: E731
        return captain_with(model, {**usual, **(settings or {})}), model, lines

    return build


def deciding(approval: Approval, asked: list[ApprovalRequest]) -> Any:
    async def decide(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return approval

    return decide


def test_a_call_that_needs_approval_pauses_the_run_and_another_process_goes_on(paying: Any) -> None:
    captain, model, ledger = paying({"approval.tools": ["pay"]})
    result = captain.solve("Pay what is owed.")
    assert result.status == "paused" and "tool 'pay' waits for approval" in result.stop_reason
    assert ledger() == []
    assert json.loads((result.run_dir / "result.json").read_text())["status"] == "paused"
    paid_calls = len(model.asks)
    asked: list[ApprovalRequest] = []
    approver = deciding(Approval(verdict="approve"), asked)
    again = asyncio.run(Captain.resume_async(result.run_dir, approver=approver))
    assert (again.answer, ledger()) == ("paid 5", ["5"])
    assert [(one.what, one.name, one.arguments) for one in asked] == [("tool", "pay", {"amount": 5})]
    assert again.usage.calls == len(model.asks) and len(model.asks) > paid_calls


def test_the_model_is_not_asked_again_once_a_run_waits(paying: Any) -> None:
    captain, model, _ = paying({"approval.tools": ["pay"]})
    captain.solve("Pay what is owed.")
    assert [ask.step for ask in model.asks].count("expert") == 1


@pytest.mark.parametrize("more", [", approval=True"])
def test_a_tool_may_ask_for_approval_itself(paying: Any, more: str) -> None:
    captain, _, ledger = paying(more=more)
    assert captain.solve("Pay what is owed.").status == "paused"
    assert ledger() == []


def test_granted_tools_never_wait(paying: Any) -> None:
    captain, _, ledger = paying({"approval.allow_tools": ["pay"]}, more=", approval=True")
    assert captain.solve("Pay what is owed.").answer == "paid 5"
    assert ledger() == ["5"]


@pytest.mark.parametrize(
    ("approval", "answer", "paid"),
    [
        (Approval(verdict="deny", note="too much"), "a person denied this call: too much; do without it", []),
        (Approval(verdict="approve", arguments={"amount": 3}), "paid 3", ["3"]),
    ],
)
def test_a_person_may_deny_or_edit(paying: Any, approval: Approval, answer: str, paid: list[str]) -> None:
    captain, _, ledger = paying({"approval.tools": ["pay"]})
    chief = Captain(captain.config, approver=deciding(approval, []))
    result = chief.solve("Pay what is owed.")
    assert answer in result.answer and ledger() == paid


def test_a_decision_is_asked_for_once(paying: Any) -> None:
    captain, _, ledger = paying({"approval.tools": ["pay"]})
    asked: list[ApprovalRequest] = []
    result = Captain(captain.config, approver=deciding(Approval(verdict="approve"), asked)).solve("Pay what is owed.")
    journal = result.run_dir / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    decided = next(n for n, line in enumerate(lines) if json.loads(line)["kind"] == "decision")
    journal.write_text("".join(lines[: decided + 1]))
    (result.run_dir / "result.json").write_text('{"status": "running"}')
    again = asyncio.run(Captain.resume_async(result.run_dir, approver=deciding(Approval(verdict="deny"), asked)))
    assert again.answer == "paid 5" and len(asked) == 1


def test_a_pause_in_one_part_leaves_the_others_their_work(paying: Any) -> None:
    captain, _, _ = paying({"approval.tools": ["pay"]}, parts=3)
    result = captain.solve("Pay what is owed.")
    assert result.status == "paused" and len(result.missing) == 3
    asked: list[ApprovalRequest] = []
    again = asyncio.run(Captain.resume_async(result.run_dir, approver=deciding(Approval(verdict="approve"), asked)))
    assert len(asked) == 3 and again.missing == []


def test_a_pause_inside_a_nested_captain_pauses_the_whole_run(
    paying: Any, captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    inner, _, ledger = paying({"approval.tools": ["pay"]})
    part = steps.part("Payer", method="recall")
    model = make_model({"planner": steps.plan(part)})
    outer = captain_with(model, members=[inner.as_agent("payer", "Payer who pays what is owed.")])
    result = outer.solve("Pay what is owed.")
    assert result.status == "paused" and ledger() == []
    asked: list[ApprovalRequest] = []
    members = [Captain(inner.config).as_agent("payer", "Payer who pays what is owed.")]
    approver = deciding(Approval(verdict="approve"), asked)
    again = asyncio.run(Captain.resume_async(result.run_dir, members=members, approver=approver))
    assert ledger() == ["5"] and len(asked) == 1 and "paid 5" in again.answer


@pytest.mark.parametrize(
    ("approval", "status"),
    [
        (Approval(verdict="approve"), "unverified"),
        (Approval(verdict="deny", note="not now"), "failed"),
    ],
)
def test_subtasks_may_need_approval(paying: Any, approval: Approval, status: str) -> None:
    captain, model, ledger = paying({"approval.subtasks": True})
    asked: list[ApprovalRequest] = []
    result = Captain(captain.config, approver=deciding(approval, asked)).solve("Pay what is owed.")
    assert [one.what for one in asked] == ["subtask"]
    assert bool(ledger()) == (approval.verdict == "approve")
    if approval.verdict == "deny":
        assert result.subtasks[0].issues == ["denied by a person: not now"]
        assert [ask.step for ask in model.asks].count("expert") == 0


def test_a_letter_without_a_recorded_end_is_reported_and_not_repeated(paying: Any) -> None:
    captain, _, ledger = paying()
    result = captain.solve("Pay what is owed.")
    assert ledger() == ["5"]
    journal = result.run_dir / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    begun = next(n for n, line in enumerate(lines) if json.loads(line).get("phase") == "begin")
    journal.write_text("".join(lines[: begun + 1]))
    (result.run_dir / "result.json").write_text('{"status": "running"}')
    again = Captain.resume(result.run_dir)
    assert ledger() == ["5"]
    assert len(again.unknown) == 1 and "whether it took effect is unknown" in again.unknown[0]
