"""The work on one subtask: cast, chat, review, and acting on the verdict, all bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from autogen_agentchat.messages import BaseChatMessage, ToolCallExecutionEvent, ToolCallRequestEvent
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeExecutor
from autogen_core.models import ChatCompletionClient

from captain.briefing import Brief
from captain.casting import Cast, Casting
from captain.chat import EXECUTOR, USER, Message, text_of
from captain.config import CaptainConfig, ModelSpec
from captain.config import Role as ModelRole
from captain.durable.branches import current_branch
from captain.effects import ApprovalRequest, Effects
from captain.floor import Floor
from captain.limits import Spending
from captain.members import Fault
from captain.planning import Subtask
from captain.prompts import load_prompt
from captain.reporting import Reporter
from captain.results import SubtaskReport
from captain.review import Reflection, Reflector
from captain.seating import Table, runs_programs
from captain.team import ChatOutcome, Team
from captain.tracing import span
from captain.using import record_use
from captain.wanted import Wanted


@dataclass(frozen=True)
class Surroundings:
    """What the work on every subtask of a run shares."""

    config: CaptainConfig
    brief: Brief
    casting: Casting
    executor: CodeExecutor | None
    workspace: Path
    reporter: Reporter
    clients: Callable[[ModelRole], ChatCompletionClient]
    specs: Callable[[ModelRole], ModelSpec]
    spending: Spending
    effects: Effects


@dataclass
class SubtaskWork:
    """One subtask on its way to a report; `best` holds what there is when a limit ends the run."""

    subtask: Subtask
    around: Surroundings
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Answers of the subtasks this one depends on, by their goals."""
    best: SubtaskReport | None = None
    _checked_back: bool = False

    async def run(self) -> SubtaskReport:
        """Works until the answer is accepted or the attempts are used up.

        Raises:
            CaptainError: a model failed for good or a limit was reached; `best` holds what was there.
        """
        if self.around.config.approval.subtasks and not await self._approved():
            assert self.best is not None
            return self.best
        team = await self._build()
        message = self._opening()
        previous: str | None = None
        without: list[str] = []
        reflection: Reflection | None = None
        for attempt in range(1, self.around.config.walk.max_attempts + 1):
            names = {
                "gen_ai.agent.name": ", ".join(seat.name for seat in team.seats),
                "captain.subtask": self.subtask.id,
            }
            with span("invoke_agent", "team", names):
                outcome = await team.run(message)
            reflection = await self._review(outcome, previous)
            self._note(reflection, outcome, attempt, team)
            if self._must_check_back(reflection, outcome):
                reflection = await self._check_backwards(team, reflection, outcome, previous)
                self._note(reflection, outcome, attempt, team)
            last = reflection.verdict in ("accept", "replan") or attempt == self.around.config.walk.max_attempts
            if last or reflection.verdict == "recast":
                key = f"{current_branch()}:{self.subtask.id}.{attempt}"
                await record_use(self.around.casting, team.seats, team.floor.thread, reflection, key=key)
            if last:
                break
            previous = reflection.answer
            if reflection.verdict == "recast":
                without = [*without, team.seats[0].profile.name]
                team = await self._build(without)
                message = self._opening(issues=reflection.issues)
            else:
                issues = self._shown(_bullets(reflection.issues), "the review")
                message = load_prompt("retry", answer=self._shown(previous[:500], "the chat"), issues=issues)
        assert self.best is not None
        self.around.reporter.event(
            "subtask_done", f"{self.best.verdict}: {self.best.answer[:200]}", subtask=self.subtask.id
        )
        return self.best

    async def _approved(self) -> bool:
        """Whether a person lets the part begin, perhaps with another goal."""
        goal, reason = {"goal": self.subtask.goal}, "subtasks need approval"
        request = ApprovalRequest(what="subtask", name=self.subtask.id, arguments=goal, reason=reason)
        decision = await self.around.effects.approve(request)
        if decision.verdict == "approve":
            goal = {**goal, **(decision.arguments or {})}
            self.subtask = self.subtask.model_copy(update={"goal": str(goal["goal"])})
            return True
        self.best = SubtaskReport(
            id=self.subtask.id,
            goal=self.subtask.goal,
            team=[],
            verdict="retry",
            answer="",
            issues=[f"denied by a person{f': {decision.note}' if decision.note else ''}"],
            stop_reason="denied",
        )
        return False

    async def _build(self, without: list[str] | None = None) -> Team:
        around = self.around
        cast = await around.casting.cast(self.subtask, without=without or [])
        for record in cast.records:
            data = record.model_dump(mode="json")
            around.reporter.event("cast", f"{record.role} -> {record.chosen}", subtask=self.subtask.id, **data)
        runners = self._runners(cast)
        if self._hears_others(cast, runners):
            around.effects.taint()
        for seat in cast.seats:
            if seat.agent is not None:
                await seat.agent.on_reset(CancellationToken())  # what it heard elsewhere is not of this team
        fault = Fault()
        any_words = self.subtask.method == "recall"
        floor = Floor(cast.seats, around.config.team, runners, self._wanted, fault, any_words)
        spec = around.specs("expert")
        table = Table(
            clients=around.clients,
            team=around.config.team,
            context_window=spec.context_window,
            reply_tokens=spec.max_output_tokens,
            bind=partial(around.effects.bind, fault=fault),
            method=self.subtask.method,
            runners=runners,
            fault=fault,
            blind=floor.blind,
            shown=around.effects.shown,
            after_reading=around.effects.after_reading,
            untrusted=around.effects.is_tainted(),
        )
        return Team(
            seats=cast.seats,
            table=table,
            brief=around.brief,
            floor=floor,
            executor=around.executor if runners else None,
            speaker=around.clients("speaker"),
            listener=self._listen,
            notice=lambda text: around.reporter.event("notice", text, subtask=self.subtask.id),
        )

    def _hears_others(self, cast: Cast, runners: frozenset[str]) -> bool:
        """Whether text of others stands in the chat from the start, or comes with what programs fetch."""
        strangers = any(seat.profile.origin == "foreign" for seat in cast.seats)
        fetched = bool(runners) and self.around.config.sandbox.network
        return bool(self.around.brief.names) or strangers or fetched

    def _runners(self, cast: Cast) -> frozenset[str]:
        """The members whose programs are run."""
        if self.around.executor is None:
            return frozenset()
        specs, method = self.around.specs, self.subtask.method
        strengths = {seat.name: specs(seat.profile.role).strength for seat in cast.seats}
        return frozenset(
            seat.name for seat in cast.seats if runs_programs(seat.profile, method, strength=strengths[seat.name])
        )

    @property
    def _wanted(self) -> Wanted:
        whole = self.subtask.goal == self.around.brief.task
        return Wanted.by(self.around.brief, method=self.subtask.method, whole=whole)

    def _opening(self, issues: tuple[str, ...] = ()) -> str:
        parts = [self.around.brief.text()]
        if self.subtask.goal != self.around.brief.task:
            parts.append(f"YOUR PART\n{self.subtask.goal}")
        for goal, answer in self.inputs.items():
            parts.append(f"RESULT OF AN EARLIER PART ({goal[:200]})\n{self._shown(answer, 'an earlier part')}")
        if issues:
            parts.append(f"AN EARLIER TEAM FAILED\n{self._shown(_bullets(issues), 'the review')}")
        return "\n\n".join(parts) + self._wanted.hint()

    def _shown(self, text: str, source: str) -> str:
        """What came out of a chat, as the next one reads it: the Captain's own voice must not carry others' words."""
        return self.around.effects.shown(text, source)

    async def _review(self, outcome: ChatOutcome, previous: str | None) -> Reflection:
        around = self.around
        reflector = Reflector(
            around.clients("reflector"),
            around.specs("reflector"),
            around.config.walk,
            self._wanted,
            around.brief,
            around.effects.shown,
        )
        reflection = await reflector.review(self.subtask, outcome, previous=previous)
        text = f"{reflection.verdict} by {reflection.decided_by}: {reflection.answer[:160]}"
        around.reporter.event("reviewed", text, subtask=self.subtask.id, **reflection.model_dump(mode="json"))
        return reflection

    def _must_check_back(self, reflection: Reflection, outcome: ChatOutcome) -> bool:
        doubtful = bool(reflection.contradictions) or reflection.changed_since_last
        settled = any(evidence.kind in ("agreement", "examples") for evidence in reflection.evidence)
        has_answer = bool(reflection.answer.strip())
        return doubtful and has_answer and not settled and not self._checked_back and reflection.verdict != "replan"

    async def _check_backwards(
        self, team: Team, before: Reflection, outcome: ChatOutcome, previous: str | None
    ) -> Reflection:
        """One round in which the team starts from the answer.

        Members have seen the answer by now, and weak ones just repeat it: only a program that was run in this round
        can settle the doubt. Without one the reflection, and its doubt, stay as they were.
        """
        self._checked_back = True
        runs = len(outcome.state.runs)
        checked = await team.run(self._check_back(before, previous))
        if len(checked.state.runs) == runs or not checked.answer.strip():
            return before
        return await self._review(replace(checked, agreeing=()), before.answer)

    def _check_back(self, reflection: Reflection, previous: str | None) -> str:
        if reflection.contradictions:
            reason = f"members disagree ({self._shown(reflection.contradictions[0][:300], 'the chat')})."
        else:
            reason = f"it was {self._shown(previous[:200], 'the chat') if previous else 'different'} before."
        return load_prompt("check_back", answer=self._shown(reflection.answer[:500], "the chat"), reason=reason)

    def _note(self, reflection: Reflection, outcome: ChatOutcome, attempt: int, team: Team) -> None:
        self.best = SubtaskReport(
            id=self.subtask.id,
            goal=self.subtask.goal,
            team=[seat.name for seat in team.seats],
            verdict=reflection.verdict,
            answer=reflection.answer,
            evidence=list(reflection.evidence),
            issues=list(reflection.issues),
            unsupported_claims=list(reflection.unsupported_claims),
            contradictions=list(reflection.contradictions),
            attempts=attempt,
            stop_reason=outcome.stop_reason,
        )

    def _listen(self, message: Message) -> None:
        reporter, subtask = self.around.reporter, self.subtask.id
        if isinstance(message, ToolCallRequestEvent):
            for call in message.content:
                text = f"{call.name}({call.arguments})"
                reporter.event("tool_call", text, subtask=subtask, source=message.source, tool=call.name)
        elif isinstance(message, ToolCallExecutionEvent):
            for result in message.content:
                text = f"{result.name} -> {result.content[:200]}"
                data = {"result": result.content, "is_error": result.is_error, "member": message.source}
                reporter.event("tool_call", text, subtask=subtask, source=None, tool=result.name, **data)
        elif isinstance(message, BaseChatMessage) and message.source != USER:
            text, source = text_of(message), message.source
            if source == EXECUTOR:
                ran = {"member": message.metadata.get("author"), "exit_code": message.metadata.get("exit_code", "0")}
                reporter.event("execution", text, subtask=subtask, source=source, **ran)
            else:
                reporter.event("message", text, subtask=subtask, source=source)


def _bullets(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- It is not supported by what was run."
