import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captain.decide.reading import read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure, here it is:\n```json\n{"a": 1}\n```\nAnything else?', {"a": 1}),
        ('```\n{"a": 1}', {"a": 1}),
        ('The set {x} of [1] gives {"a": 1} as said.', {"a": 1}),
        ('<think>maybe {"a": 2}?</think>{"a": 1}', {"a": 1}),
        ('maybe {"a": 2}?\n</think>\n{"a": 1}', {"a": 1}),
        ('<think>so it is {"a": 1}', {"a": 1}),
        ('{"a": "use <think> here"}', {"a": "use <think> here"}),
        ('{"a": [1, 2,], /* why */ "b": 3, // end\n}', {"a": [1, 2], "b": 3}),
        ('{"a": "http://x.org/, }"}', {"a": "http://x.org/, }"}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ("{'a': true}", {"a": True}),
        ("{a: 1}", {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"s": "he said "hi" to me", "b": 1}', {"s": 'he said "hi" to me', "b": 1}),
        ("[1, 2]", [1, 2]),
        ('draft {"a": 1} final {"a": 2}', {"a": 2}),
        ('{"a": "x\\\\"', {"a": "x\\"}),
    ],
)
def test_reads(text, value):
    assert read_json(text) == value


def test_a_fence_inside_a_string_does_not_cut_the_value():
    how = "run ```sh\nls\n``` then stop"
    assert read_json("Reply:\n```json\n" + json.dumps({"how": how}, indent=1) + "\n```") == {"how": how}
    assert read_json('Reply:\n```json\n{"how": "' + how + '"}\n```') == {"how": how}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"ok": true, "why": "because it', {"ok": True, "why": "because it"}),
        ('{"ok": true, "n": 12', {"ok": True}),
        ('{"ok": true, "n": tr', {"ok": True}),
        ('{"ok": true, "n":', {"ok": True}),
        ('{"ok": true, "na', {"ok": True}),
        ('{"items": [{"id": "a"}, {"id": "b"},', {"items": [{"id": "a"}, {"id": "b"}]}),
        ('Here:\n```json\n{"items": [1, 2, 3], "last": {"x": "y"', {"items": [1, 2, 3], "last": {"x": "y"}}),
    ],
)
def test_closes_what_was_cut_off(text, value):
    read = read_json(text)
    assert {key: read[key] for key in value} == value
    assert read.get("n") is None  # a number may have been cut short: it is not taken


@pytest.mark.parametrize("text", ["", "  ", "I cannot say.", "{", "[see above]", "use { and } freely", "<think>hm"])
def test_no_json(text):
    with pytest.raises(ValueError, match="empty|no JSON"):
        read_json(text)


@given(OBJECTS, st.sampled_from(["", "Here it is: ", "<think>{</think>\n", "```json\n", "I'd say [1] {x}:\n"]))
def test_finds_any_object_behind_prose(value, before):
    assert read_json(before + json.dumps(value) + "\n```\nDone.") == value


@given(OBJECTS, st.data())
@settings(max_examples=200, deadline=None)
def test_a_cut_object_is_read_or_refused_but_never_fails(value, data):
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(0, len(text)))]
    try:
        read_json(cut)
    except ValueError as error:
        assert "JSON" in str(error) or "empty" in str(error)


@given(st.text(alphabet="{}[]\"'\\:,/*<>thinkaTrue01 \n`", max_size=200))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused(text):
    try:
        read_json(text)
    except ValueError as error:
        assert "JSON" in str(error) or "empty" in str(error)


@pytest.mark.parametrize(
    "piece", ["[", '{"a":[', "lorem { foo ", '"b" ', "{'a': x}, ", '\\"', "{ ", "<think>", "```json\n", "[1,"]
)
def test_ten_megabytes_are_read_in_linear_time(piece):
    text = '{"a": ' + piece * (10_000_000 // len(piece))
    start = time.monotonic()
    try:
        read_json(text)
    except ValueError:
        pass
    assert time.monotonic() - start < 40  # quadratic would be hours
