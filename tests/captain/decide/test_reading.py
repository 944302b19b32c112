import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captain.decide.reading import read_code_blocks, read_final_answer, read_tool_calls, strip_reasoning


def calls(text, known=("add", "mul")):
    return [(call.name, json.loads(call.arguments)) for call in read_tool_calls(text, known)]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "add", "arguments": {"a": 1}}',
        'I will use the tool.\n```json\n{"name": "add", "arguments": {"a": 1}}\n```\nWait for it.',
        '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
        '<think>{"name": "mul", "arguments": {}}</think>{"tool": "add", "parameters": {"a": 1}}',
        '{"function": {"name": "add", "arguments": "{\\"a\\": 1}"}}',
        '{"tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]}',
        '[{"name": "add", "parameters": {"a": 1,}}]',
        "{'name': 'add', 'arguments': {'a': 1}}",
        '{"action": "add", "action_input": {"a": 1}}',
        '{"add": {"a": 1}}',
        '{"name": "add", "arguments": {"a": 1}',
    ],
)
def test_tool_call_written_as_text(text):
    assert calls(text) == [("add", {"a": 1})]


def test_several_calls_keep_their_order_and_have_ids_of_their_own():
    text = '<tool_call>{"name":"mul","arguments":{}}</tool_call>\n' * 2 + '{"name":"add","arguments":{"a":"é"}}'
    found = read_tool_calls(text, {"add", "mul"})
    assert [call.name for call in found] == ["mul", "mul", "add"]
    assert found[2].arguments == '{"a": "é"}'
    assert len({call.id for call in found}) == 3
    assert [call.id for call in found] == [call.id for call in read_tool_calls(text, {"add", "mul"})]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "drop_tables", "arguments": {}}',
        '{"name": "add", "age": 3}',
        '{"name": "add", "arguments": [1]}',
        '```python\ncall = {"name": "add", "arguments": {"a": 1}}\n```',
        "add(1, 2)",
        "",
    ],
)
def test_what_is_no_call_of_a_known_tool(text):
    assert calls(text) == []


def blocks(text):
    return [(block.language, block.code) for block in read_code_blocks(text)]


def test_code_blocks_by_tag():
    text = (
        "```python\nprint(1)\n```\nthen\n```bash\nls\n```\n```json\n{}\n```\n~~~py\nprint(2)\n~~~\n```text\nx = 1\n```"
    )
    assert blocks(text) == [("python", "print(1)"), ("bash", "ls"), ("python", "print(2)")]


def test_untagged_block_counts_only_when_it_is_a_program():
    assert blocks("```\nx = 1\nprint(x)\n```") == [("python", "x = 1\nprint(x)")]
    assert blocks("```\n277050\n```\n```\nSome words here.\n```\n```\n{'a': 1}\n```") == []


def test_unclosed_last_block():
    assert blocks("Run this:\n```python\nfor i in range(3):\n    print(i)\n") == [
        ("python", "for i in range(3):\n    print(i)")
    ]


def test_a_fence_inside_a_string_does_not_end_the_block():
    code = 'text = """\n```\ninner\n```\n"""\nprint(text)'
    assert blocks(f"```python\n{code}\n```\nDone.") == [("python", code)]


def test_code_that_does_not_parse_ends_at_its_own_fence():
    text = "```python\nprint(1\n```\nOops, again:\n```python\nprint(1)\n```"
    assert blocks(text) == [("python", "print(1"), ("python", "print(1)")]


def test_a_new_block_ends_one_that_was_not_closed():
    assert blocks("```python\nprint(1)\n```python\nprint(2)\n```") == [("python", "print(1)"), ("python", "print(2)")]


def test_indented_block_in_a_list():
    text = "1. Do:\n   ```python\n   if True:\n       print(1)\n   ```\n"
    assert blocks(text) == [("python", "if True:\n    print(1)")]


def test_fence_after_prose_on_the_same_line():
    assert blocks("Here is the code: ```python\nprint(1)\n```") == [("python", "print(1)")]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The sum is 5.\nFINAL ANSWER: 5\nBye.", "5"),
        ("final answer: 5", "5"),
        ("**FINAL ANSWER:** 5", "5"),
        ("**FINAL ANSWER: 5**", "5"),
        ("**FINAL ANSWER**: 5", "5"),
        ("## FINAL ANSWER: **5**", "**5**"),
        ("FINAL ANSWER: 2**3", "2**3"),
        ("FINAL ANSWER: 4\nNo, wait.\nFINAL ANSWER: 5", "5"),
        ("FINAL ANSWER:\nfirst line\nsecond line\n", "first line\nsecond line"),
        ("FINAL ANSWER:\n```python\ndef f():\n    return 1\n```\n", "def f():\n    return 1"),
        ("FINAL ANSWER: ```python\ndef f():\n    return 1\n```", "def f():\n    return 1"),
        ("FINAL ANSWER: see here\n```\nx = 1\n```\nBye.", "see here\n```\nx = 1\n```"),
        ("```\nFINAL ANSWER: 5\n```", "5"),
        ("<think>\nFINAL ANSWER: 4\n</think>\nFINAL ANSWER: 5", "5"),
        ("FINAL ANSWER:", None),
        ("So the FINAL ANSWER: is near", None),
        ("```python\ns = '''\nFINAL ANSWER: 4\n'''\nprint(s)\n```\nLet us see.", None),
        ("The answer is 5.", None),
        ("", None),
    ],
)
def test_final_answer(text, answer):
    assert read_final_answer(text) == answer


def test_reasoning_is_taken_out():
    assert strip_reasoning("<think>a\nb</think>\nhello") == "hello"
    assert strip_reasoning("a\n</think>\nhello") == "hello"
    assert strip_reasoning("Well.\n<thinking>a</thinking>\nhello") == "Well.\n\nhello"
    assert strip_reasoning("<think>never ends") == ""
    assert strip_reasoning("call the `<think>` tag") == "call the `<think>` tag"


@given(st.text(alphabet="`~pythonjs \n{}\"'FINAL ANSWER:#*<>/", max_size=200))
@settings(max_examples=300, deadline=None)
def test_odd_text_never_fails(text):
    read_code_blocks(text)
    read_tool_calls(text, {"p"})
    answer = read_final_answer(text)
    assert answer is None or answer.strip()
