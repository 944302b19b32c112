import asyncio
import json
import subprocess
import sys
import time

import httpx
import openai
import pytest
from autogen_core import FunctionCall

from captain.errors import ConfigError
from captain.testing import Fault, Reply, echo, serve

HELLO = [{"role": "user", "content": "hello big world"}]


def client(server, **settings):
    return openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0, **settings)


async def test_chat_models_and_recorded_requests():
    with serve(echo) as server:
        reply = await client(server).chat.completions.create(model="m", messages=HELLO)
        models = await client(server).models.list()
    assert reply.choices[0].message.content == "hello big world"
    assert reply.usage.prompt_tokens > 0 and reply.usage.completion_tokens == 4
    assert [model.id for model in models.data] == ["test"]
    assert server.requests == [{"model": "m", "messages": HELLO}]


async def test_stream_with_usage():
    with serve(echo) as server:
        stream = await client(server).chat.completions.create(
            model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    text = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(text) == "hello big world" and len(text) > 3
    assert chunks[-1].usage.completion_tokens == 4 and chunks[-2].choices[0].finish_reason == "stop"


async def test_handler_may_be_async_and_give_calls_or_a_whole_message():
    call = FunctionCall(id="c1", name="add", arguments='{"a": 1}')

    async def handler(body):
        return Reply(tool_calls=[call]) if body["model"] == "calls" else {"content": "whole", "refusal": None}

    with serve(handler) as server:
        calls = await client(server).chat.completions.create(model="calls", messages=HELLO)
        whole = await client(server).chat.completions.create(model="m", messages=HELLO)
    assert calls.choices[0].finish_reason == "tool_calls"
    assert calls.choices[0].message.tool_calls[0].function.arguments == '{"a": 1}'
    assert whole.choices[0].message.content == "whole"


async def test_embeddings_are_near_for_shared_words():
    with serve(echo) as server:
        answer = await client(server).embeddings.create(model="e", input=["red apple", "Apple red", "tax law"])
        plain = await client(server).embeddings.create(model="e", input="red apple", encoding_format="float")
    same, again, other = [item.embedding for item in answer.data]
    assert same == pytest.approx(again) and same == pytest.approx(plain.data[0].embedding, abs=1e-6)
    assert sum(a * b for a, b in zip(same, other, strict=True)) < 0.5


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (503, openai.InternalServerError),
        (Fault("status", status=429, retry_after=2), openai.RateLimitError),
        ("reset", openai.APIConnectionError),
        ("hang", openai.APITimeoutError),
        ("malformed", json.JSONDecodeError),
    ],
)
async def test_faults_hit_single_requests(fault, error):
    with serve(echo, faults=[None, fault]) as server:
        caller = client(server, timeout=1.0 if fault == "hang" else 30.0)
        await caller.chat.completions.create(model="m", messages=HELLO)
        with pytest.raises(error) as raised:
            await caller.chat.completions.create(model="m", messages=HELLO)
        healthy = await caller.chat.completions.create(model="m", messages=HELLO)
    if error is openai.RateLimitError:
        assert raised.value.response.headers["retry-after"] == "2"
    assert healthy.choices[0].message.content == "hello big world"
    assert len(server.requests) == 3


async def test_odd_but_valid_answers():
    with serve(echo, faults=["empty_choices", "null_content"]) as server:
        empty = await client(server).chat.completions.create(model="m", messages=HELLO)
        null = await client(server).chat.completions.create(model="m", messages=HELLO)
    assert empty.choices == [] and null.choices[0].message.content is None


@pytest.mark.parametrize("process", [False, True])
async def test_a_body_of_its_own_is_sent_as_it_is(process):
    fault = Fault("body", status=418, body=b"\xff\x00tea", headers={"Content-Type": "text/tea", "X-Pot": "1"})
    with serve(echo, faults=[fault], process=process) as server:
        async with httpx.AsyncClient() as http:
            answer = await http.post(f"{server.base_url}/chat/completions", json={"messages": HELLO})
    assert (answer.status_code, answer.content) == (418, b"\xff\x00tea")
    assert (answer.headers["content-type"], answer.headers["x-pot"]) == ("text/tea", "1")


async def test_a_drip_keeps_the_connection_busy_and_then_breaks_it():
    with serve(echo, faults=[Fault("drip", seconds=0.3)]) as server:
        async with httpx.AsyncClient(timeout=0.2) as http:
            start = time.monotonic()
            with pytest.raises(httpx.RemoteProtocolError):
                await http.post(f"{server.base_url}/chat/completions", json={"messages": HELLO})
    assert time.monotonic() - start >= 0.25


async def test_a_handler_may_give_a_fault():
    def handler(body):
        return (
            Fault("status", status=429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT") if body["model"] == "bad" else "ok"
        )

    with serve(handler) as server:
        with pytest.raises(openai.RateLimitError) as raised:
            await client(server).chat.completions.create(model="bad", messages=HELLO)
        good = await client(server).chat.completions.create(model="good", messages=HELLO)
    assert raised.value.response.headers["retry-after"].endswith("GMT")
    assert good.choices[0].message.content == "ok"


async def test_requests_wait_at_the_same_time():
    with serve(echo, latency=0.5) as server:
        caller = client(server)
        start = time.monotonic()
        await asyncio.gather(*(caller.chat.completions.create(model="m", messages=HELLO) for _ in range(64)))
    # One after the other would take 32 s; the bound leaves room for a busy machine.
    assert 0.5 <= time.monotonic() - start < 5
    assert len(server.requests) == 64


async def test_bad_requests_and_a_failing_handler_get_an_error_status():
    with serve(lambda body: 1 / 0) as server:
        with pytest.raises(openai.InternalServerError, match="ZeroDivisionError"):
            await client(server).chat.completions.create(model="m", messages=HELLO)
        with pytest.raises(openai.BadRequestError, match="messages"):
            await client(server).chat.completions.create(model="m", messages=None)


async def test_process_of_its_own():
    with serve(echo, process=True, faults=[500]) as server:
        with pytest.raises(openai.InternalServerError):
            await client(server).chat.completions.create(model="m", messages=HELLO)
        reply = await client(server).chat.completions.create(model="m", messages=HELLO)
        assert reply.choices[0].message.content == "hello big world"
        assert len(server.requests) == 2
    with pytest.raises(openai.APIConnectionError):
        await client(server).models.list()


def test_a_handler_that_no_other_process_can_import_is_refused():
    with pytest.raises(ConfigError, match="cannot be imported by another process"):
        with serve(lambda body: "x", process=True):
            raise AssertionError("must not start")


def test_program_names_a_handler_that_is_not_there():
    command = [sys.executable, "-m", "captain.testing", "--handler", "captain.testing.nothing"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "captain.testing.nothing" in ended.stderr and ended.stderr.count("\n") == 1
