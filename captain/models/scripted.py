"""The backend of the `scripted` provider: replies from a list or a function, no network."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from captain.config import ModelSpec
from captain.errors import ConfigError
from captain.models.calls import CallUsage
from captain.models.endpoint import Endpoint
from captain.models.requests import Reply, Request

if TYPE_CHECKING:
    from autogen_core.models import ChatCompletionClient


class LocalBackend:
    """Asks an AutoGen client that lives in this process."""

    def __init__(self, client: ChatCompletionClient, name: str) -> None:
        self._client = client
        self._endpoint = Endpoint(f"local:{name}")

    async def endpoint(self) -> Endpoint:
        """Gives an endpoint of its own: nothing is shared with other clients."""
        return self._endpoint

    async def send(self, request: Request) -> Reply:
        """Asks the client; what it raises is not changed."""
        result = await self._client.create(
            request.messages,
            tools=request.tools,
            tool_choice=request.tool_choice,
            json_output=request.json_output,
            extra_create_args=request.arguments,
        )
        used = result.usage
        known = used.prompt_tokens > 0 or used.completion_tokens > 0
        return Reply(result, CallUsage(used.prompt_tokens, used.completion_tokens) if known else None)


def scripted_backend(spec: ModelSpec) -> LocalBackend:
    """Builds the backend of a `scripted` specification from its `script` or its `handler`.

    Raises:
        ConfigError: It has neither or both, or the handler cannot be imported.
    """
    from captain.testing import FunctionModel, ScriptedModel

    if (spec.script is None) == (spec.handler is None):
        raise ConfigError(f"model {spec.name!r} is scripted: give it either `script` or `handler`")
    if spec.handler is not None:
        return LocalBackend(FunctionModel(_function(spec)), spec.name)
    return LocalBackend(ScriptedModel(spec.script or []), spec.name)


def _function(spec: ModelSpec) -> Any:
    module, _, name = (spec.handler or "").rpartition(".")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"model {spec.name!r}: cannot import handler {spec.handler!r}: {error}") from error
    if not callable(function):
        raise ConfigError(f"model {spec.name!r}: handler {spec.handler!r} is not a function")
    return function
