"""The user's own AutoGen agents and teams as members of the Captain's teams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import ChatAgent, Response, TaskResult, Team
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StopMessage, TextMessage
from autogen_core import CancellationToken

from captain.chat import EXECUTOR, USER, heard
from captain.errors import CaptainError, ConfigError


@dataclass
class Fault:
    """Where an expert leaves the error that ended its turn, so that the team's caller can raise it unharmed.

    AutoGen turns an exception inside a group chat into a RuntimeError that holds only its text.
    """

    error: CaptainError | None = None


class GuardedMember(BaseChatAgent):
    """A seated agent that is not ours: an error that it raises ends its chat by name, not by a broken team."""

    def __init__(self, agent: ChatAgent, fault: Fault) -> None:
        super().__init__(agent.name, agent.description)
        self._agent = agent
        self._fault = fault

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Those of the agent, and the one that tells of its failure."""
        return (*self._agent.produced_message_types, StopMessage)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Takes the turn."""
        async for item in self.on_messages_stream(messages, cancellation_token):
            if isinstance(item, Response):
                return item
        raise RuntimeError(f"the member {self.name!r} gave no response")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Takes the turn and shows what happens in it; takes none once the chat has failed."""
        if self._fault.error is not None:
            yield Response(chat_message=StopMessage(content=f"stopped: {self._fault.error}", source=self.name))
            return
        try:
            async for item in self._agent.on_messages_stream([heard(m) for m in messages], cancellation_token):
                yield item
        except Exception as error:  # the agent is the user's: it may raise anything
            self._fault.error = error if isinstance(error, CaptainError) else _named(self.name, error)
            yield Response(chat_message=StopMessage(content=f"stopped: {self._fault.error}", source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Makes the agent forget."""
        await self._agent.on_reset(cancellation_token)

    async def save_state(self) -> Mapping[str, Any]:
        """The agent's state."""
        return await self._agent.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Gives the agent a state that was saved."""
        await self._agent.load_state(state)


def _named(member: str, error: Exception) -> CaptainError:
    named = CaptainError(f"the member {member!r} failed: {type(error).__name__}: {error}")
    named.__cause__ = error
    return named


class TeamMember(BaseChatAgent):
    """A whole AutoGen team as one member: it hears what is new, talks among itself, and its last words count.

    AutoGen takes a team as a participant as it is, but then each message keeps the name of whoever spoke inside, so
    nobody outside could tell whose turn it was.
    """

    def __init__(self, team: Team) -> None:
        super().__init__(team.name, team.description)
        self._team = team
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Always plain text."""
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Takes the turn."""
        async for item in self.on_messages_stream(messages, cancellation_token):
            if isinstance(item, Response):
                return item
        raise RuntimeError(f"the team {self.name!r} gave no response")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Takes the turn and shows what is said inside."""
        said = ""
        stream = self._team.run_stream(
            task=list(messages) or None, cancellation_token=cancellation_token, output_task_messages=False
        )
        async for item in stream:
            if isinstance(item, TaskResult):
                continue
            if isinstance(item, BaseChatMessage):
                said = item.to_text()
            yield item
        yield Response(chat_message=TextMessage(content=said, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Makes the team forget.

        Raises:
            ConfigError: the team has talked in another event loop; AutoGen teams stay in their first.
        """
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise ConfigError(
                f"the member {self.name!r} is an AutoGen team, which works in one event loop only; "
                "solve all tasks with solve_async in one loop"
            )
        self._loop = loop
        await self._team.reset()


def as_members(given: Sequence[ChatAgent | Team]) -> tuple[ChatAgent, ...]:
    """Gives agents and teams the one form in which they can be seated.

    Raises:
        ConfigError: something given is neither, or a name is taken.
    """
    members: list[ChatAgent] = []
    for one in given:
        if not isinstance(one, ChatAgent | Team):
            raise ConfigError(f"a member is an AutoGen agent or team, not {type(one).__name__!r}")
        if one.name in (EXECUTOR, USER):
            raise ConfigError(f"the member name {one.name!r} is taken by the framework; choose another")
        if one.name in [member.name for member in members]:
            raise ConfigError(f"two members are called {one.name!r}; give each a name of its own")
        members.append(TeamMember(one) if isinstance(one, Team) else one)
    return tuple(members)
