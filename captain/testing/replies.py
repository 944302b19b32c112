"""What a test model says and how a test endpoint fails: plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from captain.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from autogen_core import FunctionCall

FinishReason = Literal["stop", "length", "function_calls", "content_filter", "unknown"]
FaultKind = Literal["status", "hang", "drip", "reset", "malformed", "body", "empty_choices", "null_content"]


class ScriptExhausted(ModelError):
    """A `ScriptedModel` was called after its last reply."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply of a test model.

    Token counts that are absent are estimated from the texts.
    """

    text: str = ""
    tool_calls: Sequence[FunctionCall] = ()
    finish_reason: FinishReason | None = None
    """`function_calls` or `stop`, by what the reply holds, when absent."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    thought: str | None = None
    """Reasoning that the endpoint returns apart from the text."""

    @property
    def finish(self) -> FinishReason:
        """The reason that is reported."""
        return self.finish_reason or ("function_calls" if self.tool_calls else "stop")

    def estimated_completion_tokens(self) -> int:
        """Gives the stated count, else an estimate from text, reasoning and calls."""
        if self.completion_tokens is not None:
            return self.completion_tokens
        calls = "".join(call.name + call.arguments for call in self.tool_calls)
        return estimate_tokens(self.text + (self.thought or "") + calls)


ReplyLike: TypeAlias = "str | Reply | list[FunctionCall] | tuple[FunctionCall, ...]"


def to_reply(reply: ReplyLike) -> Reply:
    """Gives text or a list of calls the full form.

    Raises:
        ConfigError: It is none of the forms a reply can have.
    """
    if isinstance(reply, Reply):
        return reply
    if isinstance(reply, str):
        return Reply(text=reply)
    if isinstance(reply, list | tuple):
        return Reply(tool_calls=tuple(reply))
    raise ConfigError(f"a reply must be text, a list of FunctionCall or a Reply, not {reply!r}")


def estimate_tokens(text: str) -> int:
    """Estimates the tokens of a text: four characters each, as English and code have on average."""
    return -(-len(text) // 4)


@dataclass(frozen=True)
class Fault:
    """How one request to `serve` fails.

    `status`: that HTTP status, with `Retry-After` where given; `hang`: no answer for `seconds`; `drip`: an answer that
    comes byte by byte for `seconds` and does not end; `reset`: the connection breaks within the answer; `malformed`: a
    body that is not JSON; `body`: the `body` given, with `status` and `headers`; `empty_choices`, `null_content`: as
    some endpoints answer.
    """

    kind: FaultKind
    status: int = 500
    """Of `status` and `body`."""
    retry_after: float | str | None = None
    """Seconds, or a date as HTTP writes it."""
    seconds: float = 3600.0
    body: str | bytes = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of a `body`; its type is JSON unless they say otherwise."""

    @property
    def raw(self) -> bytes:
        """The body as it is sent; bytes that are no text may be given as surrogates (`surrogateescape`)."""
        return self.body if isinstance(self.body, bytes) else self.body.encode("utf-8", "surrogateescape")

    def to_data(self) -> dict[str, Any]:
        """Gives JSON data that `Fault(**data)` reads."""
        return {**vars(self), "headers": dict(self.headers), "body": self.raw.decode("utf-8", "surrogateescape")}

    @classmethod
    def of(cls, fault: Fault | FaultKind | int) -> Fault:
        """Gives a status code or the name of a kind the full form."""
        if isinstance(fault, Fault):
            return fault
        return cls("status", status=fault) if isinstance(fault, int) else cls(fault)
