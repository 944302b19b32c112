"""The text that stands for a tool's result in a chat."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_LONGEST_INTEGER_BITS = 14_000
"""Python refuses to write longer integers (about 4,200 digits) as decimals."""


def render(value: Any) -> str:
    """A result as readable text.

    Text stays as it is, numbers are written in full, lists and mappings as JSON with the characters themselves (never
    as escapes), anything else as its `str`.
    """
    plain = simplify(value)
    if plain is None:
        text = "(done, no value returned)"
    elif isinstance(plain, str):
        text = plain or "(empty text)"
    elif isinstance(plain, (bool, int, float)):
        text = repr(plain)
    else:
        text = json.dumps(plain, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")


def simplify(value: Any) -> Any:
    """A value in JSON's types: NumPy scalars and arrays, pydantic models, dataclasses and sets are unwrapped."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        short = value.bit_length() <= _LONGEST_INTEGER_BITS
        return int(value) if short else f"(an integer of about {int(value.bit_length() * 0.30103)} digits)"
    if isinstance(value, float):
        return float(value)
    if isinstance(value, BaseModel):
        return simplify(value.model_dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: simplify(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): simplify(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [simplify(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((simplify(item) for item in value), key=repr)
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return simplify(value.tolist())
    return str(value)


def cap(text: str, limit: int) -> str:
    """Cut the middle out of a text that is longer than `limit` characters, and say so in its place."""
    if len(text) <= limit:
        return text
    notice = f"\n[... cut: {len(text) - limit} of {len(text)} characters left out ...]\n"
    head = limit * 2 // 3
    return text[:head] + notice + text[len(text) - (limit - head) :]
