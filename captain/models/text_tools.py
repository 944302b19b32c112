"""Tools and histories as plain text, for endpoints that know neither tool calls nor free orders of roles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import Tool, ToolSchema

if TYPE_CHECKING:
    from autogen_core import Image

_INVALID_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_ANONYMOUS = frozenset({"user", "system", "tool"})
_schemas: WeakKeyDictionary[Tool, ToolSchema] = WeakKeyDictionary()


def tool_schemas(tools: Iterable[Tool | ToolSchema]) -> list[ToolSchema]:
    """Gives the JSON schemas of tools; a tool builds its schema anew each time, so they are kept."""
    schemas: list[ToolSchema] = []
    for tool in tools:
        if isinstance(tool, Tool):
            known = _schemas.get(tool)
            if known is None:
                known = _schemas[tool] = tool.schema
            schemas.append(known)
        else:
            schemas.append(tool)
    return schemas


def describe_tools(schemas: Sequence[ToolSchema]) -> str:
    """Lists tools for a model: one line each with name, typed parameters and the first line of the description."""
    lines = [_describe(schema) for schema in schemas]
    form = '{"name": "<tool>", "arguments": {...}}'
    return "Tools:\n" + "\n".join(lines) + f"\nTo call a tool, reply with only this JSON: {form}"


def _describe(schema: ToolSchema) -> str:
    parameters: Mapping[str, Any] = schema.get("parameters", {})
    required = set(parameters.get("required", ()))
    parts = []
    for name, one in parameters.get("properties", {}).items():
        optional = "" if name in required else f" = {json.dumps(one.get('default'), ensure_ascii=False)}"
        parts.append(f"{name}: {_type_name(one)}{optional}")
    description = schema.get("description", "").strip().splitlines()
    return f"- {schema['name']}({', '.join(parts)}): {description[0] if description else ''}".rstrip(": ")


def _type_name(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return "|".join(dict.fromkeys(_type_name(option) for option in options))
    if schema.get("type") == "array":
        return f"list[{_type_name(schema.get('items') or {})}]"
    return str(schema.get("type") or "any")


def call_schema(schemas: Sequence[ToolSchema]) -> dict[str, Any]:
    """Gives a JSON schema whose only instances are calls of one of the tools."""
    calls: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    for schema in schemas:
        arguments: dict[str, Any] = {"type": "object", **schema.get("parameters", {})}
        definitions.update(arguments.pop("$defs", {}))
        calls.append(
            {
                "type": "object",
                "properties": {"name": {"const": schema["name"]}, "arguments": arguments},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        )
    whole = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {**whole, "$defs": definitions} if definitions else whole


def valid_names(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    """Replaces what endpoints do not accept in the names of speakers."""
    return [_with_valid_name(message) for message in messages]


def _with_valid_name(message: LLMMessage) -> LLMMessage:
    source = getattr(message, "source", None)
    if source is None:
        return message
    valid = _INVALID_IN_NAMES.sub("_", source)[:64] or "user"
    return message if valid == source else message.model_copy(update={"source": valid})


def label_speakers(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    """Writes the speaker's name into the text where more than one speaks and the endpoint ignores names."""
    sources = {message.source for message in messages if isinstance(message, UserMessage)}
    if len(sources) < 2:
        return list(messages)
    return [_labelled(message) if isinstance(message, UserMessage) else message for message in messages]


def _labelled(message: UserMessage) -> UserMessage:
    if message.source in _ANONYMOUS:
        return message
    label = f"{message.source}: "
    content = label + message.content if isinstance(message.content, str) else [label, *message.content]
    return message.model_copy(update={"content": content})


def fold_messages(
    messages: Sequence[LLMMessage], *, appendix: str = "", system: bool = True, plain: bool = True
) -> list[LLMMessage]:
    """Rewrites a history so that strict chat templates take it: system first, then user and assistant in turn.

    Args:
        messages: The history.
        appendix: Text put at the end of the system message (the list of tools).
        system: The endpoint takes a system message; else its text opens the first user message.
        plain: Turn tool calls and their results into text.
    """
    head = [message.content for message in messages if isinstance(message, SystemMessage)]
    opening = "\n\n".join(part for part in [*head, appendix] if part.strip())
    folded: list[LLMMessage] = []
    if opening and system:
        folded.append(SystemMessage(content=opening))
    elif opening:
        folded.append(UserMessage(content=opening, source="user"))
    for message in messages:
        if not isinstance(message, SystemMessage):
            _append(folded, _as_text(message) if plain else message)
    if not folded or not isinstance(folded[-1], UserMessage | FunctionExecutionResultMessage):
        folded.append(UserMessage(content="Continue.", source="user"))
    return folded


def _append(folded: list[LLMMessage], message: LLMMessage) -> None:
    last = folded[-1] if folded else None
    if isinstance(message.content, str) and not message.content.strip():
        return
    if isinstance(last, UserMessage) and isinstance(message, UserMessage):
        folded[-1] = last.model_copy(update={"content": _joined(last.content, message.content)})
    elif (
        isinstance(last, AssistantMessage)
        and isinstance(message, AssistantMessage)
        and isinstance(last.content, str)
        and isinstance(message.content, str)
    ):
        folded[-1] = last.model_copy(update={"content": f"{last.content}\n\n{message.content}"})
    else:
        folded.append(message)


def _joined(left: str | list[str | Image], right: str | list[str | Image]) -> str | list[str | Image]:
    if isinstance(left, str) and isinstance(right, str):
        return f"{left}\n\n{right}"
    first = [left] if isinstance(left, str) else left
    second = [right] if isinstance(right, str) else right
    return [*first, *second]


def _as_text(message: LLMMessage) -> LLMMessage:
    if isinstance(message, FunctionExecutionResultMessage):
        results = [f"{_result_head(r.name, r.is_error)}\n{r.content}" for r in message.content]
        return UserMessage(content="\n\n".join(results), source="tool")
    if isinstance(message, AssistantMessage) and not isinstance(message.content, str):
        text = message.thought or "\n".join(_call_text(call) for call in message.content)
        return AssistantMessage(content=text, source=message.source)
    return message


def _result_head(name: str, is_error: bool | None) -> str:
    return f"Error of tool {name}:" if is_error else f"Result of tool {name}:"


def _call_text(call: FunctionCall) -> str:
    return f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments or "{}"}}}'


def estimate_tokens(text: str) -> int:
    """Estimates the tokens of a text: four bytes each, which is near the truth for English and code."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def message_tokens(message: LLMMessage) -> int:
    """Estimates the tokens of a message with its frame."""
    content: Any = message.content
    return 4 + estimate_tokens(content if isinstance(content, str) else str(content))
