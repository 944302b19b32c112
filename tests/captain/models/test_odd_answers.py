"""Answers with wrong types, addresses that are none, and where neither key nor prompt may go."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core.models import UserMessage

from captain.errors import ConfigError, ModelError
from captain.models import MeteredClient, ModelCall
from captain.models.bodies import LARGEST_BODY
from captain.models.failures import CONNECTION_RETRIES
from captain.testing import Fault, serve

HELLO = [UserMessage(content="hello", source="user")]
ClientAt = Callable[..., MeteredClient]
KEY = "sk-very-secret-0123456789"
FIRST_PAUSE = 0.05
SLACK = 2.5
"""Seconds for all that is not waiting, on a busy machine."""


def answer(message: dict[str, Any], **rest: Any) -> Fault:
    """An answer with this message, whatever it is."""
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return Fault("body", status=200, body=json.dumps({"id": "1", "model": "m1", "choices": [choice], **rest}))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("captain.models.retry.FIRST_PAUSE", FIRST_PAUSE)
    monkeypatch.setenv("MY_KEY", KEY)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, None),
        ("many", None),
        ([1, 2], None),
        ({}, None),
        ({"prompt_tokens": "7", "completion_tokens": "3"}, (7, 3, 0)),
        ({"prompt_tokens": 7.0, "completion_tokens": 3}, (7, 3, 0)),
        ({"prompt_tokens": 7, "completion_tokens": None}, None),
        ({"prompt_tokens": -7, "completion_tokens": 3}, None),
        ({"prompt_tokens": True, "completion_tokens": 3}, None),
        ({"prompt_tokens": 1e300, "completion_tokens": 3}, None),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": "none"}, (7, 3, 0)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 99}}, (7, 3, 7)),
    ],
)
async def test_usage_that_is_missing_or_wrong_is_estimated(
    client_at: ClientAt, usage: Any, counted: tuple[int, int, int] | None
) -> None:
    calls: list[ModelCall] = []
    with serve(str, faults=[answer({"content": "x" * 400}, usage=usage)]) as server:
        await client_at(server.base_url, observer=calls.append).create(HELLO)
    used = calls[0].usage
    assert used.estimated == (counted is None)
    if counted is None:
        assert used.prompt_tokens > 0 and used.completion_tokens == 100
    else:
        assert (used.prompt_tokens, used.completion_tokens, used.cached_tokens) == counted


@pytest.mark.parametrize(
    "call",
    [
        {"id": "7", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}},
        {"id": "7", "function": {"name": "add", "arguments": '{"a": 1}'}, "index": "0"},
    ],
)
async def test_a_call_in_a_form_of_its_own_is_understood(client_at: ClientAt, call: Any) -> None:
    with serve(str, faults=[answer({"tool_calls": [call]})]) as server:
        result = await client_at(server.base_url).create(HELLO)
    assert [(c.id, c.name, json.loads(c.arguments)) for c in result.content] == [("7", "add", {"a": 1})]


async def test_the_old_form_of_a_call_is_understood(client_at: ClientAt) -> None:
    with serve(str, faults=[answer({"function_call": {"name": "add", "arguments": "{}"}})]) as server:
        result = await client_at(server.base_url).create(HELLO)
    assert [(c.name, c.arguments, bool(c.id)) for c in result.content] == [("add", "{}", True)]


async def test_neither_key_nor_prompt_follow_a_redirect_to_another_host(client_at: ClientAt, raw_endpoint: Any) -> None:
    async with raw_endpoint([], b"") as (elsewhere, asked):
        for status in (301, 302, 303, 307, 308):
            moved = Fault("body", status=status, headers={"Location": f"{elsewhere}/x?k={KEY}"})
            with serve(str, faults=[moved]) as server:
                with pytest.raises(ModelError, match=f"redirects to {elsewhere}/x, which is not followed") as caught:
                    await client_at(server.base_url, api_key_env="MY_KEY").create(HELLO)
            assert KEY not in str(caught.value)
        assert asked == []


async def test_a_refused_connection(client_at: ClientAt) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(ModelError, match=rf"'m1' at http://127\.0\.0\.1:{port}/v1 cannot be reached.*server running"):
        await client_at(f"http://127.0.0.1:{port}/v1", retries=9).create(HELLO)
    assert time.monotonic() - start < FIRST_PAUSE * 3 + SLACK


@pytest.mark.parametrize(
    "address", [f"http://someone:{KEY}@127.0.0.1/v1", "http://", "http://[::1", "http://a:99999/v1", "http://a b/v1"]
)
def test_an_address_that_is_none_is_refused_before_any_call(client_at: ClientAt, address: str) -> None:
    with pytest.raises(ConfigError, match=r"base_url must be http.*HOST:PORT/PATH without user") as caught:
        client_at(address)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\u00e9", "sk-1\nX: y", "a b"])
def test_a_key_that_no_header_can_hold_is_refused(
    client_at: ClientAt, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(ConfigError, match="the key in the environment variable MY_KEY is damaged"):
        client_at("http://127.0.0.1:9/v1", api_key_env="MY_KEY")


async def test_blanks_around_a_key_are_no_part_of_it(
    client_at: ClientAt, raw_endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    async with raw_endpoint([], answer({"content": "fine"}).raw) as (address, asked):
        await client_at(address, api_key_env="MY_KEY").create(HELLO)
    assert f"Bearer {KEY}\r\n".encode() in asked[0]


async def test_a_name_that_does_not_exist(client_at: ClientAt, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def unknown(host: Any, *arguments: Any, **settings: Any) -> Any:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        ModelError, match=r"http://model\.invalid/v1 cannot be reached.*`base_url` right.*\[3 attempts\]"
    ):
        await client_at("http://model.invalid/v1", retries=9).create(HELLO)
    assert len(asked) == CONNECTION_RETRIES + 1


async def test_names_that_take_forever_are_bounded_too(client_at: ClientAt, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*arguments: Any, **settings: Any) -> Any:
        time.sleep(1.0)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"no answer within 0.2 s|cannot be reached"):
        await client_at("http://model.invalid/v1", timeout=0.2, retries=1).create(HELLO)
    assert time.monotonic() - start < 2 * 0.2 + FIRST_PAUSE + 0.9


async def test_a_server_that_never_accepts(client_at: ClientAt) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match="no answer within 0.2 s"):
            await client_at(address, timeout=0.2, retries=0).create(HELLO)


async def test_halves_of_characters_in_a_prompt_are_sent_as_question_marks(client_at: ClientAt) -> None:
    with serve(lambda _: "fine") as server:
        result = await client_at(server.base_url).create([UserMessage(content="a\ud83dz é", source="user")])
        assert result.content == "fine"
        assert [request["messages"][0]["content"] for request in server.requests] == ["a?z é"]


async def test_the_largest_reply_that_is_taken_is_read_quickly(client_at: ClientAt) -> None:
    text = "{[<think>`'\"\\ " * (LARGEST_BODY // 2 // 15)
    with serve(str, faults=[answer({"content": text})]) as server:
        client = client_at(server.base_url, native_tools=False)
        tool: Any = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}
        start = time.monotonic()
        await client.create(HELLO, tools=[tool])
    assert time.monotonic() - start < 20
