"""The backend of HTTP endpoints: AutoGen's OpenAI client over the `openai` SDK, with the SDK's retries off.

AutoGen builds the request and reads the reply. Between AutoGen and the SDK sits `_Wire`: it hands the finished body to
the SDK as it is (the SDK's own conversion of typed bodies takes more CPU time than all the rest of a call), gets the
connections of the running event loop, reads the answer's body with distrust, and keeps what AutoGen drops: cached
tokens and whether tokens were counted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from captain.config import ModelSpec
from captain.models.calls import CallUsage
from captain.models.completions import plain_text, read_completion
from captain.models.connections import CONNECT_TIMEOUT, lease
from captain.models.endpoint import Endpoint, endpoint_at
from captain.models.failures import public_address, read_failure
from captain.models.requests import Reply, Request

if TYPE_CHECKING:
    from autogen_core.models import ModelInfo
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion

_seen: ContextVar[list[CallUsage | None]] = ContextVar("_seen")


class HttpBackend:
    """Sends requests to an OpenAI-compatible endpoint."""

    def __init__(self, spec: ModelSpec, *, info: ModelInfo, key: str, address: Callable[[], str], user: object) -> None:
        """Prepares the backend; nothing is sent and nothing is started.

        Args:
            spec: The model; its provider is resolved.
            info: What AutoGen has to know about the model.
            key: The key, or any text where none is wanted.
            address: Gives the base URL; it may start a server, so it is called in a worker thread.
            user: In whose name connections are leased.
        """
        from autogen_ext.models.openai import BaseOpenAIChatCompletionClient
        from openai import AsyncOpenAI

        self._spec = spec
        self._key = key
        self._find_address = address
        self._endpoint: Endpoint | None = None
        self._wire = _Wire(spec, key, user)
        self._client = BaseOpenAIChatCompletionClient(
            cast(AsyncOpenAI, self._wire),
            create_args={},
            model_info=info,
            include_name_in_message=spec.provider == "openai",
        )

    async def endpoint(self) -> Endpoint:
        """Gives the endpoint's shared state; the first time this may start the embedded server."""
        if self._endpoint is None:
            address = await asyncio.to_thread(self._find_address)
            self._wire.address = address
            self._endpoint = endpoint_at(address)
        return self._endpoint

    async def send(self, request: Request) -> Reply:
        """Sends one request; see `Backend`."""
        endpoint = await self.endpoint()
        seen: list[CallUsage | None] = []
        token = _seen.set(seen)
        try:
            async with asyncio.timeout(self._spec.timeout):
                result = await self._client.create(
                    request.messages,
                    tools=request.tools,
                    tool_choice=request.tool_choice,
                    extra_create_args=create_arguments(self._spec, request),
                )
        except Exception as error:
            failure = read_failure(error, self._spec, address=endpoint.address, key=self._key)
            if failure is None:
                raise
            if failure.unreachable and endpoint.has_answered:
                failure.retries = None
            endpoint.has_answered = endpoint.has_answered or failure.answered
            if failure is error:
                raise
            raise failure from error
        finally:
            _seen.reset(token)
        endpoint.has_answered = True
        return Reply(result, seen[-1] if seen else None)


def create_arguments(spec: ModelSpec, request: Request) -> dict[str, Any]:
    """Joins the settings of a model with the arguments of a call, in the words of the endpoint."""
    arguments: dict[str, Any] = {"max_tokens": spec.max_output_tokens}
    for name in ("temperature", "top_p", "seed"):
        if (value := getattr(spec, name)) is not None:
            arguments[name] = value
    if request.json_output:
        arguments["response_format"] = _response_format(spec, request.json_output)
    arguments.update(request.arguments)
    if arguments.get("response_format") is None:
        arguments.pop("response_format", None)
    if spec.provider == "openai":
        arguments.setdefault("max_completion_tokens", arguments.pop("max_tokens"))
    return arguments


def _response_format(spec: ModelSpec, wanted: Any) -> Mapping[str, Any] | None:
    if spec.structured == "none":
        return None
    if wanted is True or spec.structured == "json_object":
        return {"type": "json_object"}
    if spec.provider == "openai":
        from openai.lib._parsing import type_to_response_format_param

        return cast(Mapping[str, Any], type_to_response_format_param(wanted))
    schema = {"name": wanted.__name__, "schema": wanted.model_json_schema()}
    return {"type": "json_schema", "json_schema": schema}


class _Wire:
    """Stands where AutoGen expects `AsyncOpenAI`; only `chat.completions.create` is ever called."""

    def __init__(self, spec: ModelSpec, key: str, user: object) -> None:
        self.address = ""
        self._spec = spec
        self._key = key
        self._user = user
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, AsyncOpenAI]] = WeakKeyDictionary()

    @property
    def chat(self) -> _Wire:
        return self

    @property
    def completions(self) -> _Wire:
        return self

    async def create(self, *, messages: Any, stream: bool, tools: Any, **arguments: Any) -> ChatCompletion:
        """Sends a body that is finished already."""
        timeout = arguments.pop("timeout", None)
        body = {**arguments, "messages": messages, **(arguments.pop("extra_body", None) or {})}
        body.pop("extra_body", None)
        if tools:
            body["tools"] = tools
        extra: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        try:
            content = await self._post(body, extra)
        except UnicodeEncodeError:  # a tool or a file gave halves of characters, which no request can hold
            content = await self._post(json.loads(plain_text(json.dumps(body, ensure_ascii=False))), extra)
        place = f"model {self._spec.model!r} at {public_address(self.address)}"
        completion, usage = read_completion(content, place, key=self._key)
        _seen.get().append(usage)
        return completion

    async def _post(self, body: Mapping[str, Any], extra: Mapping[str, Any]) -> bytes:
        """Gives the body of the answer as it came: the SDK's own reading trusts the endpoint to keep to its types."""
        raw = await self._sdk().chat.completions.with_raw_response.create(
            model=self._spec.model, messages=(), stream=False, extra_body=body, **extra
        )
        content: bytes = raw.content
        return content

    def _sdk(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, Timeout

        loop = asyncio.get_running_loop()
        http = lease(self._user)
        known = self._clients.get(loop)
        if known is not None and known[0] is http:
            return known[1]
        timeout = Timeout(self._spec.timeout, connect=min(CONNECT_TIMEOUT, self._spec.timeout), pool=None)
        client = AsyncOpenAI(api_key=self._key, base_url=self.address, max_retries=0, timeout=timeout, http_client=http)
        self._clients[loop] = (http, client)
        return client
