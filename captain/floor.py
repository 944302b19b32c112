"""Who speaks next, and when a chat is over: rules first, a model only where they do not decide."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from autogen_agentchat.base import TerminationCondition
from autogen_agentchat.messages import StopMessage, ToolCallSummaryMessage

from captain.chat import EXECUTOR, ChatState, Message, Proposal, read_chat, text_of
from captain.config import TeamConfig
from captain.members import Fault
from captain.seating import Seat
from captain.wanted import Wanted


@dataclass
class Floor:
    """The rules of one team. Reads the thread each time; keeps nothing but the thread itself."""

    seats: Sequence[Seat]
    team: TeamConfig
    runners: Collection[str]
    """The members whose programs are run."""
    wanted: Wanted
    fault: Fault
    any_words: bool = False
    """A lone member's words are its answer also without a finish, as nothing is to be computed."""
    thread: list[Message] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The members in their order."""
        return [seat.name for seat in self.seats]

    def state(self) -> ChatState:
        """The thread as it stands."""
        return read_chat(self.thread, self.names, self.wanted)

    def blind(self) -> bool:
        """Whether independent members still work apart: until all of them have proposed or given up."""
        return not self._waiting_done(self.state())

    def _exhausted(self, state: ChatState, name: str) -> bool:
        tries = self.team.max_repairs + 1
        failures = state.failures.get(name, 0)
        repeats = state.idle.get(name, 0)
        return failures >= tries or repeats >= (1 if failures else 2) or state.turns.get(name, 0) > tries + 2

    def _waiting(self, state: ChatState) -> list[str]:
        """Independent members whose answer is still wanted."""
        proposals = list(state.proposals.values())
        agreed = state.agreeing(proposals)
        open_seats = [
            seat.name
            for seat in self.seats
            if seat.independent and seat.name not in state.proposals and not self._exhausted(state, seat.name)
        ]
        settled = self.wanted.is_program and any(p.basis == "examples" for p in proposals)
        if settled or len(agreed) >= 2 or len(proposals) >= self.team.max_samples:
            return []
        return open_seats

    def _waiting_done(self, state: ChatState) -> bool:
        return bool(state.proposals) and not self._waiting(state)

    def stop(self) -> str | None:
        """Why the chat is over, or None."""
        state = self.state()
        if self.fault.error is not None:
            return f"error: {self.fault.error}"
        if self._pending(state):
            return None
        if state.proposals and not self._waiting(state):
            return self._settled(state, list(state.proposals.values()))
        if self.any_words and len(self.seats) == 1 and self._spoke(state):
            return "answered without a finish"
        if sum(state.turns.values()) >= self.team.max_turns:
            return f"limit: {self.team.max_turns} turns"
        if all(self._exhausted(state, name) for name in self.names):
            return "nobody has anything to add"
        return None

    def _pending(self, state: ChatState) -> bool:
        """Whether the last message holds a program that is to be run."""
        return state.pending_code(state.last is not None and state.last.source in self.runners)

    def _spoke(self, state: ChatState) -> bool:
        last = state.last
        said = last is not None and last.source in self.names and not isinstance(last, ToolCallSummaryMessage)
        return said and not state.idle_now

    def _settled(self, state: ChatState, proposals: list[Proposal]) -> str:
        agreed = len(state.agreeing(proposals))
        if len(proposals) == 1:
            return "finished"
        return f"finished: {agreed} of {len(proposals)} agree"

    def next_speaker(self, thread: Sequence[Message]) -> str | None:
        """The next speaker by the rules, or None where a model has to choose."""
        self.thread[:] = thread
        state = self.state()
        last = state.last
        if self._pending(state):
            return EXECUTOR
        author = last.source if last is not None else ""
        if author == EXECUTOR and state.runs:
            author = state.runs[-1].author
        unfinished = author in self.names and author not in state.proposals and not self._exhausted(state, author)
        if unfinished and last is not None and (last.source == EXECUTOR or isinstance(last, ToolCallSummaryMessage)):
            return author
        if state.proposals:
            waiting = self._waiting(state)
            if waiting:
                return author if author in waiting else waiting[0]
        called = self.called()
        if len(called) > 1:
            return None
        return called[0] if called else self._in_turn(state, author)

    def called(self) -> list[str]:
        """The members whom the last speaker addresses by name."""
        last = self.state().last
        if last is None or last.source not in self.names:
            return []
        text = text_of(last)
        return [
            name
            for name in self.names
            if name != last.source
            and re.search(rf"(?:@{re.escape(name)}\b|^\W*{re.escape(name)}\s*[,:])", text, re.M | re.I)
        ]

    def _in_turn(self, state: ChatState, author: str) -> str:
        able = [name for name in self.names if not self._exhausted(state, name)] or self.names
        if author not in self.names:
            return able[0]
        start = self.names.index(author) + 1
        order = self.names[start:] + self.names[:start]
        return next((name for name in order if name in able), able[0])


class FloorTermination(TerminationCondition):
    """AutoGen's view of `Floor.stop`: a stop by a finish, a limit or an error, never by a word."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._stopped = False

    @property
    def terminated(self) -> bool:
        """Whether the chat has ended."""
        return self._stopped

    async def __call__(self, messages: Sequence[Message]) -> StopMessage | None:
        """Adds what is new to the thread and asks the rules."""
        self._floor.thread.extend(messages)
        reason = self._floor.stop()
        if reason is None:
            return None
        self._stopped = True
        return StopMessage(content=reason, source="floor")

    async def reset(self) -> None:
        """Makes the condition ready for the next round; the thread stays."""
        self._stopped = False
