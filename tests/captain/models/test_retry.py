"""What is sent again, how long we wait, and what fails at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from autogen_core.models import SystemMessage, UserMessage

from captain.errors import LimitExceeded, ModelError
from captain.models import MeteredClient, ModelCall
from captain.models.failures import EndpointError, retry_after
from captain.models.retry import with_retries
from captain.testing import Fault, serve

HELLO = [UserMessage(content="hello", source="user")]
ClientAt = Callable[..., MeteredClient]


class Pauses:
    """Notes how long a retry would have slept."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


def failing(*errors: Exception) -> Callable[[], Any]:
    left = list(errors)

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


async def test_back_off_doubles_and_is_bounded() -> None:
    pauses = Pauses()
    errors = [EndpointError("busy", transient=True) for _ in range(9)]
    assert await with_retries(failing(*errors), retries=9, sleep=pauses.sleep) == "done"
    for number, seconds in enumerate(pauses.seconds):
        longest = min(30.0, 0.5 * 2**number)
        assert longest / 2 <= seconds <= longest


async def test_the_pause_the_endpoint_asks_for_is_kept() -> None:
    pauses = Pauses()
    await with_retries(failing(EndpointError("busy", transient=True, wait=7)), retries=1, sleep=pauses.sleep)
    assert 7 <= pauses.seconds[0] <= 7.8


async def test_the_last_failure_says_how_often_it_was_tried() -> None:
    errors = [EndpointError("busy", transient=True) for _ in range(5)]
    with pytest.raises(ModelError, match=r"busy \[3 attempts\]"):
        await with_retries(failing(*errors), retries=2, sleep=Pauses().sleep)


async def test_what_no_repetition_helps_is_raised_at_once() -> None:
    pauses = Pauses()
    with pytest.raises(ModelError, match="^no$"):
        await with_retries(failing(EndpointError("no")), retries=5, sleep=pauses.sleep)
    assert pauses.seconds == []


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    seconds = retry_after({"retry-after": date})
    assert seconds is not None and 18 <= seconds <= 20


@pytest.mark.parametrize("fault", [429, 500, 503, 408, "reset", "empty_choices"])
async def test_passing_failures_are_sent_again(client_at: ClientAt, fault: Any) -> None:
    calls: list[ModelCall] = []
    with serve(lambda body: "fine", faults=[fault]) as server:
        result = await client_at(server.base_url, observer=calls.append).create(HELLO)
        assert len(server.requests) == 2
    assert result.content == "fine"
    assert [(call.attempts, call.error) for call in calls] == [(2, None)]


async def test_a_time_out_is_sent_again(client_at: ClientAt) -> None:
    with serve(lambda body: "fine", faults=["hang"]) as server:
        result = await client_at(server.base_url, timeout=0.3).create(HELLO)
    assert result.content == "fine"


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(400, "HTTP 400"), (401, "MY_KEY"), (403, "MY_KEY"), (404, "model.model"), (422, "HTTP 422")],
)
async def test_a_refusal_fails_at_once_and_names_place_and_remedy(
    client_at: ClientAt, monkeypatch: pytest.MonkeyPatch, status: int, remedy: str
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    calls: list[ModelCall] = []
    with serve(lambda body: "fine", faults=[status]) as server:
        client = client_at(server.base_url, observer=calls.append, api_key_env="MY_KEY")
        with pytest.raises(ModelError) as caught:
            await client.create(HELLO)
        assert len(server.requests) == 1
        message = str(caught.value)
        assert server.base_url in message and "'m1'" in message and remedy in message
    assert "\n" not in message and "sk-very-secret" not in message
    assert [call.error for call in calls] == [message]


async def test_an_unreachable_endpoint_is_told_quickly(client_at: ClientAt) -> None:
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached.*\[3 attempts\]"):
        await client_at("http://127.0.0.1:9/v1", retries=8).create(HELLO)
    assert time.monotonic() - start < 4


async def test_an_answer_that_is_no_json_is_told(client_at: ClientAt) -> None:
    with serve(lambda body: "fine", faults=["malformed"]) as server:
        with pytest.raises(ModelError, match="not a chat completion|JSON"):
            await client_at(server.base_url, retries=0).create(HELLO)


async def test_a_null_content_is_an_empty_text(client_at: ClientAt) -> None:
    with serve(lambda body: "fine", faults=["null_content"]) as server:
        assert (await client_at(server.base_url).create(HELLO)).content == ""


async def test_a_pause_that_is_too_long_fails_at_once(client_at: ClientAt) -> None:
    with serve(lambda body: "fine", faults=[Fault("status", status=429, retry_after=3600)]) as server:
        with pytest.raises(ModelError, match="wait 3600 s"):
            await client_at(server.base_url).create(HELLO)


async def test_a_pause_holds_for_every_client_of_the_endpoint(client_at: ClientAt) -> None:
    with serve(lambda body: "fine", faults=[Fault("status", status=429, retry_after=0.6)]) as server:
        with pytest.raises(ModelError):
            await client_at(server.base_url, retries=0).create(HELLO)
        start = time.monotonic()
        await client_at(server.base_url).create(HELLO)
    assert time.monotonic() - start >= 0.5


async def test_the_guard_is_asked_before_each_attempt(client_at: ClientAt) -> None:
    allowed = iter([True, True])

    def guard() -> None:
        if not next(allowed, False):
            raise LimitExceeded("enough")

    with serve(lambda body: "fine", faults=[500, 500]) as server:
        with pytest.raises(LimitExceeded):
            await client_at(server.base_url, guard=guard).create(HELLO)
        assert len(server.requests) == 1


HISTORY = [
    SystemMessage(content="Be brief."),
    UserMessage(content="hello", source="user"),
    UserMessage(content="And you?", source="ann"),
]


def strict_template(body: dict[str, Any]) -> str:
    roles = [message["role"] for message in body["messages"]]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        raise ValueError("Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...")
    return "fine"


async def test_a_strict_chat_template_gets_the_history_folded(client_at: ClientAt) -> None:
    with serve(strict_template) as server:
        client = client_at(server.base_url)
        assert (await client.create(HISTORY)).content == "fine"
        assert (await client.create(HISTORY)).content == "fine"
        assert len(server.requests) == 3
        texts = server.requests[-1]["messages"][0]["content"]
    assert texts == "Be brief.\n\nhello\n\nann: And you?"


def refuses_always(body: dict[str, Any]) -> str:
    raise ValueError("Jinja Exception: roles must alternate")


async def test_a_template_error_with_status_500_is_not_sent_again_and_again(client_at: ClientAt) -> None:
    with serve(refuses_always) as server:
        with pytest.raises(ModelError, match="roles must alternate"):
            await client_at(server.base_url, retries=8).create(HISTORY)
        assert len(server.requests) == 2


def broken_template(body: dict[str, Any]) -> str:
    raise ValueError("Jinja Exception: unknown filter")


async def test_other_template_errors_fail_at_once(client_at: ClientAt) -> None:
    with serve(broken_template) as server:
        with pytest.raises(ModelError, match="chat template refuses"):
            await client_at(server.base_url).create(HELLO)
        assert len(server.requests) == 1
