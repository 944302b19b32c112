"""Turns a JSON value into the wanted type, with the small mistakes of weak models mended."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

_PASSES = 3
_QUOTED = re.compile(r"'([^']*)'")
_UNCHANGED = object()


def validate(adapter: TypeAdapter[Any], value: Any) -> tuple[Any, bool]:
    """Gives the typed value, and whether it had to be mended beyond what pydantic does by itself.

    Pydantic already takes `"true"` for true and `"3"` for 3. Mended here: a number where text is wanted, one item where
    a list is wanted, a known word in another case, a property that is not known.

    Raises:
        ValidationError: It does not fit.
    """
    try:
        return adapter.validate_python(value), False
    except ValidationError as error:
        first = error
    # Below a root of its own, so that the value itself can be replaced like any part of it.
    root = [copy.deepcopy(value)]
    errors = first.errors(include_url=False)
    for _ in range(_PASSES):
        if not sum(_mend(root, error) for error in errors):
            break
        try:
            return adapter.validate_python(root[0]), True
        except ValidationError as error:
            errors = error.errors(include_url=False)
    raise first


def describe(error: ValidationError) -> str:
    """Says in one line what does not fit, for the model."""
    parts = []
    for detail in error.errors(include_url=False)[:3]:
        place = ".".join(str(step) for step in detail["loc"])
        parts.append(f"{place}: {detail['msg']}" if place else detail["msg"])
    return "; ".join(parts)


def _mend(root: list[Any], error: ErrorDetails) -> bool:
    """Mends what one error names, in place; says whether it did."""
    path = (0, *error["loc"])
    parent = _follow(root, path[:-1])
    last = path[-1]
    if isinstance(parent, dict) and last in parent:
        if error["type"] == "extra_forbidden":
            del parent[last]
            return True
    elif not (isinstance(parent, list) and isinstance(last, int) and last < len(parent)):
        return False
    new = _mended(parent[last], error)
    if new is _UNCHANGED:
        return False
    parent[last] = new
    return True


def _follow(value: Any, path: Sequence[int | str]) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _mended(value: Any, error: ErrorDetails) -> Any:
    kind = error["type"]
    if kind == "string_type" and isinstance(value, int | float):
        return _digits(value)
    if kind in ("list_type", "tuple_type", "set_type"):
        return [] if value is None else [value]
    if kind in ("literal_error", "enum") and isinstance(value, str):
        word = _word(value)
        for option in _QUOTED.findall(str(error.get("ctx", {}).get("expected", ""))):
            if _word(option) == word:
                return option
    return _UNCHANGED


def _digits(number: int | float) -> Any:
    try:
        return str(number).lower() if isinstance(number, bool) else str(number)
    except ValueError:  # too long for Python to write it out
        return _UNCHANGED


def _word(text: str) -> str:
    return re.sub(r"[\s_.-]+", " ", text).strip().lower()
