"""Each fault of an endpoint, a line each: what comes of it, how often is asked, how long it takes (docs/faults.md)."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from autogen_core.models import CreateResult, UserMessage

from captain.config import CaptainConfig, ModelSpec
from captain.errors import ModelError
from captain.models import MeteredClient, ModelCall, ModelRouter
from captain.models.failures import LONGEST_PAUSE
from captain.models.retry import LONGEST_BACK_OFF
from captain.testing import Fault, Reply, Server, serve

HELLO = [UserMessage(content="hello", source="user")]
ClientAt = Callable[..., MeteredClient]
KEY = "sk-very-secret-0123456789"
SLACK = 2.5
"""Seconds for all that is not waiting, on a busy machine."""
FIRST_PAUSE = 0.05


def completion(message: Any, *, finish: Any = "stop", **rest: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": message}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {"id": "1", "object": "chat.completion", "model": "m1", "choices": [choice], "usage": usage, **rest}


def body(data: Any, *, status: int = 200, **headers: str) -> Fault:
    """A fault that is this body: bytes and text as they are, anything else as JSON."""
    raw = data if isinstance(data, str | bytes) else json.dumps(data)
    return Fault("body", status=status, body=raw, headers={n.replace("_", "-"): v for n, v in headers.items()})


def refusal(status: int, message: str, **fields: Any) -> Fault:
    return body({"error": {"message": message, **fields}}, status=status)


def says(content: Any, **more: Any) -> Fault:
    return body(completion({"role": "assistant", "content": content, **more}))


def in_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def good(text: str) -> bytes:
    return json.dumps(completion({"role": "assistant", "content": text})).encode()


def deflated(size: int) -> bytes:
    """A body of some thousand bytes that unpacks to `size`."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    return b"".join([*(packer.compress(b" " * 2**20) for _ in range(size // 2**20)), packer.flush()])


@dataclass(frozen=True)
class Line:
    """A row of the matrix: recovers with `text`, or fails with `error` (parts of the message)."""

    name: str
    faults: Sequence[Any]
    """The first answers, in order; all later ones are healthy and say "fine"."""
    sent: int
    """Requests that reach the endpoint."""
    text: str | None = None
    error: Sequence[str] = ()
    finish: str = "stop"
    pauses: float | None = None
    """Longest sum of all pauses; by the rule of back-off where absent."""
    spec: dict[str, Any] = field(default_factory=dict)

    def longest(self, timeout: float) -> float:
        """The time it may take: the formula of docs/faults.md."""
        back_off = sum(min(LONGEST_BACK_OFF, FIRST_PAUSE * 2**n) for n in range(self.sent - 1))
        waiting = sum(isinstance(fault, str | Fault) and _kind(fault) in ("hang", "drip") for fault in self.faults)
        return timeout * waiting + (back_off if self.pauses is None else self.pauses) + SLACK


def _kind(fault: Any) -> str:
    return fault if isinstance(fault, str) else fault.kind


