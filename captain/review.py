"""Review of a finished chat: checks by code first, a reflector model where they do not decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autogen_agentchat.messages import BaseChatMessage
from autogen_core.models import ChatCompletionClient, UserMessage
from pydantic import BaseModel, Field

from captain.briefing import Brief
from captain.chat import USER, text_of
from captain.config import ModelSpec, WalkConfig
from captain.decide import decide
from captain.evidence import claims_of, find_passage, largest_agreement, same_answer
from captain.planning import Subtask
from captain.prompts import load_prompt
from captain.results import Evidence, Record, Verdict
from captain.team import ChatOutcome
from captain.trust import as_data, with_note
from captain.wanted import Wanted


class Reflection(Record):
    """What the review of a chat found."""

    verdict: Verdict
    answer: str
    evidence: tuple[Evidence, ...] = ()
    issues: tuple[str, ...] = ()
    unsupported_claims: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    """Answers or statements of members that exclude each other."""
    changed_since_last: bool = False
    """The answer differs from that of the round before."""
    decided_by: str = "checks"


class _Opinion(BaseModel):
    verdict: Verdict
    evidence: list[str] = Field(default_factory=list)
    issues: list[str] = Field(default_factory=list)
    unsupported_claims: list[str] = Field(default_factory=list)
    contradictions: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class Reflector:
    """Reviews the chats of one subtask."""

    client: ChatCompletionClient
    spec: ModelSpec
    walk: WalkConfig
    wanted: Wanted
    brief: Brief
    shown: Callable[[str, str], str] = lambda text, source: text
    """A text from the chat and its source -> the text as the reviewer sees it."""

    async def review(self, subtask: Subtask, outcome: ChatOutcome, *, previous: str | None = None) -> Reflection:
        """Reviews one round; `previous` is the answer of the round before, if there was one."""
        checked = self._check(subtask, outcome, previous)
        if not self._asks_model(checked, subtask):
            return checked
        opinion = await self._ask(subtask, outcome, checked)
        return _merge(checked, opinion, outcome) if opinion is not None else checked

    def _check(self, subtask: Subtask, outcome: ChatOutcome, previous: str | None) -> Reflection:
        issues = _issues(subtask, outcome, self.wanted)
        evidence, unsupported = _evidence(outcome)
        if subtask.method != "compute":
            unsupported = ()
        changed = previous is not None and bool(previous) and not same_answer(previous, outcome.answer)
        verdict: Verdict = "accept" if not issues else "retry"
        if issues and not outcome.proposals and outcome.state.failures:
            verdict = "recast"  # whoever failed through all repairs would only repeat the same program
        return Reflection(
            verdict=verdict,
            answer=outcome.answer,
            evidence=evidence,
            issues=issues,
            unsupported_claims=unsupported,
            contradictions=_contradictions(outcome),
            changed_since_last=changed,
        )

    def _asks_model(self, checked: Reflection, subtask: Subtask) -> bool:
        if self.walk.review != "auto":
            return self.walk.review == "always"
        proven = any(e.kind in ("agreement", "examples") for e in checked.evidence)
        if checked.issues or proven or (self.spec.strength == "small" and subtask.method == "recall"):
            return False
        # A small reviewer turns right answers down as readily as wrong ones: what a program printed stands.
        return self.spec.strength == "large"

    async def _ask(self, subtask: Subtask, outcome: ChatOutcome, checked: Reflection) -> _Opinion | None:
        prompt = load_prompt(
            "review",
            task=self.brief.task,
            goal=subtask.goal if subtask.goal != self.brief.task else "the whole task",
            record=as_data(record_of(outcome, limit=min(12000, self.spec.context_window)), "the chat"),
            checks=self.shown(_findings(checked), "the chat"),
            answer=self.shown(outcome.answer, "the chat"),
        )
        decision = await decide(
            self.client,
            [UserMessage(content=with_note(prompt), source="user")],
            _Opinion,
            fallback=_NO_OPINION,
            max_tokens=600,
        )
        return None if decision.how == "fallback" else decision.value


_NO_OPINION = _Opinion(verdict="accept")


def _issues(subtask: Subtask, outcome: ChatOutcome, wanted: Wanted) -> tuple[str, ...]:
    issues: list[str] = []
    if not outcome.answer.strip():
        issues.append("There is no answer.")
    elif not outcome.proposals and subtask.method != "recall":
        last = outcome.state.runs[-1] if outcome.state.runs else None
        reason = f" The last program ended with: {last.output.strip()[-300:]}" if last and not last.ok else ""
        issues.append(f"Nobody finished with an answer.{reason}")
    lacking = wanted.lacking(outcome.answer)
    if lacking and outcome.answer.strip():
        issues.append(
            "The answer lacks " + ", ".join(f"@{name}[...]" for name in lacking) + ", which the task asks for."
        )
    runs = [run for run in outcome.state.runs if run.examples_total]
    if runs and subtask.method == "code" and not any(run.examples_held == run.examples_total for run in runs):
        issues.append(f"Not all examples of the task hold for the program: {runs[-1].examples_failed}")
    return tuple(issues)


def _evidence(outcome: ChatOutcome) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    found: list[Evidence] = []
    best = next((p for p in outcome.proposals if same_answer(p.answer, outcome.answer)), None)
    if best is not None and best.basis == "examples":
        run = next(r for r in reversed(outcome.state.runs) if r.author == best.member and r.examples_total)
        quote = f"{run.examples_held} of {run.examples_total} examples of the task hold"
        found.append(Evidence(claim="the program", kind="examples", source=best.member, quote=quote))
        return tuple(found), ()
    if best is not None and best.code and best.answer == best.code:
        found.append(Evidence(claim="the program runs", kind="execution", source=best.member, quote="exit code 0"))
        return tuple(found), ()
    computed = {p.member for p in outcome.proposals if p.basis != "said"}
    if len(computed.intersection(outcome.agreeing)) > 1:
        quote = f"{len(outcome.agreeing)} of {len(outcome.proposals)} independent solutions agree"
        source = ", ".join(outcome.agreeing)
        found.append(Evidence(claim=outcome.answer[:200], kind="agreement", source=source, quote=quote))
    unsupported: list[str] = []
    for claim in claims_of(outcome.answer):
        passage = _passage(claim, outcome)
        if passage is not None:
            found.append(passage)
        else:
            unsupported.append(claim)
    return tuple(found), tuple(unsupported)


def _passage(claim: str, outcome: ChatOutcome) -> Evidence | None:
    for run in reversed(outcome.state.runs):
        line = find_passage(claim, [run.computed]) if run.ok else None
        if line:
            return Evidence(claim=claim, kind="execution", source=f"program of {run.author}", quote=line)
    for use in reversed(outcome.state.tools):
        line = find_passage(claim, [use.result]) if use.ok else None
        if line:
            return Evidence(claim=claim, kind="tool", source=f"{use.tool} called by {use.member}", quote=line)
    return None


def _contradictions(outcome: ChatOutcome) -> tuple[str, ...]:
    answers = [p.answer for p in outcome.proposals]
    if len(answers) < 2 or max(len(outcome.agreeing), len(largest_agreement(answers))) * 2 > len(answers):
        return ()
    if any(p.basis == "examples" for p in outcome.proposals):
        return ()
    return ("; ".join(f"{p.member} says {p.answer[:120]!r}" for p in outcome.proposals),)


def _findings(checked: Reflection) -> str:
    lines = [f"- {e.kind}: {e.claim} <- {e.source}: {e.quote}" for e in checked.evidence]
    lines += [f"- nothing printed or returned shows {claim!r}" for claim in checked.unsupported_claims]
    lines += [f"- contradiction: {text}" for text in checked.contradictions]
    return "\n".join(lines) or "- nothing"


def _merge(checked: Reflection, opinion: _Opinion, outcome: ChatOutcome) -> Reflection:
    """Takes a model's opinion as far as the record bears it out.

    Quotes that do not stand in the record are dropped. A refusal without a reason is no refusal.
    """
    texts = [text_of(m) for m in outcome.thread if isinstance(m, BaseChatMessage) and m.source != USER]
    texts += [use.result for use in outcome.state.tools]
    quotes = [q for q in opinion.evidence if q.strip() and any(_squeeze(q) in _squeeze(text) for text in texts)]
    statements = tuple(Evidence(claim=q[:200], kind="statement", source="record", quote=q[:300]) for q in quotes)
    refused = opinion.verdict != "accept" and bool(opinion.issues or opinion.unsupported_claims)
    return checked.model_copy(
        update={
            "verdict": opinion.verdict if refused else checked.verdict,
            "issues": (*checked.issues, *(opinion.issues if refused else ())),
            "evidence": (*checked.evidence, *statements),
            "unsupported_claims": tuple(dict.fromkeys([*checked.unsupported_claims, *opinion.unsupported_claims])),
            "contradictions": (*checked.contradictions, *opinion.contradictions),
            "decided_by": "model",
        }
    )


def _squeeze(text: str) -> str:
    return " ".join(text.casefold().split())


def record_of(outcome: ChatOutcome, *, limit: int) -> str:
    """The record of a chat as a reviewer reads it, newest parts kept when it is too long."""
    lines: Sequence[str] = [
        f"[{m.source}] {text_of(m).strip()}"
        for m in outcome.thread
        if isinstance(m, BaseChatMessage) and m.source != USER
    ]
    calls = [f"[{u.member} -> {u.tool}({u.arguments})] {u.result}" for u in outcome.state.tools]
    text = "\n\n".join([*calls, *lines])
    return text if len(text) <= limit else f"[... beginning left out ...]\n{text[-limit:]}"
