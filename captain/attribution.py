"""What failed in a run, where, and which step first went wrong, as far as the record shows.

Everything is read from the events of the run, so a result, a journal and a run that was killed are judged alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from captain.durable.reading import on_record
from captain.results import Failure

_TOLD = 300
_CUT = {
    "length": "raise `model.max_output_tokens`, or let the model think less",
    "content_filter": "the endpoint's filter stopped it",
}
_SPOKEN = ("message", "execution", "tool_call")


@dataclass
class FailureLog:
    """Takes the events of a run in their order and notes what failed."""

    failures: list[Failure] = field(default_factory=list)
    _steps: Counter[str] = field(default_factory=Counter)
    _authors: dict[str, str] = field(default_factory=dict)

    def take(self, kind: str, event: Mapping[str, Any]) -> None:
        """Notes what one event tells.

        Args:
            kind: The event's kind.
            event: Its fields, as the journal keeps them.
        """
        part = str(event.get("subtask") or "")
        if kind == "model_call" and event.get("error"):
            self._add(_subtask_of(event), str(event.get("role", "")), "model", None, event["error"])
        elif kind == "model_call" and event.get("finish_reason") in _CUT:
            self._cut(event, _CUT[str(event["finish_reason"])])
        if kind in _SPOKEN and part:
            self._spoken(kind, event, part)
        if kind == "reviewed":
            self._reviewed(event, part)
        if kind == "failed_part":
            self._add(part, "", str(event.get("what", "model")), self._steps[part] or None, event.get("text", ""))

    def _cut(self, event: Mapping[str, Any], how: str) -> None:
        written = (event.get("usage") or {}).get("completion_tokens", 0)
        started = bool(str(event.get("text") or "").strip() or event.get("tool_calls"))
        place = f"after {written} tokens" if started else f"before its first word, after {written} tokens"
        self._add(
            _subtask_of(event), str(event.get("role", "")), "model", None, f"the reply was cut off {place}: {how}"
        )

    def _spoken(self, kind: str, event: Mapping[str, Any], part: str) -> None:
        step = self._steps[part]
        self._steps[part] += 1
        member = str(event.get("member") or event.get("source") or "")
        if kind == "tool_call" and event.get("is_error"):
            self._add(part, member, "tool", step, f"{event.get('tool')}: {event.get('result')}")
        if kind == "execution" and str(event.get("exit_code", "0")) != "0":
            self._add(part, member, "program", step, _last_line(str(event.get("text", ""))))

    def _reviewed(self, event: Mapping[str, Any], part: str) -> None:
        step = self._steps[part] - 1 if self._steps[part] else None
        for claim in event.get("unsupported_claims") or ():
            self._add(part, "", "claim", step, f"nothing supports: {claim}")
        for one in event.get("contradictions") or ():
            self._add(part, "", "claim", step, f"members contradict each other: {one}")
        if event.get("verdict") != "accept":
            for issue in event.get("issues") or ():
                self._add(part, "", "claim", step, f"refused by the review: {issue}")

    def _add(self, part: str, member: str, what: str, step: int | None, detail: Any) -> None:
        text = " ".join(str(detail).split())[:_TOLD]
        self.failures.append(
            Failure.model_validate({"subtask": part, "member": member, "what": what, "step": step, "detail": text})
        )


def failures_in(entries: Iterable[Mapping[str, Any]]) -> list[Failure]:
    """What failed in a run, from its journal, first things first.

    Raises:
        ConfigError: A line of the journal is damaged.
    """
    log = FailureLog()
    for entry in entries:
        with on_record(str(entry["kind"])):
            log.take(str(entry["kind"]), entry)
    return log.failures


def first_wrong(failures: Iterable[Failure]) -> Failure | None:
    """The step that first went wrong: a failed one counts before what a later review only says of the whole."""
    found = list(failures)
    hard = [failure for failure in found if failure.what != "claim"]
    return next(iter(hard), None) or next(iter(found), None)


def _subtask_of(event: Mapping[str, Any]) -> str:
    """The subtask in whose branch a model call was made; empty for planning, casting and finishing."""
    parts = str(event.get("branch", "")).split("/")
    return parts[-1] if len(parts) > 1 and parts[-2].startswith("plan") else ""


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "the program failed"
