"""Between the client and the endpoint: what a request must look like for this endpoint, and what its reply means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from autogen_core import FunctionCall
from autogen_core.models import CreateResult, LLMMessage, SystemMessage
from autogen_core.tools import Tool, ToolSchema

from captain.config import ModelSpec
from captain.models.requests import Request
from captain.models.text_tools import call_schema, describe_tools, fold_messages, label_speakers, valid_names

_OPENINGS = ("{", "[", "```", "<tool_call>")
_ENDINGS = ("}", "]", "```", "</tool_call>")


def prepare(request: Request, spec: ModelSpec, *, strict_roles: bool = False) -> Request:
    """Rewrites a request for its endpoint.

    Where the endpoint does not parse tool calls, tools become text at the end of the system message, calls and results
    in the history become text, and a call that must be made is forced by a JSON schema.

    Args:
        request: As the caller meant it.
        spec: The model.
        strict_roles: The endpoint takes no system message and wants user and assistant in turn.
    """
    if spec.native_tools and spec.provider == "scripted":
        return request
    messages: Sequence[LLMMessage] = valid_names(request.messages)
    if spec.provider != "openai":
        messages = _system_first(label_speakers(messages))
    plain = not spec.native_tools
    appendix = describe_tools(request.tools) if plain and request.tools else ""
    if plain or strict_roles:
        messages = fold_messages(messages, appendix=appendix, system=not strict_roles, plain=plain)
    if not plain or not request.tools:
        return replace(request, messages=messages)
    arguments = {**_forced_call(request, spec), **request.arguments}
    return replace(request, messages=messages, tools=(), tool_choice="auto", arguments=arguments)


def _system_first(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    return sorted(messages, key=lambda message: not isinstance(message, SystemMessage))


def _forced_call(request: Request, spec: ModelSpec) -> Mapping[str, Any]:
    if not _must_call(request) or spec.structured == "none":
        return {}
    if spec.structured == "json_object":
        return {"response_format": {"type": "json_object"}}
    allowed: Sequence[ToolSchema] = request.tools
    if isinstance(request.tool_choice, Tool):
        allowed = [schema for schema in allowed if schema["name"] == request.tool_choice.name]
    schema = {"name": "tool_call", "schema": call_schema(allowed)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _must_call(request: Request) -> bool:
    return request.tool_choice == "required" or isinstance(request.tool_choice, Tool)


def read_reply(result: CreateResult, request: Request, spec: ModelSpec) -> CreateResult:
    """Finds what a model put into the text instead of its place: reasoning and tool calls.

    Args:
        result: The reply as the endpoint gave it.
        request: The request as the caller meant it.
        spec: The model.
    """
    if not isinstance(result.content, str):
        return result
    result = _with_thought(result)
    text = str(result.content)
    if not request.tools or not text or not _expects_call(request, spec, text):
        return result
    from captain.decide.reading import read_tool_calls

    calls = read_tool_calls(text, [schema["name"] for schema in request.tools])
    if not calls:
        return result
    calls = [call if call.id else FunctionCall(uuid4().hex, call.arguments, call.name) for call in calls]
    thought = result.thought if _is_bare(text) else text
    return result.model_copy(update={"content": calls, "finish_reason": "function_calls", "thought": thought})


def _expects_call(request: Request, spec: ModelSpec, text: str) -> bool:
    structured = bool(request.json_output) or request.arguments.get("response_format") is not None
    if structured and not _must_call(request):
        return False
    return not spec.native_tools or _is_bare(text)


def _is_bare(text: str) -> bool:
    """Tells whether a text can be a tool call and nothing else."""
    core = text.strip()
    return core.startswith(_OPENINGS) and core.endswith(_ENDINGS)


def _with_thought(result: CreateResult) -> CreateResult:
    text = str(result.content)
    if "<think>" not in text and "</think>" not in text:
        return result
    from captain.decide.reading import strip_reasoning

    answer = strip_reasoning(text)
    if answer == text:
        return result
    thought = text.removesuffix(answer) if answer else text
    thought = thought.replace("<think>", "").replace("</think>", "").strip()
    return result.model_copy(update={"content": answer, "thought": result.thought or thought or None})
