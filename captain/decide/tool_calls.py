"""Reads tool calls that a model wrote as text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from captain.decide.fences import without_code
from captain.decide.json_text import json_values_in_order
from captain.decide.reasoning import strip_reasoning

if TYPE_CHECKING:
    from autogen_core import FunctionCall

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "kwargs")
_LISTS = ("tool_calls", "calls", "tools")


def read_tool_calls(text: str, known: Collection[str]) -> list[FunctionCall]:
    """Gives the calls of known tools that stand in a reply as JSON: bare, fenced, in `<tool_call>` tags, or in a list.

    Args:
        text: A reply.
        known: The names that count; a call of any other name is left out.

    Returns:
        Calls with their arguments as a JSON object and ids that depend on the text alone.
    """
    from autogen_core import FunctionCall

    prose = without_code(strip_reasoning(text))
    found = [call for value in json_values_in_order(prose) for call in _calls(value, known)]
    calls: list[FunctionCall] = []
    for index, (name, arguments) in enumerate(found):
        packed = json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace").decode()
        mark = hashlib.blake2b(f"{index}\0{name}\0{packed}\0{text}".encode("utf-8", "replace"), digest_size=8)
        calls.append(FunctionCall(id=f"call_{mark.hexdigest()}", name=name, arguments=packed))
    return calls


def _calls(value: Any, known: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, Mapping):
                yield from _calls(item, known)
    elif isinstance(value, Mapping):
        call = _call(value, known)
        if call is not None:
            yield call
            return
        for key in _LISTS:
            if isinstance(value.get(key), list):
                yield from _calls(value[key], known)


def _call(value: Mapping[str, Any], known: Collection[str]) -> tuple[str, dict[str, Any]] | None:
    nested = value.get("function")
    if isinstance(nested, Mapping):
        return _call(nested, known)
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str) and value[key] in known), None)
    if name is not None:
        key = next((key for key in _ARGUMENTS if key in value), None)
        if key is None:
            return (name, {}) if len(value) == 1 else None
        arguments = _arguments(value[key])
        return None if arguments is None else (name, arguments)
    if len(value) == 1:
        (name, arguments), *_ = value.items()
        if name in known and isinstance(arguments, Mapping):
            return name, dict(arguments)
    return None


def _arguments(given: Any) -> dict[str, Any] | None:
    """Gives arguments as an object; some models pack them into a string once more."""
    if isinstance(given, str):
        if not given.strip():
            return {}
        values = json_values_in_order(given)
        given = values[0] if values else None
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else None
