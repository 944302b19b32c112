"""Casting: which expert takes which role. Found by meaning, chosen by rule or by number, written when missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autogen_agentchat.base import ChatAgent
from autogen_core.models import ChatCompletionClient, UserMessage
from pydantic import BaseModel, Field

from captain.config import CaptainConfig, ModelSpec
from captain.config import Role as ModelRole
from captain.decide import choose, decide
from captain.library import AgentProfile, Hit, Library
from captain.planning import Role, Subtask
from captain.prompts import load_prompt
from captain.results import Record
from captain.seating import Seat
from captain.tools import ToolSpec

CHECKER = Role(
    title="Independent checker",
    description="verifies a result by recomputing it independently with another method",
    independent=True,
)


class Candidate(Record):
    """An expert that was considered, with its scores."""

    name: str
    score: float
    dense: float
    lexical: float


class CastRecord(Record):
    """How one role was filled: what was on offer, who was taken and why."""

    role: str
    chosen: str
    reason: str
    candidates: tuple[Candidate, ...] = ()
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cast:
    """The seats of a team and how each was filled."""

    seats: tuple[Seat, ...]
    records: tuple[CastRecord, ...]


class _WrittenExpert(BaseModel):
    description: str = Field(min_length=10, max_length=300)
    instructions: str = Field(min_length=20, max_length=900)


class _WrittenExperts(BaseModel):
    experts: list[_WrittenExpert]


@dataclass
class Casting:
    """Fills roles from a library, the user's own members and, where both fail, by writing.

    Args:
        clients: gives the model client of a role of the framework (`selector`, `writer`).
        specs: gives the specification behind such a client.
        members: the user's own AutoGen agents; they come before the library.
    """

    config: CaptainConfig
    library: Library
    clients: Callable[[ModelRole], ChatCompletionClient]
    specs: Callable[[ModelRole], ModelSpec]
    members: Sequence[ChatAgent] = ()
    cache: dict[str, Cast] = field(default_factory=dict)
    """Teams of earlier subtasks, by what they were asked for."""

    async def cast(self, subtask: Subtask, *, without: Sequence[str] = ()) -> Cast:
        """Seats a team for a subtask; `without` names experts who failed at it."""
        key = fingerprint(subtask)
        if not without and key in self.cache:
            return self.cache[key]
        roles = self._roles(subtask)
        taken: list[str] = list(without)
        filled: list[tuple[Role, AgentProfile, ChatAgent | None, CastRecord] | None] = []
        for role in roles:
            choice = await self._fill(role, subtask, taken)
            if choice is not None:
                taken.append(choice[1].name)
            filled.append(choice)
        await self._write_missing(roles, filled)
        seats, records = [], []
        for entry in filled:
            assert entry is not None
            role, profile, agent, record = entry
            tools = await self._tools(profile, subtask) if agent is None else ()
            seats.append(Seat(_unique(profile.name, [s.name for s in seats]), role, profile, tools, agent))
            records.append(record.model_copy(update={"tools": tuple(tool.name for tool in tools)}))
        self.cache[key] = Cast(tuple(seats), tuple(records))
        return self.cache[key]

    def _roles(self, subtask: Subtask) -> list[Role]:
        """The planned roles, and for a computed answer those who recompute it blind."""
        roles = list(subtask.roles[: self.config.team.max_experts])
        team = self.config.team
        if subtask.method != "compute" or not team.cross_check or not self.config.execution.enabled:
            return roles if self.specs("planner").strength == "large" else roles[:1]
        if self.specs("expert").strength == "small":
            # A small model gains nothing from talk: its members work apart, and their results are compared.
            solver, others = roles[0], roles[1:]
            independent = [role.model_copy(update={"independent": True}) for role in others]
            while len(independent) < team.max_samples - 1:
                independent.append(CHECKER if not independent else solver.model_copy(update={"independent": True}))
            return [solver, *independent[: team.max_samples - 1]]
        return [*roles, CHECKER]

    async def _fill(
        self, role: Role, subtask: Subtask, taken: Sequence[str]
    ) -> tuple[Role, AgentProfile, ChatAgent | None, CastRecord] | None:
        own = self._own_member(role, taken)
        if own is not None:
            profile = _profile_of(own)
            return role, profile, own, CastRecord(role=role.text, chosen=own.name, reason="a member given by the user")
        if not self.config.library.enabled:
            return None
        hits = [hit for hit in await self.library.search_experts(role.text) if hit.item.name not in taken]
        if not hits:
            return None
        candidates = tuple(
            Candidate(name=h.item.name, score=round(h.score, 4), dense=round(h.dense, 4), lexical=round(h.lexical, 4))
            for h in hits
        )
        position, reason = await self._choose(role, subtask, hits)
        if position is None:
            return None
        profile = hits[position].item
        record = CastRecord(role=role.text, chosen=profile.name, reason=reason, candidates=candidates)
        return role, profile, None, record

    async def _choose(self, role: Role, subtask: Subtask, hits: Sequence[Hit[AgentProfile]]) -> tuple[int | None, str]:
        lead = hits[0].dense - hits[1].dense if len(hits) > 1 else 1.0
        if lead >= self.config.library.margin or role.independent:
            return 0, f"leads by {lead:.3f}" if len(hits) > 1 else "the only one above the threshold"
        if self.specs("selector").strength == "small":
            return 0, "nearest in meaning; small models choose worse than the index"
        question = load_prompt("choose_expert", role=role.text, goal=subtask.goal[:600])
        options = [f"{hit.item.title}: {hit.item.description}" for hit in hits]
        choice = await choose(self.clients("selector"), question, options, permutations=1, abstain=True)
        if choice.index is None:
            return None, "the selector found none fitting"
        return choice.index, f"chosen by the selector ({choice.how})"

    def _own_member(self, role: Role, taken: Sequence[str]) -> ChatAgent | None:
        free = [member for member in self.members if member.name not in taken]
        words = set(re.findall(r"\w{4,}", role.text.lower()))
        scored = [(len(words & set(re.findall(r"\w{4,}", f"{m.name} {m.description}".lower()))), m) for m in free]
        best = max(scored, key=lambda pair: pair[0], default=None)
        return best[1] if best is not None and best[0] > 0 else None

    async def _write_missing(
        self, roles: Sequence[Role], filled: list[tuple[Role, AgentProfile, ChatAgent | None, CastRecord] | None]
    ) -> None:
        """Writes the profiles of all roles that nobody fits, in one call, and keeps them in the user's library."""
        gaps = [position for position, entry in enumerate(filled) if entry is None]
        if not gaps:
            return
        listing = "\n".join(f"{number}. {roles[gap].text}" for number, gap in enumerate(gaps, start=1))
        prompt = load_prompt("write_experts", roles=listing)
        fallback = _WrittenExperts(experts=[])
        decision = await decide(
            self.clients("writer"),
            [UserMessage(content=prompt, source="user")],
            _WrittenExperts,
            fallback=fallback,
            max_tokens=250 * len(gaps) + 100,
        )
        written = decision.value.experts
        for number, gap in enumerate(gaps):
            role = roles[gap]
            draft = written[number] if number < len(written) else None
            profile = _written_profile(role, draft)
            reason = "written: nobody in the library fits" if draft else "made from the role: the writer gave nothing"
            if draft and self.config.library.keep_written and self.config.library.enabled:
                profile = await self.library.keep(profile)
            filled[gap] = (role, profile, None, CastRecord(role=role.text, chosen=profile.name, reason=reason))

    async def _tools(self, profile: AgentProfile, subtask: Subtask) -> tuple[ToolSpec, ...]:
        """The tools of a seat: those its profile names and those that fit the part, best first, few."""
        settings = self.config.tools
        if not settings.enabled or settings.top_k == 0 or subtask.method == "code":
            return ()
        if self.specs("expert").strength == "small":
            # A small model writes programs better than tool calls, and each tool in the prompt costs it attention.
            return ()
        named = [tool for tool in (self.library.tool(name) for name in profile.tools) if not tool.missing()]
        hits = await self.library.search_tools(profile.tools_query or subtask.goal, settings.top_k)
        found = [hit.item for hit in hits]
        return tuple({tool.name: tool for tool in [*named, *found]}.values())[: settings.top_k + len(named)]


def fingerprint(subtask: Subtask) -> str:
    """What a team was asked for: equal for subtasks that need the same experts, different for others."""
    return "|".join([subtask.method, *(role.text.casefold() for role in subtask.roles)])


def _unique(name: str, taken: Sequence[str]) -> str:
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name}_{number}"
        number += 1
    return unique


def _identifier(title: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:48]
    return name if name and name[0].isalpha() else f"expert_{name}".strip("_")


def _written_profile(role: Role, draft: _WrittenExpert | None) -> AgentProfile:
    return AgentProfile(
        name=_identifier(role.title),
        title=role.title,
        domain="written",
        description=draft.description if draft else role.text,
        instructions=draft.instructions if draft else f"You are responsible for this: {role.description}",
        origin="written",
    )


def _profile_of(agent: ChatAgent) -> AgentProfile:
    return AgentProfile(
        name=agent.name,
        title=agent.name.replace("_", " "),
        domain="user",
        description=agent.description,
        instructions=agent.description,
        origin="user",
    )
