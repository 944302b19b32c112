"""The plan of a task: which parts it has and which roles each part needs. One typed model step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from autogen_core.models import ChatCompletionClient, UserMessage
from pydantic import BaseModel, Field

from captain.briefing import Brief
from captain.config import ModelSpec, TeamConfig
from captain.decide import decide
from captain.prompts import load_prompt
from captain.results import Record
from captain.trust import with_note

Method = Literal["compute", "code", "recall"]


class Role(Record):
    """A place in a team: a title and what its holder does."""

    title: str
    description: str
    independent: bool = False
    """The holder works out the result alone, blind to the others, so that the two can be compared."""

    @property
    def text(self) -> str:
        """The role as a query to the library."""
        return f"{self.title}: {self.description}"


class Subtask(Record):
    """A part of the task that one team works on."""

    id: str
    goal: str
    method: Method
    roles: tuple[Role, ...]
    depends_on: tuple[str, ...] = ()


class Plan(Record):
    """The subtasks, in an order in which each comes after those it depends on."""

    subtasks: tuple[Subtask, ...]
    note: str = ""
    """How the plan came about when a model did not simply give it."""


class _Expert(BaseModel):
    title: str = Field(max_length=60)
    does: str = Field(max_length=160)


class _SoloDraft(BaseModel):
    method: Method
    expert: _Expert


class _Part(BaseModel):
    goal: str = Field(max_length=400)
    method: Method
    experts: list[_Expert] = Field(min_length=1, max_length=5)
    depends_on: list[int] = Field(default_factory=list)


class _TeamDraft(BaseModel):
    subtasks: list[_Part] = Field(min_length=1, max_length=8)


@dataclass(frozen=True)
class Planner:
    """Makes plans with one model under the bounds of a team configuration."""

    client: ChatCompletionClient
    spec: ModelSpec
    team: TeamConfig

    async def plan(self, brief: Brief, *, failures: str = "") -> Plan:
        """Plans a task; `failures` says what an earlier plan ran into."""
        most = self.team.max_subtasks or (1 if self.spec.strength == "small" else 4)
        plan = await (self._solo(brief) if most == 1 else self._split(brief, most, failures))
        return _with_known_method(plan, brief)

    async def _solo(self, brief: Brief) -> Plan:
        known = _plan_by_rule(brief)
        if known is not None:
            return known
        prompt = load_prompt("plan_solo", task=brief.task, files=brief.file_names)
        fallback = _SoloDraft(method="compute", expert=_Expert(title="Problem solver", does="solves the task"))
        decision = await decide(
            self.client, [UserMessage(content=prompt, source="user")], _SoloDraft, fallback=fallback, max_tokens=200
        )
        draft = decision.value
        roles = _roles([draft.expert], self.team.max_experts)
        note = "the planner gave no usable plan; one general expert" if decision.how == "fallback" else ""
        return Plan(subtasks=(Subtask(id="1", goal=brief.task, method=draft.method, roles=roles),), note=note)

    async def _split(self, brief: Brief, most: int, failures: str) -> Plan:
        prompt = load_prompt(
            "plan_team",
            task=brief.task,
            files=brief.file_names,
            failures=f"\n\nAn earlier plan failed:\n{failures}" if failures else "",
            max_subtasks=str(most),
            max_experts=str(self.team.max_experts),
        )
        expert = _Expert(title="Problem solver", does="solves the task")
        fallback = _TeamDraft(subtasks=[_Part(goal=brief.task[:400], method="compute", experts=[expert])])
        decision = await decide(
            self.client,
            [UserMessage(content=with_note(prompt), source="user")],
            _TeamDraft,
            fallback=fallback,
            max_tokens=900,
        )
        note = "the planner gave no usable plan; one general expert" if decision.how == "fallback" else ""
        return Plan(subtasks=_ordered(decision.value.subtasks[:most], brief, self.team.max_experts), note=note)


def _plan_by_rule(brief: Brief) -> Plan | None:
    """The plan where the task leaves no doubt, so that a small planner need not be asked."""
    if brief.entry_point:
        role = Role(title="Python programmer", description=f"writes the function {brief.entry_point}")
        method: Method = "code"
    elif brief.tables:
        role = Role(title="Data analysis of a table", description=brief.task[:240])
        method = "compute"
    else:
        return None
    subtask = Subtask(id="1", goal=brief.task, method=method, roles=(role,))
    return Plan(subtasks=(subtask,), note="by rule: the task gives a function head or a table")


def _roles(experts: list[_Expert], most: int) -> tuple[Role, ...]:
    seen: dict[str, Role] = {}
    for expert in experts:
        seen.setdefault(expert.title.strip().lower(), Role(title=expert.title.strip(), description=expert.does.strip()))
    return tuple(seen.values())[:most]


def _ordered(parts: list[_Part], brief: Brief, most: int) -> tuple[Subtask, ...]:
    # A part may only depend on an earlier one: whatever the model names beyond that (itself, a cycle, a number
    # that does not exist) is dropped, so the order given is always one in which the work can be done.
    return tuple(
        Subtask(
            id=str(number),
            goal=part.goal if len(parts) > 1 else brief.task,
            method=part.method,
            roles=_roles(part.experts, most),
            depends_on=tuple(sorted({str(d) for d in part.depends_on if 0 < d < number})),
        )
        for number, part in enumerate(parts, start=1)
    )


_COMPUTES = re.compile(
    r"[\d$\\^=]|\b(how (many|much|long|far|old)|comput|calculat|evaluat|solve|simplif|find|determin|factor|integra|"
    r"derivative|probabilit|average|mean|median|sum|product|percent|number of|count)",
    re.I,
)
_ASKS_FOR_NUMBER = re.compile(r"\b(how many|compute|calculate|evaluate|what is the (sum|value|number|product))\b", re.I)


def _with_known_method(plan: Plan, brief: Brief) -> Plan:
    """Corrects the method where the task itself leaves no doubt: a function head, tables, a number asked for."""
    if len(plan.subtasks) > 1:
        return plan
    only = plan.subtasks[0]
    method = only.method
    if brief.entry_point:
        method = "code"
    elif method != "compute" and (
        brief.tables or (_ASKS_FOR_NUMBER.search(brief.task) and re.search(r"\d", brief.task))
    ):
        method = "compute"
    elif method == "code" and not brief.asks_for_code:
        method = "compute"
    if method == "compute" and not brief.names and not _COMPUTES.search(brief.question):
        method = "recall"
    return plan.model_copy(update={"subtasks": (only.model_copy(update={"method": method}),)})
