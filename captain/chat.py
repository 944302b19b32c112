"""Reading a group chat: what was run, called and proposed so far. Derived from the messages, no state of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
)
from autogen_core.code_executor import CodeBlock

from captain.decide.reading import read_code_blocks, read_final_answer
from captain.evidence import find_passage, largest_agreement, printed_constants
from captain.trust import as_data
from captain.wanted import Wanted

Basis = Literal["examples", "executed", "tool", "said"]
Message = BaseAgentEvent | BaseChatMessage
EXECUTOR = "executor"
"""The name under which programs report their output."""
USER = "user"
"""The name under which the Captain opens a chat and sends it back to work."""


@dataclass(frozen=True)
class ProgramRun:
    """A program that was run: who wrote it, what came out, and how the task's examples fared."""

    author: str
    code: str
    output: str
    ok: bool
    examples_failed: str = ""
    """Examples of the task that do not hold, in words."""
    examples_held: int = 0
    examples_total: int = 0

    @property
    def computed(self) -> str:
        """What it printed, without the lines that its source prints as constants."""
        constants = printed_constants(self.code)
        return "\n".join(line for line in self.output.splitlines() if line.strip() not in constants)


@dataclass(frozen=True)
class ToolUse:
    """A tool call and its result."""

    member: str
    tool: str
    arguments: str
    result: str
    ok: bool


@dataclass(frozen=True)
class Proposal:
    """An answer that a member stands for, and what it rests on."""

    member: str
    answer: str
    basis: Basis
    code: str = ""


@dataclass
class ChatState:
    """What a thread amounts to. Runs and tool uses are of the whole thread, the rest of its last round."""

    runs: list[ProgramRun] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)
    proposals: dict[str, Proposal] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    idle: dict[str, int] = field(default_factory=dict)
    """Turns that were empty or repeated the member's turn before, word for word."""
    last: BaseChatMessage | None = None

    def pending_code(self, runs_code: bool) -> bool:
        """Whether the last message holds a program that nobody has run yet."""
        return bool(
            runs_code
            and isinstance(self.last, TextMessage)
            and self.last.source not in (EXECUTOR, USER)
            and not self.idle_now
            and programs_in(self.last.content)
        )

    idle_now: bool = False
    """Whether the last message was empty or a repetition."""

    def agreeing(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """The largest group of proposals that stand behind one answer, its first speaker first."""
        printed = [[run.computed for run in self.runs if run.author == p.member and run.ok] for p in proposals]
        return [proposals[position] for position in largest_agreement([p.answer for p in proposals], printed)]


def text_of(message: BaseChatMessage) -> str:
    """The text of a message, whatever its kind."""
    return message.content if isinstance(message, TextMessage) else message.to_text()


def heard(message: BaseChatMessage) -> BaseChatMessage:
    """A message as other members hear it: one that only repeats what tools returned is data."""
    if not isinstance(message, ToolCallSummaryMessage):
        return message
    return message.model_copy(update={"content": as_data(message.content, f"the tools that {message.source} called")})


def programs_in(text: str) -> list[CodeBlock]:
    """The programs of a message; a fenced piece that is no Python at all but holds an answer is none."""
    return [block for block in read_code_blocks(text) if not re.match(r"\s*(?:FINAL ANSWER:|@\w+\[)", block.code)]


def read_chat(thread: Sequence[Message], members: Collection[str], wanted: Wanted) -> ChatState:
    """Reads a thread from its start.

    Args:
        thread: messages and events in order.
        members: the names of those who take turns.
        wanted: the form of the answer.
    """
    state = ChatState()
    before: dict[str, str] = {}
    for message in thread:
        if isinstance(message, ToolCallRequestEvent | ToolCallExecutionEvent):
            _read_tool(state, message)
        elif isinstance(message, BaseChatMessage):
            if message.source == USER:
                state = ChatState(runs=state.runs, tools=state.tools)
                before = {}
            elif message.source == EXECUTOR:
                _read_output(state, message, wanted)
            elif message.source in members:
                _read_turn(state, message, before, wanted)
            state.last = message
    return state


def _read_tool(state: ChatState, event: ToolCallRequestEvent | ToolCallExecutionEvent) -> None:
    if isinstance(event, ToolCallRequestEvent):
        for call in event.content:
            state.tools.append(ToolUse(event.source, call.name, call.arguments, "", ok=False))
        return
    for result in event.content:
        for position in range(len(state.tools) - 1, -1, -1):
            use = state.tools[position]
            if use.tool == result.name and use.member == event.source and not use.result:
                done = ToolUse(use.member, use.tool, use.arguments, result.content, ok=not result.is_error)
                state.tools[position] = done
                break


def _read_output(state: ChatState, message: BaseChatMessage, wanted: Wanted) -> None:
    meta = message.metadata
    author, text = meta.get("author", ""), meta.get("output", text_of(message))
    run = ProgramRun(
        author=author,
        code=meta.get("code", ""),
        output=text,
        ok=meta.get("exit_code") == "0",
        examples_failed=meta.get("examples_failed", ""),
        examples_held=int(meta.get("examples_held", "0")),
        examples_total=int(meta.get("examples_total", "0")),
    )
    state.runs.append(run)
    complete = run.ok and run.examples_held == run.examples_total and meta.get("short") != "yes"
    if not complete:
        state.failures[author] = state.failures.get(author, 0) + 1
        return
    if wanted.is_program:
        basis: Basis = "examples" if run.examples_total else "executed"
        state.proposals[author] = Proposal(author, run.code, basis, run.code)
        return
    answer = read_final_answer(text) or wanted.find(text)
    promised = meta.get("promised", "")
    if answer is None and promised and find_passage(promised, [text]):
        answer = promised
    if answer is not None:
        proven = find_passage(answer, [run.computed]) or _all_found(answer, [run.computed])
        basis = "executed" if proven else "said"
        state.proposals[author] = Proposal(author, wanted.shape(answer), basis, run.code)


def _read_turn(state: ChatState, message: BaseChatMessage, before: dict[str, str], wanted: Wanted) -> None:
    name, text = message.source, text_of(message)
    state.turns[name] = state.turns.get(name, 0) + 1
    state.idle_now = not text.strip() or before.get(name) == text.strip()
    before[name] = text.strip()
    if state.idle_now:
        state.idle[name] = state.idle.get(name, 0) + 1
        return
    if isinstance(message, ToolCallSummaryMessage) or wanted.is_program:
        return
    answer = read_final_answer(text) or wanted.find(text)
    if answer is None or programs_in(text):
        return
    answer = wanted.shape(answer)
    printed = [run.computed for run in state.runs if run.author == name and run.ok]
    returned = [use.result for use in state.tools if use.member == name and use.ok]
    if find_passage(answer, printed) or _all_found(answer, printed):
        state.proposals[name] = Proposal(name, answer, "executed")
    elif _all_found(answer, returned):
        state.proposals[name] = Proposal(name, answer, "tool")
    else:
        state.proposals[name] = Proposal(name, answer, "said")


def _all_found(answer: str, texts: Sequence[str]) -> bool:
    from captain.evidence import claims_of

    claims = claims_of(answer)
    return bool(claims) and bool(texts) and all(find_passage(claim, texts) for claim in claims)
