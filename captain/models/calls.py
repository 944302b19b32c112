"""What is known about a model call: its record, its hash and the sum over all calls of a run."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, Protocol

from captain.config import ModelSpec, Price
from captain.results import RoleUsage, Usage

if TYPE_CHECKING:
    from autogen_core.models import LLMMessage
    from pydantic import TypeAdapter

_FINISHES = ("", "stop", "length", "function_calls", "content_filter", "unknown")


@dataclass(frozen=True, slots=True)
class CallUsage:
    """Tokens of one call."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """The part of `prompt_tokens` that came from the endpoint's prefix cache."""
    estimated: bool = False
    """The endpoint did not count; the numbers are our estimate."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model, as journals and observers see it. It never holds a key."""

    role: str
    model: str
    """Name of the specification, as configs call it."""
    request_hash: str
    """SHA-256 over everything that shapes the reply; equal requests have equal hashes."""
    text: str = ""
    tool_calls: tuple[Mapping[str, str], ...] = ()
    """Requested tool calls: id, name and arguments (JSON text) of each."""
    thought: str | None = None
    finish_reason: str = ""
    usage: CallUsage = field(default_factory=CallUsage)
    usd: float | None = None
    seconds: float = 0.0
    """Time the endpoint took, over all attempts, without queueing and pauses between attempts."""
    attempts: int = 1
    error: str | None = None
    """Why the call failed for good; None when it was answered."""
    status_code: int | None = None
    """The HTTP status that a failure came with."""
    branch: str = ""
    """Where in the tree of work it belongs."""
    number: int = 0
    """How many equal calls of the branch came before."""
    recorded: bool = False
    """It was answered in an earlier process and taken from the record."""

    def to_dict(self) -> dict[str, Any]:
        """Gives the record as JSON data."""
        data = asdict(self)
        del data["recorded"]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModelCall:
        """Reads what `to_dict` gave; what is not of a call is left out.

        Raises:
            ValueError: It is no call.
        """
        known = {name: data[name] for name in cls.__slots__ if name in data}
        call = _reader().validate_python({**known, "tool_calls": known.get("tool_calls") or ()})
        wanted = ("id", "name", "arguments")
        numbers = (call.usage.prompt_tokens, call.usage.completion_tokens, call.usage.cached_tokens, call.attempts)
        amounts = (*numbers, call.seconds, call.usd or 0.0)
        if not all(0 <= amount < math.inf for amount in amounts) or call.finish_reason not in _FINISHES:
            raise ValueError("a number or a finish reason that no call has")
        if not all(name in one for one in call.tool_calls for name in wanted):
            raise ValueError("a tool call without id, name or arguments")
        return call


@lru_cache(maxsize=1)
def _reader() -> TypeAdapter[ModelCall]:
    from pydantic import TypeAdapter

    return TypeAdapter(ModelCall)


class CallMemory(Protocol):
    """What a client asks before it pays for a call."""

    @property
    def strict(self) -> bool:
        """Whether nothing may be asked that is not on record."""
        ...

    def name_call(self, call: ModelCall) -> ModelCall:
        """Gives a call its place among all calls of the run (`branch`, `number`)."""
        ...

    def recall(self, call: ModelCall) -> ModelCall | None:
        """Gives the recorded answer to a call, if there is one."""
        ...


def cost(usage: CallUsage, price: Price | None) -> float | None:
    """Says what a call cost in US dollars, or None where the price is not known."""
    if price is None:
        return None
    cached_price = price.prompt if price.cached_prompt is None else price.cached_prompt
    fresh = usage.prompt_tokens - usage.cached_tokens
    total = fresh * price.prompt + usage.cached_tokens * cached_price + usage.completion_tokens * price.completion
    return total / 1e6


def request_hash(
    spec: ModelSpec,
    *,
    messages: Sequence[LLMMessage],
    tools: Sequence[Mapping[str, Any]],
    tool_choice: str,
    arguments: Mapping[str, Any],
) -> str:
    """Hashes everything that shapes a reply, and nothing that does not (addresses, keys, time-outs)."""
    model = [spec.provider, spec.model, spec.weights, spec.native_tools]
    texts = [_message_data(message) for message in messages]
    data = json.dumps([model, texts, list(tools), tool_choice, dict(arguments)], sort_keys=True, default=str)
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


def _message_data(message: LLMMessage) -> Any:
    content: Any = message.content
    if isinstance(content, str):
        return [message.type, getattr(message, "source", ""), content]
    return message.model_dump(mode="json")


class Meter:
    """Adds up calls, tokens, time and money, per role and in all. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._roles: dict[str, RoleUsage] = {}
        self._under_way = 0

    def begin(self) -> None:
        """Notes that a request goes out."""
        with self._lock:
            self._under_way += 1

    def end(self) -> None:
        """Notes that a request came back, whatever came of it."""
        with self._lock:
            self._under_way -= 1

    @property
    def under_way(self) -> int:
        """Requests that are out at this moment."""
        return self._under_way

    def add(self, call: ModelCall) -> None:
        """Counts a call that was answered."""
        used = call.usage
        spent = RoleUsage(
            calls=1,
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cached_tokens=used.cached_tokens,
            seconds=call.seconds,
            usd=call.usd,
        )
        with self._lock:
            before = self._roles.get(call.role)
            self._roles[call.role] = spent if before is None else before.plus(spent)

    def usage(self) -> Usage:
        """Gives what was spent until now; `usd` is None as soon as one used model has no known price."""
        with self._lock:
            roles = dict(self._roles)
        total = reduce(RoleUsage.plus, roles.values(), RoleUsage(usd=0.0))
        return Usage(**total.model_dump(), by_role=roles)
