"""Seating an expert: from a profile to an AutoGen agent with its prompt, tools and view of the chat."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autogen_agentchat.base import ChatAgent, Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StopMessage
from autogen_core import CancellationToken
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import BaseTool

from captain.calling import CallingAssistant
from captain.chat import EXECUTOR, USER, heard
from captain.config import Role as ModelRole
from captain.config import TeamConfig
from captain.errors import CaptainError
from captain.library import AgentProfile
from captain.members import Fault, GuardedMember
from captain.models import MeteredClient
from captain.planning import Role
from captain.prompts import load_prompt
from captain.tools import ToolSpec
from captain.trust import NOTE, as_data, marks

_CHARS_PER_TOKEN = 3.2


@dataclass(frozen=True)
class Seat:
    """A place in a team with the expert who holds it."""

    name: str
    """Unique in the team; a valid name for endpoints."""
    role: Role
    profile: AgentProfile
    tools: tuple[ToolSpec, ...] = ()
    agent: ChatAgent | None = None
    """The user's own AutoGen agent; when absent one is made from the profile."""

    @property
    def independent(self) -> bool:
        """Whether this expert works blind to the others until every one has answered."""
        return self.role.independent


class SeatView(ChatCompletionContext):
    """What one expert sees: shared rules and task first, then itself, then as much of the chat as fits.

    The order lets endpoints with a prefix cache reuse rules and task for each member of each team. While a seat is
    blind, it sees only its own messages and what its own programs printed.
    """

    def __init__(
        self, rules: str, head: str, *, owner: str, budget: int, order: str, blind: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._rules = rules
        self._head = head
        self._owner = owner
        self._budget = int(budget * _CHARS_PER_TOKEN)
        self._order = order
        self._blind = blind

    async def get_messages(self) -> list[LLMMessage]:
        """Gives the messages for the next model call."""
        opening, rest = self._split()
        system: list[LLMMessage] = [SystemMessage(content=self._rules)]
        if self._order == "profile_first":
            system = [SystemMessage(content=f"{self._head}\n\n{self._rules}")]
        else:
            opening = [*opening[:-1], *_with_head(opening[-1:], self._head)]
        room = self._budget - sum(_size(m) for m in [*system, *opening])
        return [*system, *opening, *_fitting(rest, room)]

    def _split(self) -> tuple[list[LLMMessage], list[LLMMessage]]:
        opening: list[LLMMessage] = []
        rest: list[LLMMessage] = []
        author = ""
        for message in self._messages:
            if isinstance(message, UserMessage):
                if not opening:
                    opening.append(message)
                    continue
                hidden = message.source not in (USER, EXECUTOR) or (
                    message.source == EXECUTOR and author != self._owner
                )
                author = message.source if message.source != EXECUTOR else author
                if hidden and self._blind():
                    continue
                if message.source not in (USER, EXECUTOR):
                    message = UserMessage(content=f"{message.source}: {_text(message)}", source=message.source)
            elif isinstance(message, AssistantMessage):
                author = self._owner
            elif isinstance(message, FunctionExecutionResultMessage):
                message = _as_data(message)
            rest.append(message)
        return opening, rest


def _as_data(message: FunctionExecutionResultMessage) -> FunctionExecutionResultMessage:
    """What tools returned, marked as data for the model; the record keeps it as it is."""
    marked = [
        result.model_copy(update={"content": as_data(result.content, f"the tool {result.name}")})
        for result in message.content
    ]
    return FunctionExecutionResultMessage(content=marked)


def _with_head(opening: list[LLMMessage], head: str) -> list[LLMMessage]:
    return [UserMessage(content=f"{_text(m)}\n\n{head}", source=USER) for m in opening]


def _text(message: LLMMessage) -> str:
    if isinstance(message, FunctionExecutionResultMessage):
        return "\n".join(result.content for result in message.content)
    return message.content if isinstance(message.content, str) else str(message.content)


def _size(message: LLMMessage) -> int:
    return len(_text(message)) + 12


def _fitting(messages: list[LLMMessage], room: int) -> list[LLMMessage]:
    """Keeps the newest messages that fit; a long one is cut in its middle before an old one is dropped."""
    longest = max(room // 3, 400)
    kept: list[LLMMessage] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage | AssistantMessage) and isinstance(message.content, str):
            message = message.model_copy(update={"content": _cut(message.content, longest)})
        room -= _size(message)
        if room < 0 and kept:
            break
        kept.append(message)
    kept.reverse()
    while kept and isinstance(kept[0], FunctionExecutionResultMessage):
        kept.pop(0)  # its call was dropped, and endpoints refuse a result without its call
    return kept


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[... {len(text) - most} characters left out ...]\n{text[-most // 2 :]}"


class Expert(CallingAssistant):
    """An AutoGen assistant whose failures become a message of its team instead of an exception inside AutoGen."""

    def __init__(self, name: str, client: ChatCompletionClient, *, fault: Fault, **settings: Any) -> None:
        super().__init__(name, client, system_message=None, **settings)
        self._fault = fault

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Takes one turn; none once the chat has failed, so that nothing more is paid."""
        if self._fault.error is not None:
            yield Response(chat_message=StopMessage(content=f"stopped: {self._fault.error}", source=self.name))
            return
        try:
            async for item in super().on_messages_stream([heard(m) for m in messages], cancellation_token):
                yield item
        except CaptainError as error:
            self._fault.error = error
            yield Response(chat_message=StopMessage(content=f"stopped: {error}", source=self.name))


@dataclass(frozen=True)
class Table:
    """What the seats of one team share."""

    clients: Callable[[ModelRole], ChatCompletionClient]
    team: TeamConfig
    context_window: int
    reply_tokens: int
    bind: Callable[[ToolSpec], BaseTool[Any, Any]]
    method: str
    runners: frozenset[str]
    """The members whose programs are run."""
    fault: Fault
    blind: Callable[[], bool]
    shown: Callable[[str, str], str] = lambda text, source: text
    """A text from the chat and its source -> the text as the next reader sees it."""
    after_reading: Callable[[], None] = lambda: None
    """To be called when a program was run, which may have read files."""
    untrusted: bool = False
    """Text of others stands in what the team is told."""


def runs_programs(profile: AgentProfile, method: str, *, strength: str) -> bool:
    """Whether an expert's programs are run: everybody's where the part is to be computed or coded, else a coder's.

    A small model that hears of programs writes one for every question, so it does not where nothing is to be computed.
    """
    return method != "recall" or (profile.kind == "coder" and strength != "small")


def seat_agent(seat: Seat, seats: Sequence[Seat], table: Table) -> ChatAgent:
    """Makes the agent of a seat, or takes the one that is there: the user's own or a factory's."""
    if seat.agent is not None:
        return GuardedMember(seat.agent, table.fault)
    runs = seat.name in table.runners
    others = [f"{other.name} ({_title(other.profile)})" for other in seats if other.name != seat.name]
    company = f" Also in the team: {', '.join(others)}." if others and not seat.independent else ""
    head = load_prompt(
        "member_head",
        name=seat.name,
        title=_title(seat.profile),
        instructions=_instructions(seat.profile),
        others=company,
    )
    if runs and table.method == "recall":
        head = f"{head}\n{load_prompt('coder_line')}"
    foreign = seat.profile.origin in ("foreign", "written")
    rules = team_rules(table.method, runs_code=runs)
    if marks() and (table.untrusted or foreign or any(other.tools for other in seats)):
        rules = f"{rules}\n{NOTE}"
    view = SeatView(
        rules,
        head,
        owner=seat.name,
        budget=table.context_window - table.reply_tokens - 200,
        order="shared_first" if foreign else table.team.order,  # what others wrote is never system text
        blind=table.blind if seat.independent else lambda: False,
    )
    client = table.clients(seat.profile.role)
    return Expert(
        seat.name,
        _for_programs(client) if runs and not seat.tools else client,
        fault=table.fault,
        description=seat.profile.description,
        model_context=view,
        tools=[table.bind(tool) for tool in seat.tools] or None,
        max_tool_iterations=table.team.max_tool_rounds,
        reflect_on_tool_use=False,
    )


def _title(profile: AgentProfile) -> str:
    return profile.name.replace("_", " ") if profile.origin == "foreign" else profile.title


def _instructions(profile: AgentProfile) -> str:
    """How the expert works; a stranger's words as data."""
    text = profile.instructions.strip()
    if profile.origin != "foreign" or not marks():
        return text
    return f"A stranger described the work of this role:\n{as_data(text, 'a stranger')}\n"


def _for_programs(client: ChatCompletionClient) -> ChatCompletionClient:
    """A client that stops where a program ends: what a model writes below one that has not run yet is a guess."""
    return client.with_arguments(stop=["```\n"]) if isinstance(client, MeteredClient) else client


def team_rules(method: str, *, runs_code: bool) -> str:
    """The rules that all members share, by what the subtask asks for."""
    if method == "code":
        return load_prompt("code_task_rules")
    rules = "code_rules" if runs_code and method == "compute" else "talk_rules"
    return load_prompt("team_rules", code_rules=load_prompt(rules))
