"""The text that stands for a tool's result in a chat."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

_LARGEST_FILE = 50_000_000
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


def cap(text: str, limit: int, *, where: str = "") -> str:
    """Cut the middle out of a text that is longer than `limit` characters, and say so in its place.

    Args:
        text: The text.
        limit: Characters that stay.
        where: The file that holds the whole text, if one does.
    """
    if len(text) <= limit:
        return text
    whole = f"; all of it is in the file {where!r}" if where else ""
    notice = f"\n[... cut: {len(text) - limit} of {len(text)} characters left out{whole} ...]\n"
    head = limit * 2 // 3
    return text[:head] + notice + text[len(text) - (limit - head) :]


def cap_and_keep(text: str, limit: int, *, folder: Path, tool: str) -> str:
    """As `cap`; the whole of a text that is cut is kept as a file in `folder`, which the cut names.

    Args:
        text: What a tool returned.
        limit: Characters that stay.
        folder: The workspace; programs may have left anything in it.
        tool: The tool's name.
    """
    if len(text) <= limit:
        return text
    content = text.encode("utf-8", "replace")
    name = f"{tool}-result-{hashlib.sha256(content).hexdigest()[:8]}.txt"
    return cap(text, limit, where=name if _keep(content, folder / name) else "")


def _keep(content: bytes, path: Path) -> bool:
    """Write a file of our own, not into what a program put in its place; says whether that worked."""
    if len(content) > _LARGEST_FILE:
        return False
    try:
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError:
        return False
    return True
