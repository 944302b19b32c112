"""Whatever a model writes is read without a crash, and in a time that grows with its length only."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, Literal

import pytest
from autogen_core.models import UserMessage
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from captain.decide import decide
from captain.decide.json_text import close_truncated, json_values, json_values_in_order
from captain.decide.reading import (
    read_code_blocks,
    read_final_answer,
    read_json,
    read_tool_calls,
    strip_reasoning,
)
from captain.decide.validation import describe, validate
from captain.errors import ModelError
from captain.testing import FunctionModel, Reply

FUZZ = settings.get_profile("fuzz")
SECONDS = 2.0
"""CPU time that a reply of 200 kB may take to be read in one way."""
LENGTH = 200_000


class Inner(BaseModel):
    kind: Literal["compute", "recall"]
    weight: float = Field(ge=0)


class Wanted(BaseModel):
    name: str = Field(min_length=1, max_length=20)
    number: int = 0
    yes: bool = True
    parts: list[Inner] = []
    tags: dict[str, list[int]] = {}
    below: Wanted | None = None


READERS: dict[str, Callable[[str], Any]] = {
    "json": lambda text: _value_error_or(lambda: read_json(text)),
    "values": json_values,
    "in order": json_values_in_order,
    "truncated": close_truncated,
    "calls": lambda text: read_tool_calls(text, ["add", "name"]),
    "blocks": read_code_blocks,
    "answer": read_final_answer,
    "reasoning": strip_reasoning,
}
ATOMS = [
    *"[]{}()\"'`~<>,:;\\/#*_-+. \n\r\t\0é\u2028\ud83d\U0001f600%@0",
    *["```", "```json\n", "```python\n", "\n```\n", "\n~~~\n", "    ```\n", "> ```\n", "```\n```"],
    *["<think>", "</think>", "\n<think>", "<tool_call>", "</tool_call>", "<thinking>\n", "</reasoning>"],
    *["FINAL ANSWER:", "\n**FINAL ANSWER:** ", "\n# FINAL ANSWER", "answer\n", "Final   Answer :"],
    *['{"a":', '{"name": "add", "arguments": ', '"b": [', "{'a': ", "{a: ", "[1,", "[[[", '{"":{"":', "]}", '"}', "',"],
    *["/*", "*/", "//", "// x\n", "#!", "%s", "\\u", "\\ud83d", "\\\\", '\\"', '""', "'''", '"""', "/*/"],
    *["1", "9" * 5000, "1e999", "-", "0x", "1_0", "True", "null", "NaN", "Infinity", "None", "-1.5e"],
    *["def f():\n    ", "x = ", "lambda: ", "f'{", "if x:\n", "not ", "~", "**", "(" * 50, "import os\n", "\\\n"],
]
PIECES = st.tuples(st.sampled_from(ATOMS) | st.text(max_size=6), st.sampled_from([1, 1, 1, 2, 3, 40, 2000, 100_000]))
REPLIES = st.lists(PIECES, max_size=8).map(
    lambda pieces: "".join((piece * times)[: LENGTH // len(pieces)] for piece, times in pieces)
)
CYCLES = st.tuples(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4), st.sampled_from([5, 500, 20_000])).map(
    lambda cycle: ("".join(cycle[0]) * cycle[1])[:LENGTH]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)
KEYS = st.text(max_size=3) | st.integers() | st.none() | st.tuples(st.booleans()) | st.binary(max_size=2)
LITERALS = st.recursive(
    KEYS | st.floats() | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.frozensets(KEYS, min_size=1, max_size=2).map(set)
    ),
    max_leaves=8,
)
WRITTEN = (
    JSON.map(json.dumps)
    | JSON.map(repr)
    | LITERALS.map(repr)
    | st.builds(
        lambda value, before, after, cut: (before + json.dumps(value) + after)[: cut or None],
        JSON,
        st.sampled_from(["", "```json\n", "<think>x</think>", "Here: ", "<tool_call>", '{"value": ']),
        st.sampled_from(["", "\n```", "}", "]", ",", "</tool_call>", "\ud83d"]),
        st.integers(0, 60),
    )
)


