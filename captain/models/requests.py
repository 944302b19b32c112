"""A request as the client hands it to a backend, and the reply that comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from captain.models.calls import CallUsage

if TYPE_CHECKING:
    from autogen_core.models import CreateResult, LLMMessage
    from autogen_core.tools import Tool, ToolSchema
    from pydantic import BaseModel

    from captain.models.endpoint import Endpoint


@dataclass(frozen=True)
class Request:
    """Everything that shapes a reply."""

    messages: Sequence[LLMMessage]
    tools: Sequence[ToolSchema] = ()
    tool_choice: Tool | Literal["auto", "required", "none"] = "auto"
    json_output: bool | type[BaseModel] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the caller, such as `max_tokens`, `stop` or `response_format`."""


@dataclass(frozen=True)
class Reply:
    """An answer of a model and what it took."""

    result: CreateResult
    usage: CallUsage | None
    """None where the endpoint did not count."""


class Backend(Protocol):
    """What sends requests; one per specification and router."""

    async def endpoint(self) -> Endpoint:
        """Gives the shared state of the endpoint, after starting it where that is ours to do."""
        ...

    async def send(self, request: Request) -> Reply:
        """Sends one request, once.

        Raises:
            EndpointError: It failed.
        """
        ...
