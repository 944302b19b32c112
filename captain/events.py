"""What `stream()` yields while a task is being solved: one frozen record per thing that happened."""

from __future__ import annotations

from typing import Any, Literal

from captain.results import Record, Result

EventKind = Literal[
    "started",
    "resumed",
    "notice",
    "approval",
    "model_selected",
    "planned",
    "cast",
    "message",
    "tool_call",
    "execution",
    "model_call",
    "reviewed",
    "failed_part",
    "subtask_done",
    "finished",
]


class Event(Record):
    """One step of a run, as observers see it."""

    kind: EventKind
    text: str
    """One line for people."""
    subtask: str | None = None
    source: str | None = None
    """The member, tool or role that did it."""
    data: dict[str, Any] = {}
    """Details, JSON data."""
    result: Result | None = None
    """The result; only on the last event, kind `finished`."""
