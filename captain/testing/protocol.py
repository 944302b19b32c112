"""The bodies of an OpenAI-compatible endpoint: replies, chunks of a stream, embeddings."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from captain.testing.replies import Reply, estimate_tokens, to_reply

FINISH = {"function_calls": "tool_calls", "unknown": "stop"}


def chat_message(reply: Any) -> tuple[dict[str, Any], str, Reply]:
    """Gives the message, the finish reason and the reply of what a handler returned.

    A dict is taken as the whole message of the assistant, as it stands.
    """
    if isinstance(reply, Mapping):
        message = {"role": "assistant", "content": None, **reply}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        return message, finish, Reply(text=json.dumps(reply))
    full = to_reply(reply)
    message = {"role": "assistant", "content": full.text or (None if full.tool_calls else "")}
    if full.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in full.tool_calls
        ]
    if full.thought is not None:
        message["reasoning_content"] = full.thought
    return message, FINISH.get(full.finish, full.finish), full


def usage(body: Mapping[str, Any], reply: Reply) -> dict[str, int]:
    """Counts tokens: as the reply states, else estimated."""
    prompt = reply.prompt_tokens
    if prompt is None:
        prompt = estimate_tokens(json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False))
    completion = reply.estimated_completion_tokens()
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def completion(body: Mapping[str, Any], reply: Any) -> dict[str, Any]:
    """Gives the body of a completed chat request."""
    message, finish, full = chat_message(reply)
    return {
        "id": "chatcmpl-" + digest(body),
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "test"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": usage(body, full),
    }


def chunks(body: Mapping[str, Any], reply: Any) -> Iterator[dict[str, Any]]:
    """Gives the same reply as chunks of a stream, the usage last where the request asks for it."""
    whole = completion(body, reply)
    choice = whole["choices"][0]
    message = choice["message"]
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 0, "model": whole["model"]}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    if message.get("reasoning_content"):
        yield chunk({"reasoning_content": message["reasoning_content"]})
    for piece in re.findall(r"\S+\s*|\s+", message.get("content") or ""):
        yield chunk({"content": piece})
    for index, call in enumerate(message.get("tool_calls") or ()):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, choice["finish_reason"])
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": whole["usage"]}


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """Gives the body of an embeddings request: one vector of hashed words per text."""
    given = body.get("input", "")
    texts = [given] if isinstance(given, str) else list(given)
    vectors = [hashed_words(str(text), int(body.get("dimensions") or 256)) for text in texts]
    encode = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": base64_floats(vector) if encode else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(estimate_tokens(str(text)) for text in texts)
    return {
        "object": "list",
        "model": body.get("model", "test"),
        "data": data,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def hashed_words(text: str, dimensions: int) -> list[float]:
    """Gives a vector of length 1 (0 for no words) in which texts that share words are near each other."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()):
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        vector[(number >> 1) % dimensions] += 1.0 if number & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def base64_floats(vector: list[float]) -> str:
    """Packs a vector as 32-bit floats, as the official client asks for it."""
    return base64.b64encode(array("f", vector).tobytes()).decode()


def digest(body: Mapping[str, Any]) -> str:
    """Gives a short stable name of a request."""
    return hashlib.blake2b(json.dumps(body, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()
