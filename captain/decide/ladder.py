"""The constraints an endpoint can put on a reply, from the strongest to none, and which of them a client takes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from captain.decide.schema import Shape
from captain.errors import LimitExceeded

if TYPE_CHECKING:
    from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage

Constraint = Literal["json_schema", "json_schema_unbounded", "json_object", "tool", "text"]

_MEMORY = "_captain_refused_constraints"
_NAMED = re.compile(
    r"response[_ ]format|json[_ ]?(?:schema|object|mode|output)|structured[_ ]output|grammar|guided|tool_choice"
    r"|function[_ ]call|\btools?\b|schema",
    re.I,
)
_REFUSED = re.compile(
    r"support|invalid|unknown|unrecogni[sz]ed|not (?:allowed|permitted|implemented)|bad request", re.I
)
_READ = 2000
_STATUSES = (400, 404, 415, 422, 501)


def constraints(client: ChatCompletionClient) -> list[Constraint]:
    """Gives what a client can be asked with, the best first, without what its endpoint refused before."""
    info = client.model_info
    able: list[Constraint] = []
    if info.get("structured_output"):
        able += ["json_schema", "json_schema_unbounded"]
    if info.get("json_output"):
        able.append("json_object")
    if info.get("function_calling"):
        able.append("tool")
    refused = getattr(client, _MEMORY, ())
    return [*(constraint for constraint in able if constraint not in refused), "text"]


def remember_refusal(client: ChatCompletionClient, constraint: Constraint) -> None:
    """Notes on the client itself that its endpoint does not take a constraint."""
    refused = (*getattr(client, _MEMORY, ()), constraint)
    # A client with fixed attributes cannot be marked: then it is just asked, and refuses, again.
    if hasattr(client, "__dict__"):
        setattr(client, _MEMORY, refused)


def is_refusal(error: Exception) -> bool:
    """Says whether an error means that the endpoint does not take the constraint, not that it failed."""
    if isinstance(error, LimitExceeded):
        return False
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None and len(chain) < 10:
        chain.append(cause)
    statuses = [status for link in chain if (status := getattr(link, "status_code", None)) is not None]
    if statuses and statuses[0] not in _STATUSES:
        return False
    texts = [str(link)[:_READ] for link in chain if _NAMED.search(str(link)[:_READ])]
    return bool(texts) and (bool(statuses) or any(_REFUSED.search(text) for text in texts))


async def ask(
    client: ChatCompletionClient,
    messages: Sequence[LLMMessage],
    shape: Shape,
    constraint: Constraint,
    *,
    max_tokens: int | None,
) -> CreateResult:
    """Sends one request under a constraint."""
    extra: dict[str, Any] = {} if max_tokens is None else {"max_tokens": max_tokens}
    if constraint in ("json_schema", "json_schema_unbounded"):
        # Not AutoGen's `json_output=Type`: it parses inside the client, so a reply that does not fit would be lost.
        schema = shape.schema if constraint == "json_schema" else shape.without_bounds()
        extra["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": shape.name, "schema": schema, "strict": True},
        }
        return await client.create(messages, extra_create_args=extra)
    if constraint == "json_object":
        prompt = with_note(messages, shape_note(shape))
        return await client.create(prompt, json_output=True, extra_create_args=extra)
    if constraint == "tool":
        return await _ask_tool(client, messages, shape, extra)
    return await client.create(with_note(messages, shape_note(shape)), extra_create_args=extra)


async def _ask_tool(
    client: ChatCompletionClient, messages: Sequence[LLMMessage], shape: Shape, extra: dict[str, Any]
) -> CreateResult:
    from autogen_core.tools import ParametersSchema, ToolSchema

    parameters = ParametersSchema(
        type="object", properties=shape.schema["properties"], required=shape.schema["required"]
    )
    parameters["additionalProperties"] = False
    if "$defs" in shape.schema:
        parameters = {**parameters, "$defs": shape.schema["$defs"]}  # type: ignore[typeddict-unknown-key]  # passed on
    tool = ToolSchema(name=shape.name, description="Gives the reply.", parameters=parameters)
    return await client.create(messages, tools=[tool], tool_choice="required", extra_create_args=extra)


def shape_note(shape: Shape) -> str:
    """Says what the reply must look like."""
    return f"Reply with one JSON object and nothing else:\n{shape.outline()}"


def with_note(messages: Sequence[LLMMessage], note: str) -> list[LLMMessage]:
    """Adds a line to the last message where that is the user's, since some chat templates want roles to alternate."""
    from autogen_core.models import UserMessage

    last = messages[-1] if messages else None
    if isinstance(last, UserMessage) and isinstance(last.content, str):
        if last.content.endswith(note):
            return list(messages)
        return [*messages[:-1], UserMessage(content=f"{last.content}\n\n{note}", source=last.source)]
    return [*messages, UserMessage(content=note, source="user")]


def reply_text(result: CreateResult, shape: Shape) -> str:
    """Gives the text of a reply: its content, else the arguments of a call."""
    if isinstance(result.content, str):
        return result.content
    calls = [call for call in result.content if call.name == shape.name] or list(result.content)
    if calls:
        return calls[0].arguments
    return json.dumps(result.thought or "")
