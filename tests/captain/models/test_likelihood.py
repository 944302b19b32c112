"""Forced decoding against a stand-in for llama.cpp's server that scores the words of a text."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import httpx
import pytest

from captain.errors import ModelError
from captain.models.likelihood import loglikelihood, loglikelihoods


class Handler(BaseHTTPRequestHandler):
    """Token numbers are word lengths; a token's log-probability is minus its number over the prompt's length."""

    busiest: ClassVar[int] = 0
    busy: ClassVar[int] = 0
    lock: ClassVar[threading.Lock] = threading.Lock()
    fault: ClassVar[str] = ""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self._answer(200, {"tokens": [len(word) for word in body["content"].split()]})
            return
        with self.lock:
            Handler.busy += 1
            Handler.busiest = max(Handler.busiest, Handler.busy)
        time.sleep(0.02)
        with self.lock:
            Handler.busy -= 1
        if self.fault == "too long" and body["prompt"].startswith("long"):
            self._answer(400, {"error": {"message": "exceeds the available context size"}})
            return
        tokens = [int(piece[2:-2]) for piece in body["grammar"].removeprefix("root ::= ").split()]
        assert body["max_tokens"] == len(tokens)
        content = [{"id": token, "logprob": -token / len(body["prompt"])} for token in tokens]
        timings = {}
        if self.fault == "guesses" and len(tokens) > 1:
            timings, content[-1]["logprob"] = {"draft_n": 1}, 0.0
        if self.fault == "short":
            content.pop()
        scored = None if self.fault == "none" else {"content": content}
        self._answer(200, {"choices": [{"logprobs": scored}], "timings": timings})

    def _answer(self, code: int, data: dict[str, Any]) -> None:
        body = json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in (("busiest", 0), ("busy", 0), ("fault", "")):
        monkeypatch.setattr(Handler, name, value)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_the_log_probabilities_of_the_texts_tokens_are_added(address: str) -> None:
    assert await loglikelihood(address, "0123456789", "one three") == pytest.approx(-0.8)
    async with httpx.AsyncClient() as client:
        assert await loglikelihood(address, "01234", "one three", http=client) == pytest.approx(-1.6)


async def test_tokens_that_the_server_guessed_ahead_are_scored_one_by_one(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handler, "fault", "guesses")
    assert await loglikelihood(address, "two words", "one three") == pytest.approx(-3 / 2 - 5 / 3)


async def test_an_empty_text_is_certain() -> None:
    assert await loglikelihood("http://127.0.0.1:9/v1", "anything", "") == 0.0


async def test_many_prompts_keep_their_order_and_the_bound(address: str) -> None:
    prompts = ["x" * length for length in range(1, 13)]
    scores = await loglikelihoods(address, prompts, "word", concurrency=3)
    assert scores == [pytest.approx(-4 / length) for length in range(1, 13)]
    assert 1 < Handler.busiest <= 3


@pytest.mark.parametrize(
    ("fault", "reason"), [("none", "returned no log-probabilities"), ("short", "1 of 2"), ("too long", "400.*context")]
)
async def test_a_server_that_does_not_score_is_an_error(
    address: str, monkeypatch: pytest.MonkeyPatch, fault: str, reason: str
) -> None:
    monkeypatch.setattr(Handler, "fault", fault)
    with pytest.raises(ModelError, match=reason):
        await loglikelihoods(address, ["long prompt", "long other"], "two words")


async def test_a_server_that_is_gone_is_an_error() -> None:
    with pytest.raises(ModelError, match="ConnectError"):
        await loglikelihood("http://127.0.0.1:9/v1", "a", "b")


async def test_a_score_that_trickles_is_bounded_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.05)

    monkeypatch.setattr("captain.models.likelihood._SECONDS", 0.4)
    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    start = time.monotonic()
    with pytest.raises(ModelError, match="cannot be used: TimeoutError"):
        await loglikelihood(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "a", " b")
    assert time.monotonic() - start < 3
    server.close()
