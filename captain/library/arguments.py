"""Lenient reading of the arguments that a model gives to a tool.

Models send a list as JSON text, a number where a string is wanted, `"3"` for 3. What can mean only one thing is turned
into the declared type; everything else is an error that names the argument and the type, so the model can mend it.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

from pydantic import BaseModel, TypeAdapter, ValidationError

from captain.errors import ToolError
from captain.tools import Parameter

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}


def read_arguments(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of one call, in the declared types; defaults are left out.

    Raises:
        ToolError: An unknown or missing argument, or a value that is not of the declared type.
    """
    known = {parameter.name: parameter for parameter in parameters}
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        parameter = known[_known_name(name, known)]
        if value is None and not parameter.required and not _allows_null(parameter.annotation):
            continue
        arguments[parameter.name] = read_value(parameter, value)
    absent = [name for name, parameter in known.items() if parameter.required and name not in arguments]
    if absent:
        raise ToolError(f"missing {_quoted(absent)}; the arguments are {_quoted(known)}")
    return arguments


def read_value(parameter: Parameter, value: Any) -> Any:
    """One value in the type of its parameter.

    Raises:
        ToolError: It cannot be read as that type.
    """
    coerced = coerce(parameter.annotation, value)
    try:
        return TypeAdapter(parameter.annotation).validate_python(coerced)
    except ValidationError as error:
        wanted, place = type_name(parameter.annotation), error.errors()[0]
        inner = "".join(f"[{part!r}]" for part in place["loc"] if not str(part).startswith(("list", "function")))
        hint = f" ({place['msg'].lower()} at {parameter.name}{inner})" if inner else ""
        raise ToolError(f"argument {parameter.name!r} must be {wanted}, not {_shown(value)}{hint}") from error


def coerce(annotation: Any, value: Any) -> Any:
    """Bring a value nearer to a type where its meaning is plain; else return it as it is."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return coerce(inner[0], value)
    if origin in (Union, types.UnionType):
        return _coerce_union(inner, value)
    if origin is Literal:
        return _coerce_literal(inner, value)
    kind = origin or annotation
    if kind is str:
        return _coerce_text(value)
    if kind in (int, float) and isinstance(value, str) and _GROUPED.fullmatch(value.strip()):
        return value.strip().replace(",", "")
    if isinstance(kind, type) and issubclass(kind, (list, tuple, set, frozenset, Sequence)):
        return _coerce_items(inner, value)
    if isinstance(kind, type) and (issubclass(kind, (dict, BaseModel, Mapping)) or typing.is_typeddict(kind)):
        return _parsed(value, dict) if isinstance(value, str) else value
    return value


def type_name(annotation: Any) -> str:
    """A type in words that a model understands."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(type_name(arm) for arm in inner if arm is not type(None))
    if origin is Literal:
        return f"one of {_quoted(inner)}"
    if annotation in _NAMES:
        return _NAMES[annotation]
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, (list, tuple, set, frozenset)):
        items = [type_name(item) for item in inner if item is not Ellipsis]
        return f"a list (each: {' and '.join(items) or 'any value'})"
    if isinstance(kind, type) and issubclass(kind, (dict, BaseModel, Mapping)):
        return "a JSON object"
    return getattr(annotation, "__name__", str(annotation))


def _known_name(name: str, known: Mapping[str, Parameter]) -> str:
    if name in known:
        return name
    plain = {re.sub(r"\W|_", "", candidate).lower(): candidate for candidate in known}
    alike = plain.get(re.sub(r"\W|_", "", name).lower())
    if alike is not None:
        return alike
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    listed = f"the arguments are {_quoted(known)}" if known else "it takes no arguments"
    raise ToolError(f"unknown argument {name!r}: {listed}{meant}")


def _allows_null(annotation: Any) -> bool:
    return annotation in (Any, None, type(None)) or type(None) in typing.get_args(annotation)


def _coerce_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and not value.is_integer() and "e" not in repr(value):
        return repr(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return value


def _coerce_literal(options: tuple[Any, ...], value: Any) -> Any:
    if value in options:
        return value
    alike = {str(option).strip().lower(): option for option in options}
    return alike.get(str(value).strip().lower(), value)


def _coerce_union(arms: tuple[Any, ...], value: Any) -> Any:
    for strict in (True, False):
        for arm in arms:
            candidate = value if strict else coerce(arm, value)
            try:
                return TypeAdapter(arm).validate_python(candidate, strict=strict or None)
            except ValidationError:
                continue
    if isinstance(value, str) and value.strip().lower() in ("", "null", "none") and type(None) in arms:
        return None
    return value


def _coerce_items(inner: tuple[Any, ...], value: Any) -> Any:
    item = inner[0] if inner else Any
    if isinstance(value, str):
        value = _list_from_text(item, value)
    elif isinstance(value, (int, float)) and item in (int, float):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return value
    if len(inner) > 1 and Ellipsis not in inner:
        return [coerce(kind, element) for kind, element in zip(inner, value, strict=False)] + list(value[len(inner) :])
    return [coerce(item, element) for element in value]


def _list_from_text(item: Any, text: str) -> Any:
    parsed = _parsed(text, list)
    if isinstance(parsed, list):
        return parsed
    if item in (int, float):
        parts = [part for part in re.split(r"[\s,;]+", text.strip()) if part]
        return parts or text
    alone = text.strip()
    if item is str and alone and not re.search(r"[,;\n\[\]{}]", alone):
        return [alone]
    return text


def _parsed(text: str, wanted: type) -> Any:
    """JSON or a Python literal of the wanted kind; the text itself when it is neither."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, (wanted, tuple) if wanted is list else wanted):
            return list(value) if isinstance(value, tuple) else value
    return text


def _quoted(names: Any) -> str:
    return ", ".join(repr(name) for name in names)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
