"""What endpoints answer in ways of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from autogen_core import FunctionCall
from autogen_core.models import UserMessage
from autogen_core.tools import FunctionTool

from captain.errors import ModelError
from captain.models import MeteredClient, ModelCall
from captain.testing import serve

HELLO = [UserMessage(content="hello", source="user")]
ClientAt = Callable[..., MeteredClient]


@asynccontextmanager
async def endpoint(body: str, *, kind: str = "application/json") -> AsyncIterator[str]:
    """Serves one fixed body, whatever is asked."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        data = body.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: " + kind.encode() + b"\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    server.close()


def completion(message: dict[str, Any], *, finish: str = "stop", **rest: Any) -> str:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "other-name", "choices": [choice], **rest}
    )


async def test_cached_tokens_are_counted(client_at: ClientAt) -> None:
    calls: list[ModelCall] = []
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 2,
        "total_tokens": 52,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    async with endpoint(completion({"content": "ok"}, usage=usage)) as base_url:
        await client_at(base_url, observer=calls.append).create(HELLO)
    assert (calls[0].usage.prompt_tokens, calls[0].usage.cached_tokens, calls[0].usage.estimated) == (50, 40, False)


async def test_tokens_that_were_not_counted_are_estimated_and_flagged(client_at: ClientAt) -> None:
    calls: list[ModelCall] = []
    async with endpoint(completion({"content": "x" * 400})) as base_url:
        result = await client_at(base_url, observer=calls.append).create(HELLO)
    assert calls[0].usage.estimated
    assert result.usage.completion_tokens == calls[0].usage.completion_tokens == 100
    assert calls[0].usage.prompt_tokens > 0


async def test_a_web_page_instead_of_an_answer_names_the_address(client_at: ClientAt) -> None:
    async with endpoint("<html>Welcome</html>", kind="text/html") as base_url:
        with pytest.raises(ModelError, match=r"base_url.*/v1"):
            await client_at(base_url).create(HELLO)


async def test_an_error_in_a_good_answer_is_told(client_at: ClientAt) -> None:
    body = json.dumps({"error": {"message": "the provider is down"}, "choices": None})
    async with endpoint(body) as base_url:
        with pytest.raises(ModelError, match="the provider is down"):
            await client_at(base_url).create(HELLO)


async def test_a_truncated_answer_says_so(client_at: ClientAt) -> None:
    async with endpoint(completion({"content": "The sum"}, finish="length")) as base_url:
        assert (await client_at(base_url).create(HELLO)).finish_reason == "length"


async def test_reasoning_in_a_field_of_its_own_is_the_thought(client_at: ClientAt) -> None:
    async with endpoint(completion({"content": "5", "reasoning_content": "2 and 3"})) as base_url:
        result = await client_at(base_url).create(HELLO)
    assert (result.content, result.thought) == ("5", "2 and 3")


async def test_a_tool_call_with_a_wrong_finish_reason_is_still_a_call(client_at: ClientAt) -> None:
    def add(a: int) -> int:
        """Adds."""
        return a

    call = {"id": "7", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    async with endpoint(completion({"content": None, "tool_calls": [call]})) as base_url:
        result = await client_at(base_url).create(HELLO, tools=[FunctionTool(add, description="Adds.")])
    assert result.content == [FunctionCall("7", '{"a": 1}', "add")]
    assert result.finish_reason == "function_calls"


async def test_openai_gets_its_own_words(client_at: ClientAt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1")
    with serve(lambda body: "ok") as server:
        client = client_at(server.base_url, provider="openai", api_key_env="MY_KEY", max_output_tokens=77)
        await client.create([UserMessage(content="hi", source="ann"), UserMessage(content="ho", source="bob")])
        sent = server.requests[0]
    assert sent["max_completion_tokens"] == 77 and "max_tokens" not in sent
    assert [(message["name"], message["content"]) for message in sent["messages"]] == [("ann", "hi"), ("bob", "ho")]
