"""What is counted and recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.models import SystemMessage, UserMessage
from pydantic import BaseModel

from captain.config import CaptainConfig, ModelSpec, Price
from captain.errors import LimitExceeded
from captain.models import MeteredClient, ModelCall, ModelRouter
from captain.models.calls import CallUsage, cost
from captain.testing import Reply, serve

HELLO = [SystemMessage(content="Be brief."), UserMessage(content="hello", source="user")]
ClientAt = Callable[..., MeteredClient]


def counted(body: dict[str, Any]) -> Reply:
    return Reply(text="fine", prompt_tokens=100, completion_tokens=10)


async def test_usage_is_added_up_per_role_and_in_all() -> None:
    with serve(counted) as server:
        spec = ModelSpec(name="m", provider="compatible", model="m1", base_url=server.base_url)
        priced = spec.model_copy(update={"price": Price(prompt=1.0, completion=10.0)})
        router = ModelRouter(CaptainConfig(model=priced, roles={"reflector": priced}))
        await router.client("expert").create(HELLO)
        await router.client("expert").create(HELLO)
        await router.client("reflector").create(HELLO)
        await router.aclose()
    usage = router.usage()
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (3, 300, 30)
    assert usage.usd == pytest.approx(3 * (100 + 100) / 1e6)
    assert usage.by_role["expert"].calls == 2
    assert usage.by_role["expert"].seconds > 0
    assert router.under_way == 0


async def test_money_is_unknown_as_soon_as_one_price_is() -> None:
    free = ModelSpec(name="a", provider="scripted", script=["x"], price=Price(prompt=0, completion=0))
    unknown = ModelSpec(name="b", provider="scripted", script=["x"])
    router = ModelRouter(CaptainConfig(model=free, roles={"writer": unknown}))
    await router.client("expert").create(HELLO)
    assert router.usage().usd == 0
    await router.client("writer").create(HELLO)
    assert router.usage().usd is None
    assert router.usage().by_role["expert"].usd == 0


@pytest.mark.parametrize(("cached_price", "usd"), [(None, 120.0), (0.5, 90.0)])
def test_cached_tokens_have_a_price_of_their_own(cached_price: float | None, usd: float) -> None:
    usage = CallUsage(prompt_tokens=100_000_000, completion_tokens=10_000_000, cached_tokens=60_000_000)
    assert cost(usage, Price(prompt=1, completion=2, cached_prompt=cached_price)) == usd
    assert cost(usage, None) is None


async def test_the_record_of_a_call_is_json_without_the_key(
    client_at: ClientAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    calls: list[ModelCall] = []
    with serve(counted) as server:
        await client_at(server.base_url, observer=calls.append, api_key_env="MY_KEY").create(HELLO)
    data = calls[0].to_dict()
    assert "sk-very-secret" not in json.dumps(data)
    assert (data["role"], data["model"], data["text"], data["finish_reason"]) == ("expert", "m", "fine", "stop")
    assert data["usage"] == {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 0, "estimated": False}
    assert data["usd"] is None and data["seconds"] > 0 and data["attempts"] == 1 and data["error"] is None


class Answer(BaseModel):
    number: int


class Other(BaseModel):
    text: str


async def test_equal_requests_have_equal_hashes_and_others_do_not() -> None:
    calls: list[ModelCall] = []
    variants: list[dict[str, Any]] = [
        {},
        {},
        {"json_output": True},
        {"json_output": Answer},
        {"json_output": Other},
        {"extra_create_args": {"max_tokens": 5}},
        {"tools": [{"name": "add", "parameters": {"type": "object", "properties": {}, "required": []}}]},
    ]
    spec = ModelSpec(name="m", provider="scripted", script=["x"] * 20)
    client = ModelRouter(CaptainConfig(model=spec), observer=calls.append).client("expert")
    for variant in variants:
        await client.create(HELLO, **variant)
    await client.create([HELLO[1]])
    warm = spec.model_copy(update={"temperature": 0.5})
    await ModelRouter(CaptainConfig(model=warm), observer=calls.append).client("expert").create(HELLO)
    hashes = [call.request_hash for call in calls]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == len(hashes) - 1


async def test_a_stopped_call_is_neither_counted_nor_sent() -> None:
    def guard() -> None:
        raise LimitExceeded("enough")

    config = CaptainConfig(model=ModelSpec(name="m", provider="scripted", script=["x"]))
    router = ModelRouter(config, guard=guard)
    with pytest.raises(LimitExceeded):
        await router.client("expert").create(HELLO)
    assert router.usage().calls == 0


async def test_a_cancelled_call_ends_at_once(client_at: ClientAt) -> None:
    token = CancellationToken()
    with serve(counted, latency=30) as server:
        task = asyncio.ensure_future(client_at(server.base_url).create(HELLO, cancellation_token=token))
        await asyncio.sleep(0.2)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)


async def test_streaming_gives_the_text_then_the_result() -> None:
    config = CaptainConfig(model=ModelSpec(name="m", provider="scripted", script=["hello", ""]))
    client = ModelRouter(config).client("expert")
    parts = [part async for part in client.create_stream(HELLO)]
    assert parts[0] == "hello" and parts[1].content == "hello"  # type: ignore[union-attr]
    assert len([part async for part in client.create_stream(HELLO)]) == 1


async def test_settings_reach_the_endpoint_and_a_call_may_change_them(client_at: ClientAt) -> None:
    with serve(counted) as server:
        client = client_at(server.base_url, temperature=0.3, seed=7, max_output_tokens=55)
        await client.create(HELLO)
        await client.create(HELLO, extra_create_args={"max_tokens": 9, "extra_body": {"grammar": "g"}})
        first, second = server.requests
    assert (first["model"], first["temperature"], first["seed"], first["max_tokens"]) == ("m1", 0.3, 7, 55)
    assert (second["max_tokens"], second["grammar"]) == (9, "g")
    assert "extra_body" not in second


@pytest.mark.parametrize(("structured", "kind"), [("json_schema", "json_schema"), ("json_object", "json_object")])
async def test_a_typed_reply_is_asked_for_as_strictly_as_the_endpoint_can(
    client_at: ClientAt, structured: str, kind: str
) -> None:
    with serve(lambda body: '{"number": 4}') as server:
        result = await client_at(server.base_url, structured=structured).create(HELLO, json_output=Answer)
        assert server.requests[0]["response_format"]["type"] == kind
    assert result.content == '{"number": 4}'


async def test_an_endpoint_that_enforces_nothing_is_asked_for_text(client_at: ClientAt) -> None:
    with serve(lambda body: "4") as server:
        await client_at(server.base_url, structured="none").create(HELLO, json_output=Answer)
        assert "response_format" not in server.requests[0]


async def test_what_cannot_be_scored_is_said() -> None:
    config = CaptainConfig(model=ModelSpec(name="m", provider="scripted", script=["x"]))
    assert await ModelRouter(config).client("expert").loglikelihood("a", "b") is None
