"""Spans for the host's provider: by the conventions when asked for, none otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from autogen_core import FunctionCall
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from captain import Captain

CaptainWith = Callable[..., Captain]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """The host's provider; gives our finished spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", lambda name, *_, **__: provider.get_tracer(name))
    return lambda: [s for s in exporter.get_finished_spans() if s.instrumentation_scope.name == "captain"]


def solved(captain_with: CaptainWith, make_model: Any, steps: Any, settings: dict[str, Any]) -> Any:
    def expert(ask: Any) -> Any:
        if "FunctionExecutionResultMessage" in ask.forms:
            return "FINAL ANSWER: two"
        return [FunctionCall(id="7", name="count_text", arguments='{"text": "secret words"}')]

    model = make_model({"planner": steps.plan(steps.part("Historian", method="recall")), "expert": expert})
    tools = {"tools.enabled": True, "tools.modules": ["tools_library.text"], "tools.threshold": -1.0, "tools.top_k": 50}
    return captain_with(model, {**tools, **settings}).solve("Count the words.")


def test_a_run_gives_spans_by_the_conventions(
    captain_with: CaptainWith, make_model: Any, steps: Any, spans: Callable[[], list[Any]]
) -> None:
    result = solved(captain_with, make_model, steps, {"telemetry": True})
    found = spans()
    names = [span.name for span in found]
    assert names.count("chat test") == result.usage.calls
    assert "invoke_agent captain" in names and "invoke_agent team" in names
    chat = next(span for span in found if span.name == "chat test")
    assert chat.attributes["gen_ai.operation.name"] == "chat" and chat.kind is trace.SpanKind.CLIENT
    assert chat.attributes["gen_ai.usage.input_tokens"] > 0 and chat.attributes["gen_ai.request.model"] == "test"
    root = next(span for span in found if span.name == "invoke_agent captain")
    assert all(span.context.trace_id == root.context.trace_id for span in found)
    assert [s.attributes["gen_ai.tool.name"] for s in found if s.name.startswith("execute_tool")] == ["count_text"]
    assert "secret words" not in str([dict(span.attributes) for span in found])


def test_nothing_is_traced_by_default(
    captain_with: CaptainWith, make_model: Any, steps: Any, spans: Callable[[], list[Any]]
) -> None:
    solved(captain_with, make_model, steps, {})
    assert spans() == []
