"""Seats that a function fills: reads its parameters from the task, calls it, and says why where that fails."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autogen_agentchat.base import ChatAgent
from autogen_core.models import ChatCompletionClient, UserMessage
from typing_extensions import TypedDict

from captain.config import CaptainConfig
from captain.config import Role as ModelRole
from captain.decide import decide
from captain.errors import CaptainError, LimitExceeded
from captain.library import AgentProfile, Library
from captain.library.factories import SeatContext, find_factory
from captain.library.parameters import Scalar, bound_values
from captain.members import as_members
from captain.planning import Role, Subtask
from captain.prompts import load_prompt
from captain.seating import Seat

if TYPE_CHECKING:
    from captain.casting import Cast, CastRecord

Recast = Callable[[Role, Sequence[str], Sequence[str]], Awaitable["Cast"]]
"""Casts a role anew: role, experts who are out, names that are taken -> nobody or one seat."""

_logger = logging.getLogger(__name__)
_SECONDS = 300.0
_CHARS_OF_TASK = 8000
_MOST_REFUSALS = 2
_PLAIN: dict[Literal["string", "integer", "number", "boolean"], type[Scalar]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
}


class SeatRefused(Exception):
    """An expert could not be made; the text says why."""


@dataclass
class FactorySeats:
    """Makes the experts of the kind `factory` for the teams of one run."""

    config: CaptainConfig
    library: Library
    clients: Callable[[ModelRole], ChatCompletionClient]
    workspace: Path
    task: str
    _made: list[ChatAgent] = field(default_factory=list)

    async def fill(self, cast: Cast, subtask: Subtask, *, without: Sequence[str], recast: Recast) -> Cast:
        """A cast in which each factory expert is made for this subtask; who cannot be made is replaced."""
        seats: list[Seat] = []
        records: list[CastRecord] = []
        waiting = [(seat, record, "") for seat, record in zip(cast.seats, cast.records, strict=True)]
        refused: list[str] = []
        while waiting:
            seat, record, why = waiting.pop(0)
            others = [*seats, *(other for other, _, _ in waiting)]
            try:
                if seat.profile.factory is not None and seat.agent is None:
                    seat = await self.make(seat, subtask, [other.name for other in others])
                    record = record.model_copy(update={"tools": ()})
            except SeatRefused as error:
                refused.append(seat.profile.name)
                why = f"{why}; {seat.profile.name} was not seated: {error}"
                out = [*without, *refused, *(other.profile.name for other in others), *self._spent(refused)]
                new = await recast(seat.role, out, [other.name for other in others])
                waiting[:0] = [(s, r, why) for s, r in zip(new.seats, new.records, strict=True)]
                continue
            seats.append(seat)
            records.append(record.model_copy(update={"reason": f"{record.reason}{why}"}))
        return replace(cast, seats=tuple(seats), records=tuple(records))

    def _spent(self, refused: Sequence[str]) -> list[str]:
        """All factory experts, once so many were refused that more of them would only cost calls."""
        experts = self.library.experts() if len(refused) >= _MOST_REFUSALS else []
        return [expert.name for expert in experts if expert.factory is not None]

    async def make(self, seat: Seat, subtask: Subtask, names: Collection[str]) -> Seat:
        """The seat with its agent.

        Args:
            names: The names of the other members.

        Raises:
            SeatRefused: The task gives no fitting parameters, or the function failed.
            LimitExceeded: A limit of the run was reached.
        """
        profile = seat.profile
        try:
            values = await self._values(profile, subtask)
            factory = find_factory(profile, self.config.library.factories)
            source = Path(profile.source) if profile.source and Path(profile.source).is_absolute() else None
            context = SeatContext(
                name=seat.name,
                profile=profile,
                task=self.task,
                part=subtask.goal,
                client=self.clients,
                workspace=self.workspace,
                source=source.parent if source is not None and source.is_file() else source,
                library=self.library,
                config=self.config,
            )
            made = factory(context, **values)
            if inspect.isawaitable(made):
                made = await asyncio.wait_for(made, _SECONDS)
            (agent,) = as_members([made])
        except (LimitExceeded, SeatRefused):
            raise
        except CaptainError as error:
            raise SeatRefused(str(error)) from error
        except Exception as error:  # the function is the user's: it may raise anything
            raise SeatRefused(f"its factory failed: {type(error).__name__}: {error}") from error
        self._made.append(agent)
        if agent.name in names:
            raise SeatRefused(f"its factory gave an agent called {agent.name!r}, as another member is")
        return replace(seat, name=agent.name, agent=agent, tools=())

    async def _values(self, profile: AgentProfile, subtask: Subtask) -> dict[str, Scalar]:
        """The parameters of a call: bound ones, then what the task says, then defaults."""
        bindings = self.config.library.bindings.get(profile.name, {})
        values: dict[str, Any] = bound_values(profile.name, profile.parameters, bindings)
        open_names = [name for name in profile.parameters if name not in values]
        said = await self._read(profile, open_names, subtask) if open_names else {}
        for name in open_names:
            parameter = profile.parameters[name]
            if said.get(name) is not None:
                try:
                    values[name] = parameter.read(name, said[name])
                except ValueError as error:
                    raise SeatRefused(str(error)) from error
            elif parameter.needed:
                raise SeatRefused(f"the task gives no value for its parameter {name!r}")
            elif parameter.default is not None:
                values[name] = parameter.default
        return values

    async def _read(self, profile: AgentProfile, names: Sequence[str], subtask: Subtask) -> dict[str, Any]:
        """What the task says about parameters; one typed step."""
        known = profile.parameters
        # Not a pydantic model: a parameter may have the name of one of its methods.
        typed_dict: Any = TypedDict
        form = typed_dict("Parameters", {name: _PLAIN[known[name].type] | None for name in names}, total=False)
        task = self.task if subtask.goal == self.task else f"{self.task[:_CHARS_OF_TASK]}\n\nPart: {subtask.goal}"
        prompt = load_prompt(
            "fill_parameters",
            parameters="\n".join(f"- {name} ({known[name].type}): {known[name].explained()}" for name in names),
            expert=profile.brief(),
            task=task[: 2 * _CHARS_OF_TASK],
        )
        question, most = [UserMessage(content=prompt, source="user")], 100 + 60 * len(names)
        decision = await decide(self.clients("selector"), question, form, fallback=dict, max_tokens=most)
        return dict(decision.value)

    async def __aenter__(self) -> FactorySeats:
        return self

    async def __aexit__(self, *error: object) -> None:
        """Closes the agents that were made."""
        for agent in self._made:
            try:
                await agent.close()
            except Exception as error:  # the agents are the user's: they may raise anything
                _logger.warning("closing the member %s failed: %s: %s", agent.name, type(error).__name__, error)
        self._made.clear()
