"""Tools and histories for endpoints that know no tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool

from captain.models import MeteredClient
from captain.models.text_tools import call_schema, describe_tools, fold_messages, tool_schemas
from captain.testing import Reply, serve

ClientAt = Callable[..., MeteredClient]


def add(a: float, b: float = 1.0, mode: str = "plain") -> float:
    """Adds two numbers."""
    return a + b


def names(texts: list[str], limit: int | None = None) -> list[str]:
    """Lists names."""
    return texts[:limit]


ADD = FunctionTool(add, description="Adds two numbers.\n\nA second paragraph that nobody needs.")
NAMES = FunctionTool(names, description="Lists names.")
ASK = [SystemMessage(content="You count."), UserMessage(content="1 and 2?", source="user")]
CALL = '{"name": "add", "arguments": {"a": 1, "b": 2}}'


def test_tools_are_described_in_one_line_each() -> None:
    text = describe_tools(tool_schemas([ADD, NAMES]))
    assert '- add(a: number, b: number = 1.0, mode: string = "plain"): Adds two numbers.\n' in text
    assert "- names(texts: list[string], limit: integer|null = null): Lists names.\n" in text
    assert "second paragraph" not in text


def test_a_forced_call_is_a_schema_over_the_tools() -> None:
    schema = call_schema(tool_schemas([ADD, NAMES]))
    assert [option["properties"]["name"] for option in schema["anyOf"]] == [{"const": "add"}, {"const": "names"}]
    assert schema["anyOf"][0]["properties"]["arguments"]["required"] == ["a"]


async def test_tools_become_text_after_the_system_message(client_at: ClientAt) -> None:
    with serve(lambda body: CALL) as server:
        result = await client_at(server.base_url, native_tools=False).create(ASK, tools=[ADD])
        sent = server.requests[0]
    assert "tools" not in sent and "response_format" not in sent
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][0]["content"].startswith("You count.\n\nTools:\n- add(a: number")
    assert sent["messages"][1]["content"] == "1 and 2?"
    assert result.finish_reason == "function_calls"
    assert isinstance(result.content, list)
    assert result.content[0].name == "add" and json.loads(result.content[0].arguments) == {"a": 1, "b": 2}
    assert result.content[0].id


@pytest.mark.parametrize("native", [True, False])
async def test_a_call_in_a_fence_is_understood_by_every_endpoint(client_at: ClientAt, native: bool) -> None:
    with serve(lambda body: f"```json\n{CALL}\n```") as server:
        result = await client_at(server.base_url, native_tools=native).create(ASK, tools=[ADD])
    assert isinstance(result.content, list) and result.content[0].name == "add"


async def test_prose_around_a_call_is_kept_as_thought(client_at: ClientAt) -> None:
    text = f"I will add them.\n```json\n{CALL}\n```"
    with serve(lambda body: text) as server:
        result = await client_at(server.base_url, native_tools=False).create(ASK, tools=[ADD])
    assert isinstance(result.content, list) and result.thought == text


@pytest.mark.parametrize(
    "text", ["The sum is 3.", '{"name": "unknown", "arguments": {}}', f"An example of a call: {CALL} (not made)"]
)
async def test_other_text_is_no_call_for_an_endpoint_with_tools(client_at: ClientAt, text: str) -> None:
    with serve(lambda body: text) as server:
        result = await client_at(server.base_url).create(ASK, tools=[ADD])
    assert result.content == text


async def test_a_required_call_is_forced_by_a_schema(client_at: ClientAt) -> None:
    with serve(lambda body: CALL) as server:
        client = client_at(server.base_url, native_tools=False)
        one = await client.create(ASK, tools=[ADD, NAMES], tool_choice="required")
        await client.create(ASK, tools=[ADD, NAMES], tool_choice=ADD)
        first, second = (request["response_format"]["json_schema"]["schema"] for request in server.requests)
    assert isinstance(one.content, list)
    assert len(first["anyOf"]) == 2
    assert second["properties"]["name"] == {"const": "add"}


async def test_no_tool_is_shown_when_none_may_be_called(client_at: ClientAt) -> None:
    with serve(lambda body: CALL) as server:
        result = await client_at(server.base_url, native_tools=False).create(ASK, tools=[ADD], tool_choice="none")
        assert "Tools:" not in json.dumps(server.requests[0])
    assert result.content == CALL


async def test_a_typed_reply_is_not_taken_for_a_call(client_at: ClientAt) -> None:
    with serve(lambda body: CALL) as server:
        client = client_at(server.base_url, native_tools=False)
        result = await client.create(ASK, tools=[ADD], json_output=True)
    assert result.content == CALL


async def test_native_tool_calls_pass_through(client_at: ClientAt) -> None:
    def handler(body: dict[str, Any]) -> Reply:
        return Reply(tool_calls=[FunctionCall("7", '{"a": 1}', "add")])

    with serve(handler) as server:
        result = await client_at(server.base_url).create(ASK, tools=[ADD])
        assert server.requests[0]["tools"][0]["function"]["name"] == "add"
    assert result.content == [FunctionCall("7", '{"a": 1}', "add")]


HISTORY = [
    UserMessage(content="1 and 2?", source="user"),
    SystemMessage(content="You count."),
    AssistantMessage(content=[FunctionCall("7", '{"a": 1}', "add")], source="ann"),
    FunctionExecutionResultMessage(content=[FunctionExecutionResult(content="2.0", name="add", call_id="7")]),
    AssistantMessage(content="", source="ann"),
    UserMessage(content="Sure?", source="bob"),
]


async def test_calls_and_results_in_the_history_become_text(client_at: ClientAt) -> None:
    with serve(lambda body: "yes") as server:
        await client_at(server.base_url, native_tools=False).create(HISTORY)
        sent = server.requests[0]["messages"]
    assert [(message["role"], message["content"]) for message in sent] == [
        ("system", "You count."),
        ("user", "1 and 2?"),
        ("assistant", '{"name": "add", "arguments": {"a": 1}}'),
        ("user", "Result of tool add:\n2.0\n\nbob: Sure?"),
    ]


def test_a_history_never_ends_with_the_model_itself() -> None:
    folded = fold_messages([*ASK, AssistantMessage(content="3", source="ann")])
    assert isinstance(folded[-1], UserMessage)


def test_a_strict_template_gets_no_system_message() -> None:
    folded = fold_messages(ASK, system=False)
    assert [message.content for message in folded] == ["You count.\n\n1 and 2?"]


async def test_names_that_no_endpoint_takes_are_mended(client_at: ClientAt) -> None:
    with serve(lambda body: "ok") as server:
        asked = [UserMessage(content="hi", source="Dr. Müller"), AssistantMessage(content="ho", source="a b")]
        assert (await client_at(server.base_url).create(asked)).content == "ok"


async def test_reasoning_is_kept_apart_from_the_answer(client_at: ClientAt) -> None:
    with serve(lambda body: "<think>maybe 4</think>\nIt is 5.") as server:
        result = await client_at(server.base_url).create(ASK)
    assert result.content == "It is 5." and result.thought == "maybe 4"
