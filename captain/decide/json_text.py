"""Finds JSON in a reply: exact where possible, else with the faults that models make mended.

The time is linear in the text: every scan is charged to a budget of a few lengths of the text, and the repair library,
which can be quadratic, sees short passages only.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import deque
from dataclasses import dataclass
from typing import Any

from captain.decide.reasoning import strip_reasoning

_DECODER = json.JSONDecoder(strict=False)
_BRACKET = re.compile(r"[{\[]")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\],]', re.S)
_TIDY = re.compile(r'"(?:[^"\\]++|\\.)*+"|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/|,(?=\s*+[}\]])', re.S)
_OBJECT_START = re.compile(r"""\{\s*+(?:["'}]|//|/\*|\w++\s*+:)""")
_LIST_START = re.compile(r"""\[\s*+(?:["'{\[\]\d-]|//|/\*|(?:true|false|null|True|False|None)\b)""")
_MAX_DEPTH = 500
_MAX_LITERAL = 200_000
_MAX_REPAIR = 20_000
_MAX_REPAIRED = 100_000
_MAX_MENDED = 200
_MAX_MENDED_CHARS = 2_000_000
_SEGMENT = 512
_FAILURE = 50
_CUTS = 6
_NOTHING = object()


@dataclass(frozen=True)
class JsonValue:
    """A value found in a text."""

    value: Any
    exact: bool
    """It stood there as valid JSON, nothing was mended."""


def read_json(text: str) -> Any:
    """Gives the JSON value that a reply holds.

    Understands code fences, prose and reasoning around it, trailing commas, comments, single quotes and Python
    literals, and an end that was cut off. Of several values objects go before lists, exact before mended, later before
    earlier.

    Raises:
        ValueError: There is none.
    """
    values = json_values(text)
    if not values:
        raise ValueError("the reply is empty" if not text.strip() else "the reply holds no JSON")
    return values[0].value


def json_values(text: str, *, inside_reasoning: bool = True) -> list[JsonValue]:
    """Gives all values that stand in a text beside each other, the best first.

    Args:
        text: A reply.
        inside_reasoning: Where nothing stands outside of reasoning, look into it (some models never close it).
    """
    found = _find(text, inside_reasoning=inside_reasoning)
    order = sorted(enumerate(found), key=lambda item: (*_rank(item[1]), item[0]), reverse=True)
    return [value for _, value in order]


def json_values_in_order(text: str) -> list[Any]:
    """Gives all values that stand in a text beside each other, in the order of their places."""
    return [found.value for found in _find(text, inside_reasoning=False)]


def _find(text: str, *, inside_reasoning: bool) -> list[JsonValue]:
    stripped = strip_reasoning(text)
    for whole in (text, stripped):
        try:
            return [JsonValue(json.loads(whole), exact=True)]
        except (ValueError, RecursionError):
            continue
    found = _Scan(stripped).values()
    if not found and inside_reasoning and len(stripped) < len(text.strip()):
        found = _Scan(text).values()
    return found


def _rank(found: JsonValue) -> tuple[bool, bool]:
    return isinstance(found.value, dict), found.exact


class _Scan:
    """One pass over a text for the values in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = 3 * len(text) + 10_000
        self._repairs = _MAX_REPAIRED
        self._mends = _MAX_MENDED

    def values(self) -> list[JsonValue]:
        """Gives the values in the order of their places."""
        found: list[JsonValue] = []
        place = 0
        while self._budget > 0 and (bracket := _BRACKET.search(self._text, place)):
            start = bracket.start()
            place = start + 1
            plausible = _OBJECT_START if self._text[start] == "{" else _LIST_START
            if not plausible.match(self._text, start):
                continue
            value, end = self._exact(start)
            exact = value is not _NOTHING
            if not exact and self._mends > 0:
                self._mends -= 1
                value, end = self._mended(start)
            if value is not _NOTHING:
                found.append(JsonValue(value, exact))
            place = end
        return found

    def _exact(self, start: int) -> tuple[Any, int]:
        # In growing segments, because an error of the decoder counts the lines of the whole text it was given.
        size = _SEGMENT
        while True:
            segment = self._text[start : start + size]
            try:
                value, length = _DECODER.raw_decode(segment)
                return value, start + length
            except json.JSONDecodeError as error:
                self._budget -= error.pos + _FAILURE
                cut = error.pos > len(segment) - 16 or error.msg.startswith("Unterminated string")
                if not cut or start + size >= len(self._text):
                    return _NOTHING, start + 1
                size *= 16
            except (ValueError, RecursionError):
                # Too long a number or too deep: how far the decoder came is not told.
                self._budget -= len(self._text) // 16
                return _NOTHING, start + 1

    def _mended(self, start: int) -> tuple[Any, int]:
        end, too_deep = self._closing(start)
        if too_deep:
            return _NOTHING, start + 1
        if end is None and len(self._text) - start > _MAX_MENDED_CHARS:
            return _NOTHING, len(self._text)
        chunk = self._text[start:end]
        value = close_truncated(chunk) if end is None else _tolerant(chunk)
        if value is _NOTHING and len(chunk) <= min(_MAX_REPAIR, self._repairs):
            self._repairs -= len(chunk)
            value = _repair(chunk)
        if value is _NOTHING:
            return _NOTHING, start + 1
        return value, len(self._text) if end is None else end

    def _closing(self, start: int) -> tuple[int | None, bool]:
        """Finds where the bracket at `start` closes (None: nowhere near), and whether what it holds is too deep."""
        depth = 0
        limit = start + _MAX_MENDED_CHARS
        for token in _TOKEN.finditer(self._text, start, limit):
            mark = token.group()
            if mark in "{[":
                depth += 1
            elif mark in "}]":
                depth -= 1
            if depth == 0 or depth > _MAX_DEPTH:
                self._budget -= token.end() - start
                return token.end(), depth > 0
        self._budget -= min(len(self._text), limit) - start
        return None, False


def _tolerant(chunk: str) -> Any:
    """Reads JSON with trailing commas and comments, or a Python literal."""
    value = _tidied(chunk)
    if value is not _NOTHING or len(chunk) > _MAX_LITERAL:
        return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(chunk)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return _NOTHING
    return _as_json(value) if isinstance(value, dict | list) else _NOTHING


def _as_json(value: Any) -> Any:
    """Gives a Python literal as JSON has it: tuples and sets as lists, keys as text; nothing where it holds more."""
    try:
        return json.loads(json.dumps(value, default=_listed))
    except (TypeError, ValueError, RecursionError):
        return _NOTHING


def _listed(value: Any) -> list[Any]:
    if isinstance(value, set):
        return sorted(value, key=repr)
    raise TypeError(f"no JSON: {type(value).__name__}")


def _tidied(chunk: str) -> Any:
    tidy = _TIDY.sub(lambda match: match.group() if match.group().startswith('"') else "", chunk)
    try:
        return _DECODER.decode(tidy)
    except (ValueError, RecursionError):
        return _NOTHING


def close_truncated(chunk: str) -> Any:
    """Reads JSON whose end is missing; a number or word that may be cut short is left out."""
    cuts: deque[int] = deque(maxlen=_CUTS)
    mark, end = "", 0
    for token in _TOKEN.finditer(chunk):
        mark, end = token.group(), token.end()
        if mark in "{[":
            cuts.append(end)
        elif mark == ",":
            cuts.append(token.start())
    inside_string = mark.startswith('"') and end == len(chunk) and not _ends(mark)
    if inside_string:
        chunk = chunk.removesuffix("\\") + '"'
    places = list(reversed(cuts))
    if inside_string or not chunk[end:].strip():
        places.insert(0, len(chunk))
    for place in places:
        value = _tidied(chunk[:place] + _closers(chunk[:place]))
        if value is not _NOTHING:
            return value
    return _NOTHING


def _closers(chunk: str) -> str:
    """Gives the brackets that close what a text leaves open."""
    closers: list[str] = []
    for token in _TOKEN.finditer(chunk):
        mark = token.group()
        if mark in "{[":
            closers.append("}" if mark == "{" else "]")
        elif mark in "}]" and closers:
            closers.pop()
    return "".join(reversed(closers))


def _ends(string: str) -> bool:
    """Says whether a string token has its closing quote."""
    if len(string) < 2 or not string.endswith('"'):
        return False
    backslashes = len(string) - 1 - len(string[:-1].rstrip("\\"))
    return backslashes % 2 == 0


def _repair(chunk: str) -> Any:
    import json_repair

    try:
        value = json_repair.loads(chunk, skip_json_loads=True)
    except Exception:  # whatever a strange text does to the library: then it is not JSON
        return _NOTHING
    return value if value and isinstance(value, dict | list) else _NOTHING