def _value_error_or(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValueError:
        return None


@pytest.mark.parametrize("reader", READERS)
@FUZZ
@given(text=REPLIES | CYCLES | WRITTEN)
@example(text="[" * 100_000)
@example(text='{"a":' * 40_000)
@example(text="{" * 100_000 + "}" * 100_000)
@example(text="```\n" * 50_000)
@example(text="```python\n" + "x = (\n" * 30_000 + "```\n" * 5_000)
@example(text="````\n```\n" * 20_000)
@example(text="<think>" * 20_000 + "</think>" * 20_000)
@example(text='"' + "\\" * 100_000)
@example(text="[" + "9" * 100_000 + "]")
@example(text="FINAL ANSWER:\n" * 10_000)
@example(text="/*" * 50_000 + '{"a": 1}')
def test_every_reader_takes_every_reply(reader: str, text: str) -> None:
    start = time.process_time()
    READERS[reader](text)
    assert time.process_time() - start < SECONDS


@FUZZ
@given(text=REPLIES | CYCLES | WRITTEN, finish=st.sampled_from(["stop", "length"]), fall_back=st.booleans())
@example(text=json.dumps({"name": "x" * 99, "parts": None, "below": {}}), finish="stop", fall_back=False)
def test_decide_gives_a_value_or_a_model_error(text: str, finish: Any, fall_back: bool) -> None:
    model = FunctionModel(lambda _: Reply(text=text, finish_reason=finish, prompt_tokens=1, completion_tokens=1))
    fallback = Wanted(name="fallback") if fall_back else None
    question = [UserMessage(content="?", source="user")]
    start = time.process_time()
    try:
        decision = asyncio.run(decide(model, question, Wanted, fallback=fallback))
    except ModelError as error:
        assert not fall_back and len(str(error)) < 3000
    else:
        assert isinstance(decision.value, Wanted)
    assert time.process_time() - start < 3 * SECONDS


@FUZZ
@given(value=JSON | st.dictionaries(st.sampled_from([*Wanted.model_fields, "extra", ""]), JSON, max_size=6))
@example(value={"name": float("nan"), "parts": {"kind": "COMPUTE", "weight": "1e999"}, "tags": {"a": True}})
@example(value={"name": 10**5000, "number": 10**400})
def test_values_are_mended_or_refused(value: Any) -> None:
    for wanted in (Wanted, list[Wanted], dict[str, int], Literal["a b", "c"], bool, str | int):
        try:
            made, mended = validate(TypeAdapter(wanted), value)
        except ValidationError as error:
            assert describe(error)
        else:
            assert TypeAdapter(wanted).validate_python(made) == made or made != made


@FUZZ
@given(value=LITERALS)
@example(value=b"x")
@example(value={1})
@example(value={(1, 2): 3})
@example(value=1j)
@example(value={None: 1, "a": (1, 2)})
def test_calls_in_python_literals(value: Any) -> None:
    for call in read_tool_calls(repr({"name": "add", "arguments": {"a": value}}), ["add"]):
        assert call.name == "add" and isinstance(json.loads(call.arguments), dict)


def test_a_call_with_a_number_that_python_cannot_write_out() -> None:
    for call in read_tool_calls("{'name': 'add', 'arguments': {'a': 0x" + "f" * 5000 + "}}", ["add"]):
        assert isinstance(json.loads(call.arguments), dict)


@FUZZ
@given(given=JSON, name=st.sampled_from(["add", "drop", ""]))
def test_calls_are_of_known_tools_and_carry_objects(given: Any, name: str) -> None:
    text = json.dumps([{"name": name, "arguments": given}, {"tool": name, "args": json.dumps(given)}, {name: given}])
    for call in read_tool_calls(text, ["add"]):
        assert call.name == "add" and isinstance(json.loads(call.arguments), dict)
