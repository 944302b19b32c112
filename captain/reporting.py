"""One place that tells the journal and every listener what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from captain.attribution import FailureLog, first_wrong
from captain.durable.recording import Recording
from captain.events import Event, EventKind
from captain.journal import Run
from captain.results import Result

if TYPE_CHECKING:
    from captain.models import ModelCall

Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Reporter:
    """Writes events into a run's journal and hands them to a listener."""

    run: Run
    recording: Recording
    listener: Listener = lambda event: None
    failures: FailureLog = field(default_factory=FailureLog)

    def event(
        self, kind: EventKind, text: str, *, subtask: str | None = None, source: str | None = None, **data: Any
    ) -> None:
        """Tells one step, unless an earlier process of this run has told it."""
        self.failures.take(kind, {"text": text, "subtask": subtask, "source": source, **data})
        if self.recording.is_told(kind, text=text, subtask=subtask, source=source, **data):
            return
        self.run.write(kind, text=text, subtask=subtask, source=source, **data)
        self.listener(Event(kind=kind, text=text, subtask=subtask, source=source, data=data))

    def model_call(self, call: ModelCall) -> None:
        """Tells one call of a model; one that is on record was told when it was made."""
        self.failures.take("model_call", call.to_dict())
        if call.recorded:
            return
        usage = call.usage
        self.run.write("model_call", **call.to_dict())
        spent = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens, {call.seconds:.1f} s"
        text = f"{call.role}: {'failed' if call.error else spent}"
        self.listener(Event(kind="model_call", text=text, source=call.role, data={"model": call.model}))

    def finished(self, result: Result) -> Result:
        """Tells the end and gives the result with what failed on the way."""
        failed = self.failures.failures
        told = {"failures": list(failed), "first_failure": first_wrong(failed), "unknown": list(self.recording.unknown)}
        result = result.model_copy(update=told)
        self.run.write("finished", status=result.status, stop_reason=result.stop_reason)
        self.listener(Event(kind="finished", text=f"{result.status}: {result.stop_reason}", result=result))
        return result
