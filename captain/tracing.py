"""Spans of OpenTelemetry by the GenAI conventions, through the host's own provider; off unless the settings say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

Operation = Literal["invoke_agent", "chat", "execute_tool"]
_on: ContextVar[bool] = ContextVar("captain_tracing", default=False)


class Span:
    """A span that is under way, or nothing where tracing is off."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Adds attributes; those without a value are left out."""
        if self._span is not None:
            self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})


@contextmanager
def tracing(enabled: bool) -> Iterator[None]:
    """Turns spans on or off for everything that the block starts."""
    token = _on.set(enabled)
    try:
        yield
    finally:
        _on.reset(token)


@contextmanager
def span(operation: Operation, name: str, attributes: Mapping[str, Any] | None = None) -> Iterator[Span]:
    """A span around the block; what leaves the block as an exception is noted on it.

    No text of prompts, replies or tools becomes an attribute.

    Args:
        operation: The operation's name in the conventions.
        name: The model, agent or tool.
        attributes: More attributes, by their names in the conventions.
    """
    if not _on.get():
        yield Span()
        return
    from opentelemetry import trace

    kind = trace.SpanKind.CLIENT if operation == "chat" else trace.SpanKind.INTERNAL
    given = {"gen_ai.operation.name": operation, **(attributes or {})}
    known = {key: value for key, value in given.items() if value is not None}
    tracer = trace.get_tracer("captain")
    with tracer.start_as_current_span(f"{operation} {name}", kind=kind, attributes=known) as started:
        try:
            yield Span(started)
        except BaseException as error:
            started.set_attribute("error.type", type(error).__qualname__)
            raise
