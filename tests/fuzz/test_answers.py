"""Whatever an endpoint answers: a completion that fits its schema, or an error of the endpoint in one line."""

from __future__ import annotations

import copy
import json
import time
import warnings
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from captain.models.completions import read_completion
from captain.models.failures import EndpointError, detail_of, line, public_address, retry_after

FUZZ = settings.get_profile("fuzz")
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # of long reprs
SECONDS = 2.0
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["stop", "7", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
WHOLE: dict[str, Any] = {
    "id": "1",
    "model": "m",
    "error": None,
    "choices": [
        {
            "finish_reason": "stop",
            "error": None,
            "message": {
                "content": "fine",
                "refusal": None,
                "reasoning_content": "so",
                "function_call": None,
                "tool_calls": [{"id": "7", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
}


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A good answer with something else in some places."""
    data = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 3))):
        node: Any = data
        while True:
            key = draw(st.sampled_from(list(node) if isinstance(node, dict) else list(range(len(node)))))
            if not isinstance(node[key], dict | list) or not node[key] or draw(st.booleans()):
                break
            node = node[key]
        node[key] = draw(VALUES)
        if not data:
            break
    return json.dumps(data).encode()


@FUZZ
@given(content=st.binary(max_size=30) | VALUES.map(lambda value: json.dumps(value).encode()) | changed())
@example(content=b"[" * 100_000)
@example(content=b'{"choices": [{"finish_reason": {"a": 1}, "message": {}}]}')
@example(content=b'{"choices": [{"message": {"content": [1]}}]}')
@example(content=b'{"choices": ' + b"9" * 10_000 + b"}")
@example(content=b'{"choices": [{"message": {"tool_calls": [{"id": 1, "function": {"name": "\\ud83d"}}]}}]}')
@example(content=b'{"id": "\\ud83d", "model": "\\ud83d", "choices": [{"message": {}}]}')
@example(content=b'{"error": {"message": ["a", {"b": "\\ud83d"}]}, "choices": []}')
def test_any_answer(content: bytes) -> None:
    start = time.process_time()
    try:
        completion, usage = read_completion(content, "model 'm' at http://x", key="sk-1234")
    except EndpointError as error:
        assert "\n" not in str(error) and len(str(error)) < 700
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        completion.model_dump_json().encode()
    assert isinstance(completion.choices[0].message.content, str | None)
    assert usage is None or min(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) >= 0
    assert time.process_time() - start < SECONDS


@FUZZ
@given(
    text=st.text(max_size=20)
    | st.from_regex(r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} \d\d?:\d\d?:\d{1,3} [A-Z+\-\d]{1,9}")
)
@example(text="Mon, 01 Jan 0001 00:00:00 +2359")
@example(text="Fri, 31 Dec 9999 23:59:59 -2359")
@example(text="1e999")
@example(text="nan")
def test_any_pause_that_is_asked_for(text: str) -> None:
    for headers in ({"retry-after": text}, {"retry-after-ms": text}, {"retry-after-ms": text, "retry-after": text}):
        seconds = retry_after(headers)
        assert seconds is None or seconds >= 0


@FUZZ
@given(value=VALUES, text=st.text())
@example(value=None, text="http://[::1")
def test_any_detail_and_address(value: Any, text: str) -> None:
    assert "\n" not in line(detail_of(value), "")
    assert "?" not in public_address(f"http://host/{text}")
