"""Reads the body of an answer: what endpoints get wrong is mended where its meaning is plain, else refused.

What comes out always fits the schema of a chat completion, so that nothing behind it stumbles over a wrong type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from captain.models.calls import CallUsage
from captain.models.failures import EndpointError, detail_of, line

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

_FINISHES = frozenset({"stop", "length", "content_filter"})
_CUT_SHORT = frozenset({"max_tokens", "model_length"})
_BROKEN_OFF = frozenset({"error", "abort"})
_MOST_TOKENS = 10**12
"""A count above this is no count."""


def read_completion(content: bytes, place: str, *, key: str = "") -> tuple[ChatCompletion, CallUsage | None]:
    """Reads a chat completion and what it took.

    Args:
        content: The body as it came.
        place: Model and address, for messages.
        key: The key in use, to be blotted out should the endpoint repeat it.

    Returns:
        A completion with one choice; its usage is None where the endpoint did not count or gave no sensible numbers.

    Raises:
        EndpointError: It is none.
    """
    from openai.types.chat import ChatCompletion

    data = _json(content, place)
    told = data.get("error")
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        detail = f": {line(detail_of(told), key)}" if told else ""
        raise _broken(f"{place}: an answer without choices{detail}")
    choice = choices[0]
    if not isinstance(choice, Mapping) or not isinstance(choice.get("message"), Mapping):
        raise _broken(f"{place}: an answer without a message")
    if choice.get("error") or str(choice.get("finish_reason")) in _BROKEN_OFF:
        raise _broken(f"{place}: the reply broke off: {line(detail_of(choice.get('error') or 'no reason given'), key)}")
    message = _message(choice["message"], place)
    clean = {
        "id": plain_text(str(data.get("id") or "")),
        "object": "chat.completion",
        "created": 0,
        "model": plain_text(str(data.get("model") or "")),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(choice, message), "logprobs": None}],
    }
    return ChatCompletion.model_validate(clean), _usage(data.get("usage"))


def _json(content: bytes, place: str) -> dict[str, Any]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        if content[:200].lstrip()[:1] == b"<" or not content.strip():
            raise _no_completion(place) from error
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else line(str(error), "")
        raise _broken(f"{place}: the answer is not JSON ({reason})") from error
    if not isinstance(data, dict) or not ("choices" in data or "error" in data):
        raise _no_completion(place)
    return data


def _no_completion(place: str) -> EndpointError:
    message = f"{place}: the answer is not a chat completion; does `base_url` end where the API begins (/v1)?"
    return EndpointError(message, answered=True)


def _broken(message: str) -> EndpointError:
    """A fault that may pass; once more is enough to see."""
    return EndpointError(message, transient=True, retries=1, answered=True)


def _message(message: Mapping[str, Any], place: str) -> dict[str, Any]:
    clean: dict[str, Any] = {"role": "assistant", "content": _content(message.get("content"), place)}
    refusal = message.get("refusal")
    if not clean["content"] and isinstance(refusal, str):
        clean["content"] = plain_text(refusal)
    if isinstance(reasoning := message.get("reasoning_content"), str):
        clean["reasoning_content"] = plain_text(reasoning)
    calls = message.get("tool_calls") or []
    if not calls and message.get("function_call"):
        calls = [{"function": message["function_call"]}]
    if not isinstance(calls, list):
        raise _wrong(place, "tool_calls", calls)
    if calls:
        clean["tool_calls"] = [_call(call, place) for call in calls]
    return clean


def _content(content: Any, place: str) -> str | None:
    """The text of a message; some endpoints give it in parts."""
    if content is None:
        return None
    if isinstance(content, str):
        return plain_text(content)
    if isinstance(content, list) and all(isinstance(part, str | Mapping) for part in content):
        texts = [part if isinstance(part, str) else part.get("text", "") for part in content]
        if all(isinstance(text, str) for text in texts):
            return plain_text("".join(texts))
    raise _wrong(place, "content", content)


def _call(call: Any, place: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        raise _wrong(place, "tool_calls", call)
    arguments = function.get("arguments")
    if arguments is None:
        arguments = "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    mark = call.get("id")
    mark = plain_text(mark) if isinstance(mark, str) and mark else uuid4().hex
    return {"id": mark, "type": "function", "function": {"name": plain_text(name), "arguments": plain_text(arguments)}}


def _wrong(place: str, field: str, value: Any) -> EndpointError:
    return _broken(f"{place}: `{field}` of the answer is of a wrong type ({type(value).__name__})")


def _finish(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    reason = choice.get("finish_reason")
    if "tool_calls" in message:
        return "tool_calls"
    if not isinstance(reason, str):
        return "stop"
    return "length" if reason in _CUT_SHORT else reason if reason in _FINISHES else "stop"


def plain_text(text: str) -> str:
    """A text that can be written as UTF-8: halves of characters, which JSON can hold, become question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _usage(usage: Any) -> CallUsage | None:
    if not isinstance(usage, Mapping):
        return None
    prompt, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or written is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return CallUsage(prompt, written, min(cached or 0, prompt))


def _count(value: Any) -> int | None:
    """A number of tokens; also as text or with a decimal point, as some endpoints write it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return None
    return int(value)
