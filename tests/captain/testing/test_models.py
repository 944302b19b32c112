import pytest
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, UserMessage
from autogen_core.tools import ToolSchema

from captain.errors import ConfigError, ModelError
from captain.testing import FunctionModel, Reply, ScriptedModel, ScriptExhausted


def ask(text="hello there"):
    return [UserMessage(content=text, source="user")]


async def test_script_gives_its_replies_in_order_and_then_raises():
    call = FunctionCall(id="1", name="add", arguments="{}")
    model = ScriptedModel(["one", [call], Reply(text="cut", finish_reason="length")])
    first, second, third = [await model.create(ask()) for _ in range(3)]
    assert (first.content, first.finish_reason) == ("one", "stop")
    assert (second.content, second.finish_reason) == ([call], "function_calls")
    assert third.finish_reason == "length"
    model.assert_complete()
    with pytest.raises(ScriptExhausted, match="3 replies") as raised:
        await model.create(ask("more?"))
    assert isinstance(raised.value, ModelError)
    assert raised.value.__notes__ == ["asked: more?"]


async def test_left_over_replies_fail():
    model = ScriptedModel(["one", "two"])
    await model.create(ask())
    with pytest.raises(AssertionError, match="1 of 2 replies unused, next: 'two'"):
        model.assert_complete()


async def test_scripted_exception_is_raised_once():
    model = ScriptedModel([ConnectionError("gone"), "back"])
    with pytest.raises(ConnectionError, match="gone"):
        await model.create(ask())
    assert (await model.create(ask())).content == "back"


async def test_calls_are_recorded_streamed_ones_too():
    model = ScriptedModel(["a b  c", "d"])
    tool = ToolSchema(name="add", description="adds")
    pieces = [piece async for piece in model.create_stream(ask(), tools=[tool], extra_create_args={"max_tokens": 5})]
    await model.create(ask("again"), json_output=True)
    assert pieces[:-1] == ["a ", "b  ", "c"]
    assert isinstance(pieces[-1], CreateResult) and pieces[-1].content == "a b  c"
    first, second = model.calls
    assert first.streamed and first.tools == (tool,) and first.extra_create_args == {"max_tokens": 5}
    assert not second.streamed and second.json_output is True and second.text == "again"


async def test_usage_is_estimated_or_as_stated_and_added_up():
    model = ScriptedModel(["12345678", Reply(text="x", prompt_tokens=100, completion_tokens=7)])
    result = await model.create(ask("x" * 40))
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (14, 2)
    await model.create(ask())
    assert (model.actual_usage().prompt_tokens, model.total_usage().completion_tokens) == (100, 9)


async def test_text_beside_calls_is_the_thought():
    call = FunctionCall(id="1", name="add", arguments="{}")
    result = await ScriptedModel([Reply(text="let me add", tool_calls=[call])]).create(ask())
    assert (result.content, result.thought) == ([call], "let me add")


async def test_function_model_may_be_sync_async_and_see_the_tools():
    async def counts(messages, tools):
        return f"{messages[-1].content} {len(tools)}"

    tool = ToolSchema(name="add", description="adds")
    assert (await FunctionModel(counts).create(ask("n"), tools=[tool])).content == "n 1"
    assert (await FunctionModel(lambda messages: Reply(text="r")).create(ask())).content == "r"


async def test_a_reply_of_another_kind_is_a_clear_error():
    with pytest.raises(ConfigError, match="not 42"):
        await FunctionModel(lambda messages: 42).create(ask())


async def test_a_scripted_model_serves_an_autogen_agent():
    from autogen_agentchat.agents import AssistantAgent

    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    model = ScriptedModel([[FunctionCall(id="1", name="add", arguments='{"a": 2, "b": 3}')], "it is 5"])
    agent = AssistantAgent("adder", model_client=model, tools=[add], reflect_on_tool_use=True)
    result = await agent.run(task="2 + 3?")
    assert result.messages[-1].content == "it is 5"
    assert "5" in model.calls[1].text
    model.assert_complete()
