"""Test models behind AutoGen's client interface.

AutoGen's own replay client does not record streamed calls, counts no tokens of calls, cannot raise a scripted error and
ends with a `ValueError`; a strict script needs all of these.
"""

from __future__ import annotations

import inspect
import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from autogen_core import CancellationToken
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from captain.testing.replies import Reply, ReplyLike, ScriptExhausted, estimate_tokens, to_reply

ToolChoice = Tool | Literal["auto", "required", "none"]


@dataclass(frozen=True)
class RecordedCall:
    """One call that a test model received."""

    messages: tuple[LLMMessage, ...]
    tools: tuple[Tool | ToolSchema, ...] = ()
    tool_choice: ToolChoice = "auto"
    json_output: bool | type[BaseModel] | None = None
    extra_create_args: Mapping[str, Any] = field(default_factory=dict)
    streamed: bool = False

    @property
    def text(self) -> str:
        """All that the model was given to read, one message after the other."""
        return "\n".join(message_text(message) for message in self.messages)


class RecordingModel(ChatCompletionClient):
    """A model client that records each call and counts usage; subclasses say what it answers.

    Attributes:
        calls: Each call in order, failed ones included.
    """

    component_type = "captain_test_model"

    def __init__(self, *, model_info: ModelInfo | None = None, context_window: int = 32768) -> None:
        self.calls: list[RecordedCall] = []
        self._context_window = context_window
        self._model_info = model_info or ModelInfo(
            vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True
        )
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self._total = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @abstractmethod
    async def answer(self, call: RecordedCall) -> ReplyLike:
        """Gives the reply to a call, or raises what the call fails with."""

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """Records the call and gives the reply."""
        call = RecordedCall(
            tuple(messages), tuple(tools), tool_choice, json_output, dict(extra_create_args), streamed=False
        )
        return await self._respond(call)

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Records the call, gives the text word by word and then the whole reply."""
        call = RecordedCall(
            tuple(messages), tuple(tools), tool_choice, json_output, dict(extra_create_args), streamed=True
        )
        result = await self._respond(call)
        if isinstance(result.content, str):
            for piece in split_words(result.content):
                yield piece
        yield result

    async def _respond(self, call: RecordedCall) -> CreateResult:
        self.calls.append(call)
        reply = to_reply(await self.answer(call))
        prompt_tokens = reply.prompt_tokens
        if prompt_tokens is None:
            prompt_tokens = self.count_tokens(call.messages, tools=call.tools)
        self._usage = RequestUsage(prompt_tokens, reply.estimated_completion_tokens())
        self._total = RequestUsage(
            self._total.prompt_tokens + self._usage.prompt_tokens,
            self._total.completion_tokens + self._usage.completion_tokens,
        )
        # Like AutoGen's OpenAI client: text beside calls is a thought.
        thought = reply.thought if reply.thought is not None or not reply.tool_calls else (reply.text or None)
        return CreateResult(
            finish_reason=reply.finish,
            content=list(reply.tool_calls) if reply.tool_calls else reply.text,
            usage=self._usage,
            cached=False,
            thought=thought,
        )

    async def close(self) -> None:
        """Does nothing: there is no connection."""

    def actual_usage(self) -> RequestUsage:
        """Gives the usage of the last call."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """Gives the usage of all calls."""
        return self._total

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Estimates the prompt's tokens: four characters each, four more for each message."""
        schemas = [tool.schema if isinstance(tool, Tool) else tool for tool in tools]
        in_tools = estimate_tokens(json.dumps(schemas)) if schemas else 0
        return in_tools + sum(4 + estimate_tokens(message_text(message)) for message in messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Gives what the context window leaves for the reply."""
        return max(0, self._context_window - self.count_tokens(messages, tools=tools))

    @property
    def capabilities(self) -> ModelInfo:
        """The same as `model_info`."""
        return self._model_info

    @property
    def model_info(self) -> ModelInfo:
        """What the model says it can do."""
        return self._model_info


class ScriptedModel(RecordingModel):
    """A model that gives fixed replies in order, strictly.

    Args:
        replies: Each a text, a list of `FunctionCall`, a `Reply`, or an exception to raise.
        model_info: What the model claims to support; everything but vision when absent.
        context_window: In tokens.

    Example:
        >>> model = ScriptedModel(["hello", ConnectionError("gone")])
        >>> # ... run the code under test with `model` ...
        >>> model.assert_complete()  # doctest: +SKIP
    """

    def __init__(
        self,
        replies: Sequence[ReplyLike | Exception],
        *,
        model_info: ModelInfo | None = None,
        context_window: int = 32768,
    ) -> None:
        super().__init__(model_info=model_info, context_window=context_window)
        self._replies = list(replies)
        self._next = 0

    async def answer(self, call: RecordedCall) -> ReplyLike:
        """Gives the next reply.

        Raises:
            ScriptExhausted: The script has ended.
        """
        if self._next >= len(self._replies):
            error = ScriptExhausted(f"the script has {len(self._replies)} replies, one more was asked for")
            error.add_note(f"asked: {message_text(call.messages[-1])[:500] if call.messages else ''}")
            raise error
        reply = self._replies[self._next]
        self._next += 1
        if isinstance(reply, Exception):
            raise reply
        return reply

    def assert_complete(self) -> None:
        """Fails unless every reply was used.

        Raises:
            AssertionError: Replies are left over.
        """
        left = len(self._replies) - self._next
        if left:
            raise AssertionError(f"{left} of {len(self._replies)} replies unused, next: {self._replies[self._next]!r}")


class FunctionModel(RecordingModel):
    """A model that is a function of the messages, and of the tools where it takes a second argument.

    Args:
        function: `function(messages)` or `function(messages, tools)`, sync or async, gives a text, a list of
            `FunctionCall` or a `Reply`, or raises.
        model_info: What the model claims to support; everything but vision when absent.
        context_window: In tokens.
    """

    def __init__(
        self,
        function: Callable[..., ReplyLike | Awaitable[ReplyLike]],
        *,
        model_info: ModelInfo | None = None,
        context_window: int = 32768,
    ) -> None:
        super().__init__(model_info=model_info, context_window=context_window)
        self._function = function
        self._takes_tools = takes_two(function)

    async def answer(self, call: RecordedCall) -> ReplyLike:
        """Gives what the function gives."""
        arguments = (call.messages, call.tools) if self._takes_tools else (call.messages,)
        reply = self._function(*arguments)
        return await reply if inspect.isawaitable(reply) else reply


def takes_two(function: Callable[..., Any]) -> bool:
    """Says whether a function takes a second positional argument."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Parameter.VAR_POSITIONAL in kinds or sum(kind in positional for kind in kinds) >= 2


def message_text(message: LLMMessage) -> str:
    """Gives what a message says as plain text: content, calls with their arguments, results."""
    if isinstance(message, FunctionExecutionResultMessage):
        return "\n".join(result.content for result in message.content)
    if isinstance(message.content, str):
        return message.content
    if isinstance(message, AssistantMessage):
        calls = [f"{call.name}({call.arguments})" for call in message.content if not isinstance(call, str)]
        return "\n".join([message.thought or "", *calls]).strip()
    return "\n".join(part if isinstance(part, str) else "[image]" for part in message.content)


def split_words(text: str) -> list[str]:
    """Splits a text into pieces, each a word with the white space after it, that join to the text."""
    pieces: list[str] = []
    start = 0
    for index in range(1, len(text)):
        if text[index - 1].isspace() and not text[index].isspace():
            pieces.append(text[start:index])
            start = index
    return [*pieces, text[start:]] if text else []


__all__ = ["FunctionModel", "RecordedCall", "RecordingModel", "Reply", "ScriptedModel"]
