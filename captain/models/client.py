"""The model client that everything in the framework talks to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from captain.config import ModelSpec
from captain.durable.reading import on_record
from captain.errors import ModelError
from captain.models.calls import CallMemory, CallUsage, Meter, ModelCall, cost, request_hash
from captain.models.failures import EndpointError, RecordedFailure, status_of
from captain.models.preparation import prepare, read_reply
from captain.models.requests import Backend, Reply, Request
from captain.models.retry import with_retries
from captain.models.text_tools import estimate_tokens, message_tokens, tool_schemas
from captain.tracing import span

if TYPE_CHECKING:
    from autogen_core.models import FinishReasons

ToolChoice = Tool | Literal["auto", "required", "none"]
T = TypeVar("T")


@dataclass(frozen=True)
class _Sent(Generic[T]):
    value: T
    seconds: float
    attempts: int


def model_info(spec: ModelSpec) -> ModelInfo:
    """Says in AutoGen's words what a model can do through this client (which emulates tool calls)."""
    return ModelInfo(
        vision=spec.vision,
        function_calling=True,
        json_output=spec.structured != "none",
        structured_output=spec.structured == "json_schema",
        family=ModelFamily.UNKNOWN,
        multiple_system_messages=True,
    )


class MeteredClient(ChatCompletionClient):
    """An AutoGen client that meters, retries, keeps to limits and understands tool calls written as text.

    One client serves one role. It may be used from several event loops and threads.
    """

    def __init__(
        self,
        role: str,
        *,
        spec: ModelSpec,
        backend: Backend,
        meter: Meter,
        observer: Callable[[ModelCall], None] | None = None,
        guard: Callable[[], None] | None = None,
        memory: CallMemory | None = None,
    ) -> None:
        """Wraps a backend.

        Args:
            role: In whose name calls are counted.
            spec: The model; its provider is resolved.
            backend: Sends the requests.
            meter: Counts what is answered.
            observer: Gets the record of each call, answered or failed.
            guard: Called before each request; what it raises stops the call.
            memory: Knows calls that were paid for already.
        """
        self.role = role
        self.spec = spec
        self._backend = backend
        self._meter = meter
        self._observer = observer
        self._guard = guard
        self._memory = memory
        self._info = model_info(spec)
        self._last = RequestUsage(0, 0)
        self._total = RequestUsage(0, 0)
        self._arguments: Mapping[str, Any] = {}

    def with_arguments(self, **arguments: Any) -> MeteredClient:
        """Gives a client that counts with this one and sends `arguments` (such as `stop`) with each request."""
        twin = copy(self)
        twin._arguments = {**self._arguments, **arguments}
        return twin

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """Asks the model; see `ChatCompletionClient.create`.

        Raises:
            ModelError: The endpoint failed for good.
            LimitExceeded: The guard stopped the call (whatever it raises passes as it is).
        """
        schemas = [] if tool_choice == "none" else tool_schemas(tools)
        request = Request(messages, schemas, tool_choice, json_output, {**self._arguments, **(extra_create_args or {})})
        if cancellation_token is None:
            return await self._answer(request)
        task = asyncio.ensure_future(self._answer(request))
        cancellation_token.link_future(task)
        return await task

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Asks the model and yields the whole text as one chunk, then the result.

        A reply can be asked for again, or read as a tool call, only when all of it is there.
        """
        result = await self.create(
            messages,
            tools=tools,
            tool_choice=tool_choice,
            json_output=json_output,
            extra_create_args=extra_create_args,
            cancellation_token=cancellation_token,
        )
        if isinstance(result.content, str) and result.content:
            yield result.content
        yield result

    async def loglikelihood(self, prompt: str, text: str) -> float | None:
        """Scores how likely the model makes `text` after `prompt`.

        Returns:
            The natural logarithm of the probability, added over the tokens of `text`; None where the endpoint cannot.
        """
        if not self.spec.forced_decoding:
            return None
        from captain.models.likelihood import loglikelihood

        async def ask(address: str) -> float:
            return await loglikelihood(address, prompt, text, model=self.spec.model)

        data = {"prompt": prompt, "text": text}
        digest = request_hash(self.spec, messages=(), tools=(), tool_choice="none", arguments=data)
        call, known = self._look_up(ModelCall(self.role, self.spec.name, digest))
        if known is not None:
            with on_record("score"):
                return float(known.text)
        sent = await self._send(call, ask)
        usage = CallUsage(estimate_tokens(prompt), estimate_tokens(text), estimated=True)
        self._record(
            replace(call, usage=usage, seconds=sent.seconds, attempts=sent.attempts),
            {"text": repr(sent.value), "finish_reason": "stop"},
        )
        return sent.value

    async def _answer(self, request: Request) -> CreateResult:
        call, known = self._look_up(ModelCall(self.role, self.spec.name, self._hash(request)))
        if known is not None:
            return _result_of(known)

        async def ask(_: str) -> Reply:
            return await self._ask(request)

        with span("chat", self.spec.model or self.spec.name, self._traced()) as traced:
            sent = await self._send(call, ask)
            traced.set(_answered(sent.value))
        reply = sent.value
        usage = reply.usage or CallUsage(
            self.count_tokens(request.messages, tools=request.tools),
            estimate_tokens(str(reply.result.content)),
            estimated=True,
        )
        counted = RequestUsage(usage.prompt_tokens, usage.completion_tokens)
        result = read_reply(reply.result, request, self.spec).model_copy(update={"usage": counted})
        call = replace(call, usage=usage, seconds=sent.seconds, attempts=sent.attempts)
        self._record(call, _reply_data(result))
        return result

    def _traced(self) -> dict[str, Any]:
        return {
            "gen_ai.provider.name": self.spec.provider,
            "gen_ai.request.model": self.spec.model or self.spec.name,
            "gen_ai.request.temperature": self.spec.temperature,
            "gen_ai.request.max_tokens": self.spec.max_output_tokens,
            "captain.role": self.role,
        }

    def _look_up(self, call: ModelCall) -> tuple[ModelCall, ModelCall | None]:
        """The call with its place in the run, and what is on record of it; that is counted and not paid again."""
        if self._memory is None:
            return call, None
        call = self._memory.name_call(call)
        known = self._memory.recall(call)
        if known is not None:
            if known.error is None:
                self._count(known)
            if self._observer is not None:
                self._observer(known)
            if known.error is not None:
                raise RecordedFailure(known.error, known.status_code)
        return call, known

    async def _ask(self, request: Request) -> Reply:
        """Sends a request; an endpoint that turns out to have a strict chat template gets it folded, once."""
        endpoint = await self._backend.endpoint()
        known = endpoint.strict_roles
        try:
            return await self._backend.send(prepare(request, self.spec, strict_roles=known))
        except EndpointError as error:
            if known or not error.strict_roles:
                raise
        self._check_limits()
        reply = await self._backend.send(prepare(request, self.spec, strict_roles=True))
        endpoint.strict_roles = True
        return reply

    async def _send(self, call: ModelCall, ask: Callable[[str], Awaitable[T]]) -> _Sent[T]:
        """Asks under guard, gate and retries; a final failure is reported before it is raised."""
        attempts = 0
        seconds = 0.0

        async def attempt() -> T:
            nonlocal attempts, seconds
            self._check_limits()
            endpoint = await self._backend.endpoint()
            async with endpoint.slot(self.spec.concurrency, self.spec.requests_per_minute):
                self._check_limits()
                attempts += 1
                self._meter.begin()
                start = time.perf_counter()
                try:
                    return await ask(endpoint.address)
                except EndpointError as error:
                    if error.transient and error.wait:
                        endpoint.cool_down(error.wait)
                    raise
                finally:
                    seconds += time.perf_counter() - start
                    self._meter.end()

        try:
            value = await with_retries(attempt, retries=self.spec.retries)
        except ModelError as error:
            if self._observer is not None:
                failed = replace(call, error=str(error), status_code=status_of(error))
                self._observer(replace(failed, seconds=seconds, attempts=attempts))
            raise
        return _Sent(value, seconds, attempts)

    def _check_limits(self) -> None:
        if self._guard is not None:
            self._guard()

    def _record(self, call: ModelCall, reply: Mapping[str, Any]) -> None:
        call = replace(call, usd=cost(call.usage, self.spec.price), **reply)
        self._count(call)
        if self._observer is not None:
            self._observer(call)

    def _count(self, call: ModelCall) -> None:
        used = call.usage
        self._last = RequestUsage(used.prompt_tokens, used.completion_tokens)
        self._total = RequestUsage(
            self._total.prompt_tokens + used.prompt_tokens, self._total.completion_tokens + used.completion_tokens
        )
        self._meter.add(call)

    def _hash(self, request: Request) -> str:
        spec = self.spec
        choice = request.tool_choice if isinstance(request.tool_choice, str) else request.tool_choice.name
        output = request.json_output
        arguments = {
            "settings": [spec.temperature, spec.top_p, spec.seed, spec.max_output_tokens, spec.structured],
            "json": output.model_json_schema() if isinstance(output, type) else output,
            **request.arguments,
        }
        return request_hash(
            spec, messages=request.messages, tools=request.tools, tool_choice=choice, arguments=arguments
        )

    async def close(self) -> None:
        """Does nothing: the router that made this client closes what its clients share."""

    def actual_usage(self) -> RequestUsage:
        """Gives the tokens of the last call."""
        return self._last

    def total_usage(self) -> RequestUsage:
        """Gives the tokens of all calls through this client."""
        return self._total

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        """Estimates the length of a prompt; the endpoint's tokenizer is not at hand."""
        described = estimate_tokens(str(tool_schemas(tools))) if tools else 0
        return sum(message_tokens(message) for message in messages) + described

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        """Estimates what the context window has left beside a prompt."""
        return self.spec.context_window - self.count_tokens(messages, tools=tools)

    @property
    def capabilities(self) -> ModelInfo:
        """Gives the same as `model_info`."""
        return self._info

    @property
    def model_info(self) -> ModelInfo:
        """Says what the model can do."""
        return self._info


