"""`decide`: a typed answer from a model, whatever the endpoint can do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from captain.decide.json_text import json_values
from captain.decide.ladder import (
    Constraint,
    ask,
    constraints,
    is_refusal,
    remember_refusal,
    reply_text,
    shape_note,
    with_note,
)
from captain.decide.schema import Shape, shape_of
from captain.decide.validation import describe, validate
from captain.errors import ModelError

if TYPE_CHECKING:
    from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage

T = TypeVar("T")
How = Literal["exact", "lenient", "repaired", "fallback"]

_MAX_QUOTED = 1500


@dataclass(frozen=True)
class Decision(Generic[T]):
    """A typed answer and how it came about."""

    value: T
    how: How
    """exact: as the model wrote it; lenient: its form was mended; repaired: after asking again; fallback: the model
    gave nothing that fits, this is the caller's own."""
    repairs: int
    """How often the model was asked again."""
    error: str | None
    """What was wrong with the last reply that could not be used; None when the first could."""
    raw: str
    """The last reply as it came."""
    constraint: Constraint
    """What the endpoint was asked to enforce."""


@dataclass(frozen=True)
class _Read(Generic[T]):
    value: T | None
    error: str | None
    lenient: bool = False


async def decide(
    client: ChatCompletionClient,
    messages: Sequence[LLMMessage],
    output_type: type[T],
    *,
    repairs: int = 1,
    fallback: T | Callable[[], T] | None = None,
    max_tokens: int | None = None,
) -> Decision[T]:
    """Asks a model for a value of a type.

    The strongest constraint that the client claims is used: JSON schema, JSON mode, tool call, else plain text with the
    shape in the prompt. Where the endpoint refuses one, the next is tried, and the refusal is remembered on the client.

    Args:
        client: Any AutoGen client.
        messages: The question. It should name the fields: under a schema the shape is not repeated in the prompt.
        output_type: A pydantic model or any type that pydantic can validate.
        repairs: How often at most the model is asked again, with the error named.
        fallback: The value, or a function that gives it, when no reply can be used.
        max_tokens: The length of a reply at most.

    Raises:
        ModelError: No reply could be used and there is no fallback.
        LimitExceeded: A limit of the run was reached; it and failures of the endpoint are never turned into a fallback.
    """
    adapter: TypeAdapter[T] = TypeAdapter(output_type)
    shape = shape_of(adapter, _name(output_type))
    prompt: Sequence[LLMMessage] = messages
    last_error: str | None = None
    for attempt in range(max(0, repairs) + 1):
        result, constraint = await _ask_best(client, prompt, shape, max_tokens)
        raw = reply_text(result, shape)
        read = _read(adapter, shape, raw, truncated=result.finish_reason == "length")
        if read.error is None:
            how: How = "repaired" if attempt else ("lenient" if read.lenient else "exact")
            value: Any = read.value
            return Decision(value, how, attempt, last_error, raw, constraint)
        last_error = read.error
        prompt = _repair_prompt(messages, raw, read.error, shape)
    if fallback is None:
        raise ModelError(f"the model gave no usable {shape.name} in {repairs + 1} replies: {last_error}")
    made: Any = fallback() if callable(fallback) else fallback
    return Decision(made, "fallback", max(0, repairs), last_error, raw, constraint)


async def _ask_best(
    client: ChatCompletionClient, messages: Sequence[LLMMessage], shape: Shape, max_tokens: int | None
) -> tuple[CreateResult, Constraint]:
    able = constraints(client)
    if "json_schema" in able and shape.without_bounds() == shape.schema:
        able = [constraint for constraint in able if constraint != "json_schema_unbounded"]
    for constraint in able[:-1]:
        try:
            return await ask(client, messages, shape, constraint, max_tokens=max_tokens), constraint
        except Exception as error:
            if not is_refusal(error):
                raise
            remember_refusal(client, constraint)
    return await ask(client, messages, shape, able[-1], max_tokens=max_tokens), able[-1]


def _read(adapter: TypeAdapter[T], shape: Shape, raw: str, *, truncated: bool) -> _Read[T]:
    """Reads the best value of a reply that fits."""
    cut = "the reply was cut off: be much shorter" if truncated else None
    if not raw.strip():
        return _Read(None, cut or "the reply is empty")
    values = json_values(raw, inside_reasoning=not truncated)
    if not values:
        return _Read(None, cut or "the reply holds no JSON")
    error: str | None = None
    for found in values:
        for candidate in _candidates(found.value, shape):
            try:
                value, mended = validate(adapter, candidate)
            except ValidationError as problem:
                error = error or describe(problem)
                continue
            return _Read(value, None, lenient=mended or not found.exact or not _is_whole(raw))
    return _Read(None, cut or error)


def _candidates(value: Any, shape: Shape) -> list[Any]:
    """Gives the readings of a value: as it is, what stands under a single name (a wrapper of the model or ours), or
    the value of the only field there is."""
    fields = list(shape.schema["properties"])
    if not isinstance(value, dict):
        return [value] if shape.wrapped or len(fields) != 1 else [value, {fields[0]: value}]
    if len(value) != 1:
        return [value]
    inner = next(iter(value.values()))
    return [inner, value] if shape.wrapped and "value" in value else [value, inner]


def _is_whole(raw: str) -> bool:
    stripped = raw.strip()
    return (
        not stripped.startswith(("```", "<"))
        and stripped[:1] + stripped[-1:] in ("{}", "[]", '""')
        or (stripped.isalnum())
    )


def _repair_prompt(messages: Sequence[LLMMessage], raw: str, error: str, shape: Shape) -> list[LLMMessage]:
    from autogen_core.models import AssistantMessage, UserMessage

    note = f"That reply cannot be used: {error}.\n{shape_note(shape)}"
    if not raw.strip():
        return with_note(messages, shape_note(shape))
    quoted = raw if len(raw) <= _MAX_QUOTED else raw[:_MAX_QUOTED] + "…"
    return [
        *messages,
        AssistantMessage(content=quoted, source="assistant"),
        UserMessage(content=note, source="user"),
    ]


def _name(output_type: Any) -> str:
    name = getattr(output_type, "__name__", "") or "reply"
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:60] or "reply"
