from enum import Enum
from typing import Literal

import pytest
from autogen_core import FunctionCall
from autogen_core.models import ModelInfo, SystemMessage, UserMessage
from pydantic import BaseModel, ConfigDict, Field

from captain.decide import decide
from captain.errors import LimitExceeded, ModelError
from captain.testing import Reply, ScriptedModel, ScriptExhausted, serve


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    accept: bool
    kind: Literal["retry", "replan"] = "retry"
    reason: str = Field(default="", max_length=200)
    issues: list[str] = []


ASK = [SystemMessage(content="Judge."), UserMessage(content="Is it right?", source="user")]
GOOD = '{"accept": false, "kind": "replan", "reason": "r", "issues": []}'


def info(structured=False, json=False, tools=False):
    return ModelInfo(
        vision=False, function_calling=tools, json_output=json, family="unknown", structured_output=structured
    )


async def test_exact_reply_under_a_strict_schema():
    model = ScriptedModel([GOOD])
    decision = await decide(model, ASK, Verdict, max_tokens=50)
    assert decision.value == Verdict(accept=False, kind="replan", reason="r")
    assert (decision.how, decision.repairs, decision.error, decision.raw) == ("exact", 0, None, GOOD)
    args = model.calls[0].extra_create_args
    schema = args["response_format"]["json_schema"]["schema"]
    assert args["max_tokens"] == 50
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["accept", "kind", "reason", "issues"]
    assert model.calls[0].text == "Judge.\nIs it right?"


@pytest.mark.parametrize(
    "reply",
    [
        '{"accept": "false"}',
        'My judgement:\n```json\n{"accept": false}\n```\nHope it helps.',
        '<think>{"accept": true}?</think>{"accept": false}',
        "{'accept': False,}",
        '{"accept": false, "kind": "Retry", "issues": null, "confidence": 0.9}',
        '{"verdict": {"accept": false}}',
        Reply(text='{"accept": false, "reason": "', finish_reason="length"),
    ],
)
async def test_weak_replies_need_no_second_call(reply):
    model = ScriptedModel([reply])
    decision = await decide(model, ASK, Verdict)
    assert decision.value == Verdict(accept=False) and decision.repairs == 0
    model.assert_complete()


async def test_repair_names_the_error_and_the_shape():
    model = ScriptedModel(['{"accept": "perhaps"}', GOOD])
    decision = await decide(model, ASK, Verdict)
    assert (decision.how, decision.repairs) == ("repaired", 1)
    assert "accept" in decision.error
    assert '{"accept": "perhaps"}' in model.calls[1].text and "accept: Input should be a valid boolean" in (
        model.calls[1].text
    )
    assert '"kind": "retry" | "replan"' in model.calls[1].text


@pytest.mark.parametrize(
    ("reply", "error"),
    [("", "empty"), ("no idea", "no JSON"), (Reply(text='{"acc', finish_reason="length"), "cut off")],
)
async def test_unusable_replies_end_in_the_fallback(reply, error):
    model = ScriptedModel([reply, reply, reply])
    decision = await decide(model, ASK, Verdict, repairs=2, fallback=lambda: Verdict(accept=True))
    assert decision.value.accept and (decision.how, decision.repairs) == ("fallback", 2)
    assert error in decision.error
    model.assert_complete()


async def test_reasoning_that_was_cut_off_decides_nothing():
    model = ScriptedModel([Reply(text='<think>say {"accept": true}? or', finish_reason="length"), GOOD])
    assert (await decide(model, ASK, Verdict)).value.accept is False


async def test_no_fallback_is_an_error():
    with pytest.raises(ModelError, match="no usable Verdict in 1 replies: the reply holds no JSON"):
        await decide(ScriptedModel(["?"]), ASK, Verdict, repairs=0)


@pytest.mark.parametrize("error", [LimitExceeded("calls: 3"), ModelError("endpoint down"), ConnectionError("no tool")])
async def test_limits_and_failures_are_not_swallowed(error):
    model = ScriptedModel([error])
    with pytest.raises(type(error)):
        await decide(model, ASK, Verdict, fallback=Verdict(accept=True))
    assert len(model.calls) == 1


async def test_json_mode_and_plain_text_say_the_shape_in_the_last_message():
    for model_info, json_output in ((info(json=True), True), (info(), None)):
        model = ScriptedModel(["?", GOOD], model_info=model_info)
        await decide(model, ASK, Verdict)
        assert model.calls[1].messages[-1].content.count("one JSON object") == 1
        assert model.calls[0].json_output is json_output
        assert len(model.calls[0].messages) == 2 and "one JSON object" in model.calls[0].messages[-1].content


async def test_a_tool_is_the_constraint_where_only_tools_are_enforced():
    reply = [FunctionCall(id="1", name="Verdict", arguments=GOOD)]
    model = ScriptedModel([reply], model_info=info(tools=True))
    decision = await decide(model, ASK, Verdict)
    assert decision.value.kind == "replan" and decision.constraint == "tool"
    assert model.calls[0].tools[0]["name"] == "Verdict" and model.calls[0].tool_choice == "required"


async def test_a_refused_constraint_is_stepped_down_and_remembered():
    refusal = ModelError("400: response_format json_schema is not supported")
    model = ScriptedModel([refusal, refusal, GOOD, GOOD])
    first = await decide(model, ASK, Verdict)
    second = await decide(model, ASK, Verdict)
    assert first.constraint == second.constraint == "json_object" and first.how == "exact"
    unbounded = model.calls[1].extra_create_args["response_format"]["json_schema"]["schema"]
    assert "maxLength" in str(model.calls[0].extra_create_args) and "maxLength" not in str(unbounded)
    assert len(model.calls) == 4
    fresh = ScriptedModel([GOOD])
    assert (await decide(fresh, ASK, Verdict)).constraint == "json_schema"


async def test_a_refusal_by_a_real_endpoint_over_http():
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    with serve(lambda body: GOOD, faults=[400]) as server:
        client = OpenAIChatCompletionClient(
            model="m", base_url=server.base_url, api_key="x", model_info=info(True, True), max_retries=0
        )
        with pytest.raises(Exception, match="a fault was asked for"):  # no constraint is named: not a refusal
            await decide(client, ASK, Verdict)
        decision = await decide(client, ASK, Verdict)
        await client.close()
    assert decision.value.kind == "replan"
    assert server.requests[1]["response_format"]["type"] == "json_schema"


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("wanted", "reply", "value"),
    [
        (int, '{"value": "42"}', 42),
        (int, "42", 42),
        (list[int], "Here: [1, 2]", [1, 2]),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (Colour, '{"value": "Red"}', Colour.RED),
        (dict[str, int], '{"value": {"a": 1}}', {"a": 1}),
        (int | None, '{"value": null}', None),
        (str, '{"value": 7}', "7"),
    ],
)
async def test_types_that_are_no_objects(wanted, reply, value):
    model = ScriptedModel([reply])
    assert (await decide(model, ASK, wanted)).value == value
    schema = model.calls[0].extra_create_args["response_format"]["json_schema"]["schema"]
    assert schema["type"] == "object" and schema["required"] == ["value"]


class Node(BaseModel):
    name: str
    children: list["Node"] = []


async def test_recursive_types():
    model = ScriptedModel(["x", '{"name": "a", "children": [{"name": "b", "children": []}]}'])
    assert (await decide(model, ASK, Node)).value.children[0].name == "b"


async def test_an_ended_script_is_no_refusal():
    model = ScriptedModel(["no json object, no tool, no schema"])
    with pytest.raises(ScriptExhausted):
        await decide(model, ASK, Verdict)
    assert len(model.calls) == 2