def _answered(reply: Reply) -> dict[str, Any]:
    data: dict[str, Any] = {"gen_ai.response.finish_reasons": [str(reply.result.finish_reason)]}
    if reply.usage is not None:
        data["gen_ai.usage.input_tokens"] = reply.usage.prompt_tokens
        data["gen_ai.usage.output_tokens"] = reply.usage.completion_tokens
    return data


def _result_of(call: ModelCall) -> CreateResult:
    """The reply that a recorded call got."""
    from autogen_core import FunctionCall

    wanted = [FunctionCall(id=c["id"], name=c["name"], arguments=c["arguments"]) for c in call.tool_calls]
    return CreateResult(
        content=wanted or call.text,
        finish_reason=cast("FinishReasons", call.finish_reason or "unknown"),
        thought=call.thought,
        usage=RequestUsage(call.usage.prompt_tokens, call.usage.completion_tokens),
        cached=True,
    )


def _reply_data(result: CreateResult) -> dict[str, Any]:
    data: dict[str, Any] = {"finish_reason": result.finish_reason, "thought": result.thought}
    if isinstance(result.content, str):
        return {**data, "text": result.content}
    calls = tuple({"id": call.id, "name": call.name, "arguments": call.arguments} for call in result.content)
    return {**data, "tool_calls": calls}