SHORT = {"timeout": 0.3, "retries": 1}
RECOVERS = [
    Line("429", [429], 2, "fine"),
    Line("429 Retry-After seconds", [Fault("status", 429, 0.4)], 2, "fine", pauses=0.4 * 1.1 + 0.1),
    Line("429 Retry-After date", [Fault("status", 429, in_date(-3))], 2, "fine", pauses=0.1),
    Line("429 odd Retry-After", [Fault("status", 429, "soon"), Fault("status", 429, "-7")], 3, "fine"),
    Line("500", [500, 500], 3, "fine"),
    Line("503", [503, 503, 503, 503], 5, "fine"),
    Line("503 Retry-After", [Fault("status", 503, 0.2)], 2, "fine", pauses=0.2 * 1.1 + 0.1),
    Line("529 overloaded", [529], 2, "fine"),
    Line("time-out", ["hang"], 2, "fine", spec=SHORT),
    Line("slow drip", ["drip"], 2, "fine", spec=SHORT),
    Line("reset in mid-body", ["reset"], 2, "fine"),
    Line("closed without an answer", [b""], 2, "fine"),
    Line("not HTTP", [b"SSH-2.0-OpenSSH_9.6\r\n\r\n"], 2, "fine"),
    Line("endless header", [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"], 2, "fine"),
    Line("malformed JSON", ["malformed"], 2, "fine"),
    Line("JSON nested too deep", [body("[" * 200_000)], 2, "fine"),
    Line("number too long", [body('{"choices": ' + "9" * 10_000 + "}")], 2, "fine"),
    Line("invalid UTF-8", [body(good("fin\x80e").replace(b"\\u0080", b"\xff\xfe"))], 2, "fine"),
    Line("empty choices", ["empty_choices"], 2, "fine"),
    Line("choices is null", [body(completion({}, choices=None))], 2, "fine"),
    Line("choices is a dict", [body(completion({}, choices={"0": {}}))], 2, "fine"),
    Line("choice is a text", [body(completion({}, choices=["fine?"]))], 2, "fine"),
    Line("message is null", [body(completion(None))], 2, "fine"),
    Line("content is a number", [says(5)], 2, "fine"),
    Line("content is a list of numbers", [says([1, 2])], 2, "fine"),
    Line("content is a dict", [says({"text": "fine?"})], 2, "fine"),
    Line("tool_calls is a dict", [says(None, tool_calls={"name": "f"})], 2, "fine"),
    Line("a call without a name", [says(None, tool_calls=[{"id": "1", "function": {"arguments": "{}"}}])], 2, "fine"),
    Line("an error with status 200", [body({"error": {"message": "overloaded", "code": 502}})], 2, "fine"),
    Line("broke off", [body(completion({"content": "The su"}, finish="error"))], 2, "fine"),
    Line("null content", ["null_content"], 1, ""),
    Line("content in parts", [says([{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}])], 1, "fine"),
    Line("half a character", [says("fine \ud83d")], 1, "fine ?"),
    Line("a refusal of the model", [says(None, refusal="I can't.")], 1, "I can't."),
    Line("gzip", [body(gzip.compress(good("packed")), content_encoding="gzip")], 1, "packed"),
    Line("deflate", [body(zlib.compress(good("packed")), content_encoding="deflate")], 1, "packed"),
    Line("no type of content", [body(good("bare"), content_type="text/plain")], 1, "bare"),
    Line("finish_reason length", [Reply(text="The sum", finish_reason="length")], 1, "The sum", finish="length"),
    Line("content_filter", [Reply(text="The", finish_reason="content_filter")], 1, "The", finish="content_filter"),
    Line("content_filter, no text", [body(completion({}, finish="content_filter"))], 1, "", finish="content_filter"),
    Line("unknown finish_reason", [body(completion({"content": "ok"}, finish={"odd": 1}))], 1, "ok"),
]
FAILS = [
    Line("429 for good", [429] * 3, 3, error=["HTTP 429", "[3 attempts]"], spec={"retries": 2}),
    Line("429 no credit", [refusal(429, "x", code="insufficient_quota")], 1, error=["HTTP 429", "no credit left"]),
    Line("429 ten hours", [Fault("status", 429, 36000)], 1, error=["asks to wait 36000 s", "120 s", "try later"]),
    Line("503 until tomorrow", [Fault("status", 503, in_date(86400))], 1, error=["it asks to wait 8", "try later"]),
    Line("429 forever", [Fault("status", 429, "inf")], 1, error=["it asks to wait inf s"]),
    Line("500 for good", [500] * 3, 3, error=["HTTP 500", "[3 attempts]"], spec={"retries": 2}),
    Line("time-out for good", ["hang"] * 2, 2, error=["no answer within 0.3 s", "`timeout`", "[2"], spec=SHORT),
    Line("slow drip for good", ["drip"] * 2, 2, error=["no answer within 0.3 s", "`timeout`", "[2"], spec=SHORT),
    Line("reset for good", ["reset"] * 3, 3, error=["the connection broke", "[3 attempts]"], spec={"retries": 2}),
    Line("malformed for good", ["malformed"] * 2, 2, error=["the answer is not JSON", "[2 attempts]"]),
    Line("UTF-8 for good", [body(b'{"choices": "\xff"}')] * 2, 2, error=["it is not UTF-8", "[2 attempts]"]),
    Line("no choices for good", ["empty_choices"] * 2, 2, error=["an answer without choices", "[2 attempts]"]),
    Line("wrong type for good", [says(5)] * 2, 2, error=["`content`", "wrong type (int)", "[2 attempts]"]),
    Line("a web page", [body("<html>Hi</html>", content_type="text/html")], 1, error=["not a chat completion", "/v1"]),
    Line("a web page as JSON", [body("<html>Hi</html>")], 1, error=["not a chat completion", "/v1"]),
    Line("an empty body", [body("")], 1, error=["not a chat completion", "/v1"]),
    Line("JSON of something else", [body({"object": "list"})], 1, error=["not a chat completion", "/v1"]),
    Line("a JSON list", [body([1])], 1, error=["not a chat completion", "/v1"]),
    Line("10 MB", [says("x" * 10_000_000)], 1, error=["longer than 8 MB", "`base_url`"]),
    Line("10 MB, no length", [b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 10_000_000], 1, error=["longer than 8 MB"]),
    Line("10 kB for 10 MB", [body(deflated(10 * 2**20), content_encoding="gzip")], 1, error=["longer than 8 MB"]),
    Line("10 MB refusal", [body("x" * 10_000_000, status=500)], 1, error=["longer than 8 MB"]),
    Line("unknown packing", [body(b"x", content_encoding="br")], 1, error=["packed as 'br'"]),
    Line("broken packing", [body(b"no gzip at all", content_encoding="gzip")], 1, error=["cannot be unpacked"]),
    Line(
        "redirect", [body("", status=308, location="/v2/x")], 1, error=["HTTP 308", "redirects to /v2/x", "`base_url`"]
    ),
    Line("redirect to no address", [body("", status=302, location="http://[x")], 1, error=["HTTP 302", "(no address)"]),
    Line("redirect to nowhere", [body("", status=302)], 1, error=["HTTP 302", "redirects to no address"]),
    Line("400", [refusal(400, "no such field")], 1, error=["HTTP 400", "no such field"]),
    Line("400 filter", [refusal(400, "flagged", code="content_filter")], 1, error=["HTTP 400", "content_filter"]),
    Line(
        "400 too long",
        [refusal(400, "This model's maximum context length is 8192 tokens.")],
        1,
        error=["longer than the model's context window", "use a model with a larger one"],
    ),
    Line("401 expired key", [refusal(401, f"{KEY} expired")], 1, error=["HTTP 401", "environment variable MY_KEY"]),
    Line("402", [refusal(402, f"no money on {KEY}")], 1, error=["HTTP 402", "no money on ***"]),
    Line("403", [403], 1, error=["HTTP 403", "environment variable MY_KEY"]),
    Line(
        "404 wrong model",
        [refusal(404, "The model `m1` does not exist", code="model_not_found")],
        1,
        error=["HTTP 404", "does not exist", "`model.model`", "/v1"],
    ),
    Line("413", [body("<h1>Too Large</h1>", status=413)], 1, error=["HTTP 413", "longer than", "larger one"]),
    Line("501", [501], 1, error=["HTTP 501"]),
    Line("should not retry", [body("{}", status=500, x_should_retry="false")], 1, error=["HTTP 500"]),
]


class Shared:
    """One endpoint for all lines; what is left of its faults comes next, then it is healthy."""

    def __init__(self, raw_endpoint: Any) -> None:
        self.left: list[Any] = []
        self.server: Server
        self._raw = raw_endpoint

    def reply(self, _: Any) -> Any:
        if not self.left:
            return "fine"
        next_one = self.left.pop(0)
        return next_one if isinstance(next_one, Reply) else Fault.of(next_one)

    @asynccontextmanager
    async def with_faults(self, faults: Sequence[Any]) -> AsyncIterator[tuple[str, Callable[[], int]]]:
        """Gives its address, and how many requests it got."""
        if isinstance(faults[0], bytes):
            async with self._raw(faults, good("fine")) as (address, asked):
                yield address, lambda: len(asked)
            return
        self.left = list(faults)
        before = len(self.server.requests)
        yield self.server.base_url, lambda: len(self.server.requests) - before


@pytest.fixture(scope="module")
def endpoint(raw_endpoint: Any) -> Iterator[Shared]:
    shared = Shared(raw_endpoint)
    with serve(shared.reply) as shared.server:
        asyncio.run(_first_call(shared.server.base_url))
        yield shared


async def _first_call(address: str) -> None:
    """The first call of a process loads libraries and certificates, which no bound is about."""
    spec = ModelSpec(name="m", provider="compatible", model="m1", base_url=address)
    router = ModelRouter(CaptainConfig(model=spec))
    await router.client("expert").create(HELLO)
    await router.aclose()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("captain.models.retry.FIRST_PAUSE", FIRST_PAUSE)
    monkeypatch.setenv("MY_KEY", KEY)


@pytest.mark.parametrize("line", [pytest.param(line, id=line.name) for line in RECOVERS])
async def test_what_gives_a_reply(client_at: ClientAt, endpoint: Shared, line: Line) -> None:
    calls: list[ModelCall] = []
    async with endpoint.with_faults(line.faults) as (address, sent):
        result, seconds = await ask(client_at, address, line, calls)
        assert sent() == line.sent
    assert (result.content, result.finish_reason) == (line.text, line.finish)
    assert [(call.attempts, call.error) for call in calls] == [(line.sent, None)]
    assert seconds <= line.longest(line.spec.get("timeout", 10))


@pytest.mark.parametrize("line", [pytest.param(line, id=line.name) for line in FAILS])
async def test_what_fails_for_good(client_at: ClientAt, endpoint: Shared, line: Line) -> None:
    calls: list[ModelCall] = []
    start = time.monotonic()
    async with endpoint.with_faults(line.faults) as (address, sent):
        with pytest.raises(ModelError) as caught:
            await ask(client_at, address, line, calls)
        seconds = time.monotonic() - start
        assert sent() == line.sent
    message = str(caught.value)
    for part in ["'m1'", address, *line.error]:
        assert part in message
    assert "\n" not in message and KEY not in message and len(message) < 700
    assert [(call.attempts, call.error) for call in calls] == [(line.sent, message)]
    assert seconds <= line.longest(line.spec.get("timeout", 10))


async def ask(client_at: ClientAt, address: str, line: Line, calls: list[ModelCall]) -> tuple[CreateResult, float]:
    start = time.monotonic()
    settings = {"timeout": 10, "api_key_env": "MY_KEY", **line.spec}
    result = await client_at(address, observer=calls.append, **settings).create(HELLO)
    return result, time.monotonic() - start


def test_the_page_states_the_bounds_that_hold() -> None:
    page = (Path(__file__).parents[3] / "docs" / "faults.md").read_text(encoding="utf-8")
    spec = ModelSpec(name="m", provider="compatible")
    longest_pause = LONGEST_PAUSE * 1.1 + 0.1
    longest = (spec.retries + 1) * spec.timeout + spec.retries * longest_pause
    back_off = sum(min(LONGEST_BACK_OFF, 0.5 * 2**n) for n in range(spec.retries))
    for figure in (longest_pause, longest, (spec.retries + 1) * spec.timeout + back_off):
        assert f"{figure:g} s" in page
    rows = [row for row in page.splitlines() if row.startswith("| ")]
    assert all(row.count("|") == rows[0].count("|") for row in rows)
