"""One team at work: an AutoGen group chat of seated experts and, when code may run, the executor."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autogen_agentchat.base import ChatAgent, TaskResult
from autogen_agentchat.base import Team as AutoGenTeam
from autogen_agentchat.messages import BaseChatMessage, TextMessage, ToolCallSummaryMessage
from autogen_agentchat.teams import SelectorGroupChat
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeExecutor
from autogen_core.models import ChatCompletionClient

from captain.briefing import Brief
from captain.chat import USER, ChatState, Message, Proposal
from captain.decide import choose
from captain.errors import CaptainError
from captain.examples import ExampleHarness, find_examples
from captain.floor import Floor, FloorTermination
from captain.members import GuardedMember
from captain.programs import ProgramRunner
from captain.prompts import load_prompt
from captain.seating import Seat, Table, seat_agent
from captain.trust import as_data, with_note

_SECONDS_TO_STOP = 10.0
_CHARS_OF_HISTORY = 4000
_STRENGTH = {"examples": 3, "executed": 2, "tool": 2, "said": 1}


def _is_no_interruption(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


# AutoGen logs a cancelled turn as an error with its whole traceback.
logging.getLogger("autogen_core").addFilter(_is_no_interruption)


@dataclass(frozen=True)
class ChatOutcome:
    """What one round of a team came to."""

    answer: str
    proposals: tuple[Proposal, ...]
    agreeing: tuple[str, ...]
    """The members who, each for itself, came to the answer."""
    stop_reason: str
    state: ChatState
    thread: tuple[Message, ...]


@dataclass
class Team:
    """A team that can be sent to work several times in a row; its members remember earlier rounds."""

    seats: Sequence[Seat]
    table: Table
    brief: Brief
    floor: Floor
    executor: CodeExecutor | None
    speaker: ChatCompletionClient
    listener: Callable[[Message], None] = lambda message: None
    notice: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        entry_point = self.floor.wanted.entry_point
        examples = find_examples(self.brief.task, entry_point) if entry_point else ()
        self._harness = ExampleHarness(examples) if examples else None
        self._chat = self._assemble()

    def _assemble(self) -> SelectorGroupChat | None:
        members: list[ChatAgent | AutoGenTeam] = [seat_agent(seat, self.seats, self.table) for seat in self.seats]
        if self.executor is not None:
            members.append(GuardedMember(self._runner(self.executor), self.floor.fault))
        self._solo = members[0] if len(members) == 1 else None
        if self._solo is not None:
            return None
        return SelectorGroupChat(
            members,
            model_client=self.speaker,
            selector_func=self._next_speaker,
            termination_condition=FloorTermination(self.floor),
        )

    async def _next_speaker(self, thread: Sequence[Message]) -> str:
        """The next speaker by the rules, or by a model where several were addressed."""
        name = self.floor.next_speaker(thread)
        if name is not None:
            return name
        called = self.floor.called()
        described = {seat.name: f"{seat.name}: {_described(seat)}" for seat in self.seats}
        said = [f"{m.source}: {m.to_text()}" for m in thread if isinstance(m, BaseChatMessage) and m.source != USER]
        history = self.table.shown("\n\n".join(said)[-_CHARS_OF_HISTORY:], "the chat")
        question = with_note(load_prompt("select_speaker", history=history))
        try:
            options = [described[name] for name in called]
            choice = await choose(self.speaker, question, options, permutations=1, abstain=False)
        except CaptainError as error:
            self.floor.fault.error = error  # raised in here it would leave AutoGen as a RuntimeError
            return called[0]
        if choice.index is None:
            self.notice(f"no clear choice among {', '.join(called)}: {called[0]} speaks")
        return called[choice.index or 0]

    def _runner(self, executor: CodeExecutor) -> ProgramRunner:
        return ProgramRunner(
            executor,
            wanted=self.floor.wanted,
            columns=self.brief.columns,
            shown=self.table.shown,
            after_reading=self.table.after_reading,
            harness=self._harness,
        )

    async def run(self, message: str) -> ChatOutcome:
        """Sends the team to work and gives what it came to.

        Raises:
            CaptainError: what ended a member's turn: a model that failed for good, or a limit of the run.
        """
        stop_reason = await (self._run_solo(message) if self._chat is None else self._run_chat(self._chat, message))
        if self.floor.fault.error is not None:
            raise self.floor.fault.error
        return self._outcome(stop_reason)

    async def _run_chat(self, chat: SelectorGroupChat, message: str) -> str:
        """Runs the chat; when this task is cancelled, so are the model call or the program under way.

        AutoGen's stream, when it is cancelled from outside, waits until its members have ended by themselves.
        """
        token = CancellationToken()
        work = asyncio.create_task(self._follow(chat, message, token))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            token.cancel()
            await asyncio.wait({work}, timeout=_SECONDS_TO_STOP)
            work.cancel()
            raise

    async def _follow(self, chat: SelectorGroupChat, message: str, token: CancellationToken) -> str:
        result: TaskResult | None = None
        async for item in chat.run_stream(task=TextMessage(content=message, source=USER), cancellation_token=token):
            if isinstance(item, TaskResult):
                result = item
            else:
                self.listener(item)
        return (result.stop_reason if result else None) or "stopped"

    async def _run_solo(self, message: str) -> str:
        """The fast path: one expert, nothing to run, so no group chat is needed."""
        opening = TextMessage(content=message, source=USER)
        self.floor.thread.append(opening)
        assert self._solo is not None
        for _ in range(self.table.team.max_repairs + 1):
            async for item in self._solo.run_stream(task=opening, output_task_messages=False):
                if not isinstance(item, TaskResult):
                    self.floor.thread.append(item)
                    self.listener(item)
            state = self.floor.state()
            if state.proposals or self.floor.fault.error or (state.last and not state.idle_now):
                break
            opening = TextMessage(content="Your reply was empty. Answer the task.", source=USER)
        return "finished" if self.floor.state().proposals else "answered without a finish"

    def _outcome(self, stop_reason: str) -> ChatOutcome:
        state = self.floor.state()
        proposals = sorted(
            state.proposals.values(), key=lambda p: (-_STRENGTH[p.basis], self.floor.names.index(p.member))
        )
        group = state.agreeing(proposals)
        answer = group[0].answer if group else self._last_resort(state)
        return ChatOutcome(
            answer=answer,
            proposals=tuple(proposals),
            agreeing=tuple(proposal.member for proposal in group),
            stop_reason=stop_reason,
            state=state,
            thread=tuple(self.floor.thread),
        )

    def _last_resort(self, state: ChatState) -> str:
        """What to answer with when nobody finished: the best program, the last output, the last words."""
        if self.floor.wanted.is_program and state.runs:
            best = max(state.runs, key=lambda run: (run.examples_held, run.ok))
            return best.code
        for run in reversed(state.runs):
            if run.ok and run.output.strip():
                return run.output.strip().splitlines()[-1][:500]
        said = [m for m in self.floor.thread if isinstance(m, BaseChatMessage) and m.source in self.floor.names]
        told = [message for message in said if not _only_errors(message)]
        return text_or_empty(told[-1]) if told else ""


def _described(seat: Seat) -> str:
    """What the choice of a speaker is told of a member; a stranger's words as data."""
    text = seat.profile.description
    return as_data(text, "a stranger") if seat.profile.origin == "foreign" else text


def _only_errors(message: BaseChatMessage) -> bool:
    """Whether a message repeats nothing but the errors of tools: those are no answer."""
    return isinstance(message, ToolCallSummaryMessage) and all(result.is_error for result in message.results)


def text_or_empty(message: BaseChatMessage) -> str:
    """The words of a message, cut to a length that fits a report."""
    return message.to_text().strip()[:2000]
