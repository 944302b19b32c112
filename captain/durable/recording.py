"""The record of a run: each step has an identity, and a step that is on record is not done again.

Resume is re-execution: the same code runs again and takes recorded results until they end. Replay is the same with
nothing else allowed.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from captain.durable.branches import current_branch
from captain.durable.reading import Entry, on_record
from captain.errors import CaptainError, NotRecorded, ToolError
from captain.journal import Run, plain
from captain.secrets import scrub

if TYPE_CHECKING:
    from captain.models import ModelCall

_ERRORS = {"ToolError": ToolError}


@dataclass(frozen=True)
class Identity:
    """Which step this is: equal for the same step in each execution of a run, whatever runs beside it."""

    branch: str
    kind: str
    request: str
    """SHA-256 over everything that shapes the outcome."""
    number: int
    """How many equal steps of the branch came before."""

    def key(self, run: str) -> str:
        """A name for the step that no other step of any run has: an idempotency key."""
        text = "\n".join([run, self.branch, self.kind, self.request, str(self.number)])
        return hashlib.sha256(text.encode()).hexdigest()[:32]


class UnknownOutcome(CaptainError):
    """A step was begun before the run was interrupted, its end is not on record, and it must not be done twice."""


class Recording:
    """What happened in a run so far, and where what happens now is added. Safe between threads and tasks."""

    def __init__(self, run: Run, entries: Sequence[Entry] = (), *, strict: bool = False) -> None:
        """
        Args:
            run: The run that is written to.
            entries: What is on record.
            strict: Nothing may happen that is not on record (replay).
        """
        self.run = run
        self.strict = strict
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._ends: dict[Identity, Entry] = {}
        self._begun: set[Identity] = set()
        self._told: Counter[str] = Counter()
        self._last: dict[str, int] = {}
        self._places: dict[Identity, int] = {}
        self._unknown: list[str] = []
        for place, entry in enumerate(entries):
            self._take(place, entry)

    def _take(self, place: int, entry: Entry) -> None:
        identity = _identity_of(entry)
        if identity is None:
            self._told[_told(entry)] += 1
            return
        self._last[identity.branch] = place
        if entry.get("phase") == "begin":
            self._begun.add(identity)
        else:
            self._ends[identity] = entry
            self._places[identity] = place

    @property
    def resumed(self) -> bool:
        """Whether anything was on record at the start."""
        return bool(self._ends or self._told)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What was begun, has no recorded end and was not repeated; one line each."""
        return tuple(self._unknown)

    def is_told(self, kind: str, **data: Any) -> bool:
        """Whether an event is on record already; each recorded one counts once."""
        key = _told({"kind": kind, **data})
        with self._lock:
            if self._told[key] <= 0:
                return False
            self._told[key] -= 1
            return True

    def identify(self, kind: str, request: Any) -> Identity:
        """Gives the next equal step of this branch its identity.

        Args:
            kind: What sort of step it is.
            request: JSON data that shapes its outcome, or a hash of it.
        """
        digest = request if isinstance(request, str) and len(request) == 64 else _digest(request)
        branch = current_branch()
        with self._lock:
            number = self._counts[branch, kind, digest]
            self._counts[branch, kind, digest] += 1
        return Identity(branch, kind, digest, number)

    def find(self, identity: Identity) -> Entry | None:
        """The recorded end of a step, if there is one."""
        return self._ends.get(identity)

    def lookup(self, identity: Identity) -> Entry | None:
        """The recorded end of a step; None when it is still to be done.

        Raises:
            NotRecorded: This is a replay and the step is not on record.
        """
        found = self._ends.get(identity)
        if found is None and self.strict:
            place = f" on branch {identity.branch!r}" if identity.branch else ""
            raise NotRecorded(
                f"replay: the code asks for a {identity.kind.replace('_', ' ')} that was not recorded{place}; "
                "code, settings or library differ from the recording"
            )
        return found

    def write_end(self, identity: Identity, **data: Any) -> None:
        """Records the end of a step."""
        self.run.write(identity.kind, **_named(identity), **data)

    async def step(
        self, kind: str, request: Any, work: Callable[[str], Awaitable[Any]], *, repeatable: bool = True
    ) -> Any:
        """Does a step once: a recorded one gives its recorded outcome.

        Args:
            kind: What sort of step it is.
            request: JSON data that shapes its outcome.
            work: Does it; gets its idempotency key and gives JSON data.
            repeatable: It may be done again when it was begun and its end is not on record.

        Returns:
            The outcome, as JSON gives it back.

        Raises:
            ToolError: As `work` raises it, also from the record.
            UnknownOutcome: It must not be repeated, and nobody knows what came of it.
            NotRecorded: This is a replay and the step is not on record.
        """
        identity = self.identify(kind, request)
        known = self.lookup(identity)
        if known is not None:
            return _outcome(known)
        if not repeatable:
            if identity in self._begun:
                return self._give_up(identity)
            self.run.write(kind, **_named(identity), phase="begin", request=request)
        try:
            value = await work(identity.key(self.run.folder.name))
        except ToolError as error:
            self.write_end(identity, request=request, error={"type": "ToolError", "text": str(error)})
            raise
        self.write_end(identity, request=request, value=value)
        return value

    def _give_up(self, identity: Identity) -> Any:
        text = (
            f"this {identity.kind} was begun before the run was interrupted; whether it took effect is unknown, "
            "and it was not repeated"
        )
        self._unknown.append(f"{identity.kind} on branch {identity.branch or 'root'}: {text}")
        self.write_end(identity, error={"type": "UnknownOutcome", "text": text})
        raise UnknownOutcome(text)

    # The three methods below serve model clients (`captain.models.calls.CallMemory`).

    def name_call(self, call: ModelCall) -> ModelCall:
        """Gives a model call its identity."""
        identity = self.identify("model_call", call.request_hash)
        return replace(call, branch=identity.branch, number=identity.number)

    def recall(self, call: ModelCall) -> ModelCall | None:
        """A recorded call instead of one that would be paid again.

        A call that failed is tried again, unless the run went on after it.

        Raises:
            NotRecorded: This is a replay and the call is not on record.
        """
        from captain.models.calls import ModelCall

        identity = Identity(call.branch, "model_call", call.request_hash, call.number)
        entry = self.lookup(identity)
        if entry is None:
            return None
        if entry.get("error") and not self.strict and self._last[call.branch] == self._places[identity]:
            return None
        with on_record("model_call"):
            return replace(ModelCall.from_dict(entry), recorded=True)


def _digest(request: Any) -> str:
    text = json.dumps(request, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _named(identity: Identity) -> dict[str, Any]:
    return {"branch": identity.branch, "request_hash": identity.request, "number": identity.number}


def _identity_of(entry: Entry) -> Identity | None:
    branch, request, number = entry.get("branch"), entry.get("request_hash"), entry.get("number")
    if isinstance(branch, str) and isinstance(request, str) and type(number) is int:
        return Identity(branch, entry["kind"], request, number)
    return None


def _told(entry: Entry) -> str:
    """What makes two events the same: everything but the time."""
    data = {key: value for key, value in entry.items() if key != "t"}
    return scrub(json.dumps(data, sort_keys=True, default=plain))


def _outcome(entry: Entry) -> Any:
    error = entry.get("error")
    if isinstance(error, dict):
        text = str(error.get("text", ""))
        raise _ERRORS.get(str(error.get("type")), UnknownOutcome)(text)
    return entry.get("value")
