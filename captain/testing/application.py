"""The endpoint behind `serve`, as an ASGI application."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from captain.testing.protocol import chunks, completion, embeddings
from captain.testing.replies import Fault

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

_DRIP_PAUSE = 0.05
_ODD = ("empty_choices", "null_content")


class ConnectionBroken(Exception):
    """Ends a response in its middle: the server then closes the connection."""


class Application:
    """Answers chat, models and embeddings requests, after a latency and with the faults it is given.

    Attributes:
        requests: The bodies of all chat requests, in order of arrival.
    """

    def __init__(
        self, handler: Callable[[dict[str, Any]], Any], latency: float = 0.0, faults: Sequence[Fault | None] = ()
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self._handler = handler
        self._latency = latency
        self._faults = deque(faults)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serves one request."""
        route = (scope["method"], scope["path"].rstrip("/"))
        body = await _read_body(receive)
        if route == ("GET", "/v1/models"):
            model = {"id": "test", "object": "model", "created": 0, "owned_by": "captain"}
            await _send_json(send, {"object": "list", "data": [model]})
        elif route == ("GET", "/requests"):
            await _send_json(send, self.requests)
        elif route in (("POST", "/v1/embeddings"), ("POST", "/v1/chat/completions")):
            await self._answer(route[1], body, send)
        else:
            await _send_error(send, 404, f"no route {route[0]} {route[1]}")

    async def _answer(self, path: str, raw: bytes, send: Send) -> None:
        try:
            body = json.loads(raw)
        except ValueError as error:
            return await _send_error(send, 400, f"the body is not JSON: {error}")
        if not isinstance(body, dict):
            return await _send_error(send, 400, "the body is not a JSON object")
        if path.endswith("embeddings"):
            return await _send_json(send, embeddings(body))
        if not isinstance(body.get("messages"), list):
            return await _send_error(send, 400, "messages: a list is required")
        await self._chat(body, send)

    async def _chat(self, body: dict[str, Any], send: Send) -> None:
        self.requests.append(body)
        fault = self._faults.popleft() if self._faults else None
        if self._latency:
            await asyncio.sleep(self._latency)
        if fault is not None and fault.kind not in _ODD:
            return await _fail(fault, send)
        try:
            reply = self._handler(body)
            if inspect.isawaitable(reply):
                reply = await reply
        except Exception as error:
            return await _send_error(send, 500, f"the handler failed: {type(error).__name__}: {error}")
        if isinstance(reply, Fault):
            fault, reply = reply, ""
            if fault.kind not in _ODD:
                return await _fail(fault, send)
        if fault is not None and fault.kind == "null_content":
            reply = {"content": None}
        if body.get("stream"):
            return await _send_stream(send, chunks(body, reply))
        data = completion(body, reply)
        if fault is not None and fault.kind == "empty_choices":
            data["choices"] = []
        await _send_json(send, data)


async def _fail(fault: Fault, send: Send) -> None:
    if fault.kind == "hang":
        await asyncio.sleep(fault.seconds)
        await _send_error(send, 504, "gave up waiting")
    elif fault.kind == "drip":
        await _drip(fault.seconds, send)
    elif fault.kind == "body":
        given = {name.lower().encode(): value.encode() for name, value in fault.headers.items()}
        own = {b"content-type": b"application/json", b"content-length": str(len(fault.raw)).encode()}
        await send({"type": "http.response.start", "status": fault.status, "headers": list({**own, **given}.items())})
        await send({"type": "http.response.body", "body": fault.raw})
    elif fault.kind == "reset":
        await _start(send, 200, "application/json", [(b"content-length", b"1000")])
        await send({"type": "http.response.body", "body": b'{"id"', "more_body": True})
        raise ConnectionBroken
    elif fault.kind == "malformed":
        await _start(send, 200, "application/json")
        await send({"type": "http.response.body", "body": b'{"id": "chatcmpl-1", "choices": [{"mess'})
    else:
        pause = fault.retry_after if isinstance(fault.retry_after, str) else f"{fault.retry_after or 0:g}"
        extra = [] if fault.retry_after is None else [(b"retry-after", pause.encode())]
        await _send_error(send, fault.status, "a fault was asked for", extra)


async def _drip(seconds: float, send: Send) -> None:
    await _start(send, 200, "application/json")
    for _ in range(max(1, round(seconds / _DRIP_PAUSE))):
        await send({"type": "http.response.body", "body": b" ", "more_body": True})
        await asyncio.sleep(_DRIP_PAUSE)
    raise ConnectionBroken


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _start(send: Send, status: int, kind: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    all_headers = [(b"content-type", kind.encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})


async def _send_json(send: Send, data: Any, *, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    body = json.dumps(data, ensure_ascii=False).encode()
    await _start(send, status, "application/json", [(b"content-length", str(len(body)).encode()), *headers])
    await send({"type": "http.response.body", "body": body})


async def _send_error(send: Send, status: int, text: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    data = {"error": {"message": text, "type": "test", "code": status}}
    await _send_json(send, data, status=status, headers=headers)


async def _send_stream(send: Send, pieces: Any) -> None:
    await _start(send, 200, "text/event-stream")
    for piece in pieces:
        line = f"data: {json.dumps(piece, ensure_ascii=False)}\n\n"
        await send({"type": "http.response.body", "body": line.encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
