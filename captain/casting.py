"""Casting: which expert takes which role. Found by meaning, chosen by rule or by number, written when missing."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autogen_agentchat.base import ChatAgent
from autogen_core.models import ChatCompletionClient, UserMessage
from pydantic import BaseModel

from captain.chat import EXECUTOR, USER
from captain.config import CaptainConfig, ModelSpec
from captain.config import Role as ModelRole
from captain.decide import decide
from captain.durable.branches import below, current_branch, on_branch
from captain.durable.reading import on_record
from captain.durable.recording import Recording
from captain.factory_seats import FactorySeats
from captain.library import AgentProfile, Hit, Library
from captain.planning import Role, Subtask
from captain.prompts import load_prompt
from captain.results import Record
from captain.seating import Seat
from captain.team_record import describe_seat, seat_from
from captain.tools import ToolSpec
from captain.trust import as_data, with_note
from captain.writing import Writer, unique_name

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


class _Choices(BaseModel):
    choices: list[int]


@dataclass
class _Place:
    """A role on its way to being filled."""

    role: Role
    hits: tuple[Hit[AgentProfile], ...] = ()
    profile: AgentProfile | None = None
    agent: ChatAgent | None = None
    reason: str = ""

    @property
    def record(self) -> CastRecord:
        """How the role was filled."""
        assert self.profile is not None
        candidates = tuple(
            Candidate(name=h.item.name, score=round(h.score, 4), dense=round(h.dense, 4), lexical=round(h.lexical, 4))
            for h in self.hits
        )
        return CastRecord(role=self.role.text, chosen=self.profile.name, reason=self.reason, candidates=candidates)


@dataclass
class Casting:
    """Fills roles from the user's own members, the library and, where both fail, by writing.

    Args:
        clients: gives the model client of a role of the framework (`selector`, `writer`).
        specs: gives the specification behind such a client.
        recording: the record of the run.
        members: the user's own AutoGen agents; they come before the library.
        cache: teams of earlier subtasks, by what they were asked for.
        factories: makes the experts of the kind `factory`.
        run: the name of the run, which written experts keep.
        tainted: whether untrusted text may have come into the plan; experts written for it are not kept.
    """

    config: CaptainConfig
    library: Library
    clients: Callable[[ModelRole], ChatCompletionClient]
    specs: Callable[[ModelRole], ModelSpec]
    recording: Recording
    members: Sequence[ChatAgent] = ()
    cache: dict[str, Cast] = field(default_factory=dict)
    factories: FactorySeats | None = None
    run: str = ""
    tainted: Callable[[], bool] = lambda: False
    branch: str = field(default_factory=current_branch)
    _known: set[str] = field(default_factory=set)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def cast(self, subtask: Subtask, *, without: Sequence[str] = ()) -> Cast:
        """Seats a team for a subtask; `without` names experts who failed at it."""
        key = "static" if self.config.team.mode == "static" else fingerprint(subtask)
        # Subtasks that ask for the same team at the same time wait for the one cast, instead of paying for their own.
        async with self._locks.setdefault(key, asyncio.Lock()):
            if without or key not in self._known:
                # Whichever subtask comes first pays: the steps belong to the team, not to that subtask.
                with on_branch(below(self.branch, f"cast-{_short_hash([key, *without])}")):
                    self.cache[key] = await self._recorded(key, subtask, without)
                self._known.add(key)
            cast = self.cache[key]
        if self.factories is None:
            return cast

        # What is kept is who sits where; experts that a function makes are made for each subtask anew.
        async def recast(role: Role, out: Sequence[str], names: Sequence[str]) -> Cast:
            return await self._fill([_Place(role)], subtask, out, names)

        return await self.factories.fill(cast, subtask, without=without, recast=recast)

    async def _recorded(self, key: str, subtask: Subtask, without: Sequence[str]) -> Cast:
        """The team on record, the one that an earlier task was given, or a new one."""
        if self._gives_tools(subtask):
            await self.library.list_servers()  # a team on record may have their tools
        identity = self.recording.identify("team", {"key": key, "without": list(without)})
        entry = self.recording.find(identity)
        if entry is not None:
            tool = self.library.tool
            with on_record("team"):
                seats = tuple(seat_from(data, members=self.members, tool=tool) for data in entry["seats"])
                records = tuple(CastRecord.model_validate(data) for data in entry["records"])
                if len(records) != len(seats):
                    raise ValueError("seats and their records differ in number")
                return Cast(seats, records)
        cast = None if without else self.cache.get(key)
        cast = cast or await self._cast(subtask, without)
        seated = [describe_seat(seat) for seat in cast.seats]
        self.recording.write_end(identity, seats=seated, records=cast.records)
        return cast

    async def _cast(self, subtask: Subtask, without: Sequence[str]) -> Cast:
        return await self._fill([_Place(role) for role in self._roles(subtask)], subtask, without)

    async def _fill(
        self, places: list[_Place], subtask: Subtask, without: Sequence[str], names: Sequence[str] = ()
    ) -> Cast:
        """Fills places; `names` are taken by members who sit already."""
        taken = list(without)
        for place in places:
            await self._look_up(place, subtask.goal, taken)
            if place.profile is not None:
                taken.append(place.profile.name)
        await self._choose(places, subtask, taken)
        # Nobody is written just to recompute: the team is sound without one more who does.
        places = [place for place in places if place.profile is not None or not place.role.independent]
        await self._write_missing([place for place in places if place.profile is None], taken)
        seats: list[Seat] = []
        records: list[CastRecord] = []
        for place in places:
            assert place.profile is not None
            tools = await self._tools(place.profile, subtask) if place.agent is None else ()
            name = unique_name(place.profile.name, [EXECUTOR, USER, *names, *(seat.name for seat in seats)])
            seats.append(Seat(name, place.role, place.profile, tools, place.agent))
            records.append(place.record.model_copy(update={"tools": tuple(tool.name for tool in tools)}))
        return Cast(tuple(seats), tuple(records))

    def _roles(self, subtask: Subtask) -> list[Role]:
        """The planned roles, and for a computed answer those who recompute it blind."""
        team = self.config.team
        roles = list(subtask.roles[: team.max_experts])
        small = self.specs("expert").strength == "small"
        if subtask.method != "compute" or not team.cross_check or not self.config.execution.enabled:
            return roles[:1] if small else roles
        if not small:
            return [*roles, CHECKER]
        # A small model gains nothing from talk: its members work apart, and their results are compared.
        others = [role.model_copy(update={"independent": True}) for role in [*roles[1:], roles[0]]]
        return [roles[0], *[CHECKER, *others][: team.max_samples - 1]]

    async def _search(self, text: str, taken: Sequence[str]) -> list[Hit[AgentProfile]]:
        return [hit for hit in await self.library.search_experts(text) if hit.item.name not in taken]

    async def _look_up(self, place: _Place, goal: str, taken: Sequence[str]) -> None:
        """Fills a place by rule: the user's own member, a clear lead, an equal title. Else leaves its candidates."""
        own = self._own_member(place.role, taken)
        if own is not None:
            place.agent, place.profile, place.reason = own, _profile_of(own), "a member given by the user"
            return
        if not self.config.library.enabled:
            return
        hits = await self._search(place.role.text, taken)
        if not hits:
            # A role may be named too oddly to be found; what the part is about often finds its expert.
            hits = await self._search(goal[:500], taken)
        place.hits = tuple(hits)
        if not hits:
            return
        lead = hits[0].score - max((hit.score for hit in hits[1:]), default=hits[0].score - 1)
        wanted = _words(place.role.title)
        named = [hit for hit in hits if wanted and wanted in (_words(hit.item.title), _words(hit.item.name))]
        if named:
            place.profile, place.reason = named[0].item, "has the title that was asked for"
        elif lead >= self.config.library.margin or place.role.independent:
            place.profile, place.reason = hits[0].item, f"nearest in meaning, leads by {lead:.3f}"
        elif self.specs("selector").strength == "small":
            place.profile, place.reason = hits[0].item, "nearest in meaning; small models choose worse than the index"

    async def _choose(self, places: Sequence[_Place], subtask: Subtask, taken: list[str]) -> None:
        """Lets the selector choose, or abstain, for all places that no rule filled: one call per team."""
        open_places = [place for place in places if place.profile is None and place.hits]
        if not open_places:
            return
        listing = "\n\n".join(
            f"Role {number}: {place.role.text}\n"
            + "\n".join(f"  {n}. {_offer(h.item)}" for n, h in enumerate(place.hits, start=1))
            for number, place in enumerate(open_places, start=1)
        )
        prompt = load_prompt("choose_experts", goal=subtask.goal[:600], roles=listing)
        fallback = _Choices(choices=[1] * len(open_places))
        decision = await decide(
            self.clients("selector"),
            [UserMessage(content=with_note(prompt), source="user")],
            _Choices,
            fallback=fallback,
        )
        for place, number in zip(open_places, decision.value.choices, strict=False):
            if not 0 < number <= len(place.hits) or place.hits[number - 1].item.name in taken:
                continue
            place.profile = place.hits[number - 1].item
            place.reason = "nearest in meaning; no usable choice" if decision.how == "fallback" else "chosen by a model"
            taken.append(place.profile.name)

    def _own_member(self, role: Role, taken: Sequence[str]) -> ChatAgent | None:
        free = [member for member in self.members if member.name not in taken]
        words = set(re.findall(r"\w{4,}", role.text.lower()))
        scored = [(len(words & set(re.findall(r"\w{4,}", f"{m.name} {m.description}".lower()))), m) for m in free]
        best = max(scored, key=lambda pair: pair[0], default=None)
        return best[1] if best is not None and best[0] > 0 else None

    async def _write_missing(self, gaps: Sequence[_Place], taken: Sequence[str]) -> None:
        """Writes the experts for all roles that nobody fits, in one call, and keeps them in the user's library."""
        if not gaps:
            return
        config = self.config
        if self.tainted():  # what a stranger may have had a say in must not serve in later tasks
            library = config.library.model_copy(update={"keep_written": False})
            config = config.model_copy(update={"library": library})
        writer = Writer(config, self.library, self.clients("writer"), spec=self.specs("writer"), run=self.run)
        written = await writer.write([gap.role for gap in gaps], taken)
        for gap, new in zip(gaps, written, strict=True):
            gap.profile, gap.reason = new.profile, new.reason

    def _gives_tools(self, subtask: Subtask) -> bool:
        settings = self.config.tools
        # A small model writes programs better than tool calls, and each tool in the prompt costs it attention.
        small = self.specs("expert").strength == "small"
        return settings.enabled and settings.top_k > 0 and subtask.method != "code" and not small

    async def _tools(self, profile: AgentProfile, subtask: Subtask) -> tuple[ToolSpec, ...]:
        """The tools of a seat: those its profile names and those that fit the part, best first, few."""
        if not self._gives_tools(subtask):
            return ()
        settings = self.config.tools
        named = self.library.named_tools(profile.tools)
        hits = await self.library.search_tools(profile.tools_query or subtask.goal, settings.top_k)
        found = [hit.item for hit in hits]
        return tuple({tool.name: tool for tool in [*named, *found]}.values())[: settings.top_k + len(named)]


def _offer(profile: AgentProfile) -> str:
    """What the selector is told of an expert; a stranger's words as data."""
    return as_data(profile.brief(), "a stranger") if profile.origin == "foreign" else profile.brief()


def _words(text: str) -> list[str]:
    """What a title says, however it is spelt: capitals, blanks, quotes and underscores do not count."""
    return re.findall(r"[^\W_]+", text.casefold())


def _short_hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def fingerprint(subtask: Subtask) -> str:
    """What a team was asked for: equal for subtasks that need the same experts, different for others."""
    return "|".join([subtask.method, *(role.text.casefold() for role in subtask.roles)])


def _profile_of(agent: ChatAgent) -> AgentProfile:
    return AgentProfile(
        name=agent.name,
        title=agent.name.replace("_", " "),
        domain="user",
        description=agent.description,
        instructions=agent.description,
        origin="user",
    )
