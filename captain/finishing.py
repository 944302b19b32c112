"""The end of the walk: the answer from accepted reports, and a status computed from what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autogen_core.models import ChatCompletionClient, UserMessage

from captain.briefing import Brief
from captain.decide import decide
from captain.planning import Plan
from captain.prompts import load_prompt
from captain.results import Evidence, Status, SubtaskReport
from captain.trust import with_note

_PROOF = ("execution", "tool", "examples", "agreement")


@dataclass(frozen=True)
class Finisher:
    """Composes answers with one model, from reports and nothing else."""

    client: ChatCompletionClient
    brief: Brief
    shown: Callable[[str, str], str] = lambda text, source: text
    """A text from the teams and its source -> the text as the model sees it."""

    async def answer(self, plan: Plan, reports: Mapping[str, SubtaskReport]) -> str:
        """Gives the final answer; where one last report holds it, no model is asked."""
        needed = {dependency for subtask in plan.subtasks for dependency in subtask.depends_on}
        last = [reports[s.id] for s in plan.subtasks if s.id not in needed and s.id in reports]
        answered = [report for report in last if report.answer.strip()]
        if len(answered) == 1 and len(last) == 1:
            return answered[0].answer
        usable = [report for report in reports.values() if report.answer.strip()]
        if not usable:
            return ""
        result = await self.client.create([UserMessage(content=self._prompt(_listing(usable)), source="user")])
        return result.content.strip() if isinstance(result.content, str) else _listing(answered or usable)

    async def typed(self, output_type: type[Any], answer: str) -> Any:
        """Gives the answer as a value of `output_type`.

        Raises:
            ModelError: the model gave no value that fits, repairs included.
        """
        question = [UserMessage(content=self._prompt(answer), source="user")]
        decision = await decide(self.client, question, output_type, repairs=2)
        return decision.value

    def _prompt(self, reports: str) -> str:
        return with_note(load_prompt("compose", task=self.brief.task, reports=self.shown(reports, "the teams")))


def _listing(reports: Sequence[SubtaskReport]) -> str:
    return "\n\n".join(f"## {report.goal[:300]}\n{report.answer}" for report in reports)


def best_partial(plan: Plan | None, reports: Mapping[str, SubtaskReport]) -> str:
    """What can be said when a limit ended the run: the last answer there is, or what is there of each part."""
    if plan is None:
        return ""
    answered = [reports[s.id] for s in plan.subtasks if s.id in reports and reports[s.id].answer.strip()]
    if len(plan.subtasks) == 1 and answered:
        return answered[0].answer
    return _listing(answered)


def status_of(answer: str, plan: Plan, reports: Mapping[str, SubtaskReport]) -> tuple[Status, str]:
    """Computes status and reason from the reports, never from anybody's closing words."""
    if not answer.strip():
        reasons = [issue for report in reports.values() for issue in report.issues]
        return "failed", reasons[0] if reasons else "no team came to an answer"
    refused = [s.id for s in plan.subtasks if s.id not in reports or reports[s.id].verdict != "accept"]
    if refused:
        return "unverified", f"not accepted: subtask {', '.join(refused)}"
    proven = [s for s in plan.subtasks if any(e.kind in _PROOF for e in reports[s.id].evidence)]
    open_claims = [s for s in plan.subtasks if reports[s.id].unsupported_claims]
    unproven = [s for s in plan.subtasks if s.method != "recall" and s not in proven]
    if any(reports[s.id].contradictions for s in plan.subtasks):
        return "unverified", "members came to different answers"
    if not proven or unproven or open_claims:
        return "unverified", "no check supports the answer" if not proven else "not every claim is supported"
    return "solved", "every part was accepted on evidence"


def evidence_of(reports: Mapping[str, SubtaskReport]) -> list[Evidence]:
    """All evidence of all parts, proofs first."""
    found = [evidence for report in reports.values() for evidence in report.evidence]
    return sorted(found, key=lambda evidence: evidence.kind == "statement")
