"""From accepted reports to an answer and a status."""

from __future__ import annotations

from typing import Any

import pytest

from captain.finishing import best_partial, evidence_of, status_of
from captain.planning import Plan, Role, Subtask
from captain.results import Evidence, SubtaskReport

ROLE = Role(title="t", description="d")
PROOF = Evidence(claim="42", kind="execution", source="program", quote="42")
STATEMENT = Evidence(claim="42", kind="statement", source="record", quote="42")


def part(number: str, method: Any = "compute") -> Subtask:
    return Subtask(id=number, goal=f"goal {number}", method=method, roles=(ROLE,))


def report(number: str, **changes: Any) -> SubtaskReport:
    settings = {"goal": f"goal {number}", "team": ["t"], "verdict": "accept", "answer": "42", "evidence": [PROOF]}
    return SubtaskReport(id=number, **{**settings, **changes})


@pytest.mark.parametrize(
    ("reports", "status"),
    [
        ([report("1"), report("2")], "solved"),
        ([report("1"), report("2", evidence=[])], "unverified"),
        ([report("1"), report("2", evidence=[STATEMENT])], "unverified"),
        ([report("1"), report("2", verdict="retry")], "unverified"),
        ([report("1"), report("2", contradictions=["a says 1, b says 2"])], "unverified"),
        ([report("1"), report("2", unsupported_claims=["7"])], "unverified"),
        ([report("1")], "unverified"),
    ],
)
def test_solved_needs_proof_of_every_part(reports: list[SubtaskReport], status: str) -> None:
    plan = Plan(subtasks=(part("1"), part("2")))
    assert status_of("42", plan, {one.id: one for one in reports})[0] == status


def test_what_was_known_needs_no_proof_beside_what_was_computed() -> None:
    plan = Plan(subtasks=(part("1", "recall"), part("2")))
    reports = {"1": report("1", evidence=[]), "2": report("2")}
    assert status_of("42", plan, reports)[0] == "solved"
    assert status_of("42", Plan(subtasks=(part("1", "recall"),)), {"1": reports["1"]})[0] == "unverified"


def test_without_an_answer_a_run_has_failed_and_says_why() -> None:
    plan = Plan(subtasks=(part("1"),))
    assert status_of(" ", plan, {"1": report("1", answer="", issues=["There is no answer."])}) == (
        "failed",
        "There is no answer.",
    )


def test_a_partial_answer_names_its_parts() -> None:
    plan = Plan(subtasks=(part("1"), part("2"), part("3")))
    text = best_partial(plan, {"1": report("1", answer="one"), "2": report("2", answer=" ")})
    assert "goal 1" in text and "one" in text and "goal 2" not in text
    assert best_partial(None, {}) == ""
    assert best_partial(Plan(subtasks=(part("1"),)), {"1": report("1", answer="one")}) == "one"


def test_proofs_come_before_statements() -> None:
    assert evidence_of({"1": report("1", evidence=[STATEMENT]), "2": report("2")}) == [PROOF, STATEMENT]
