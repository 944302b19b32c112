"""Tools: what is read from a function, how a model's call is understood, and what comes back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from autogen_core import CancellationToken
from autogen_core.tools import StaticWorkbench

from captain.errors import ConfigError, ToolError
from captain.tools import Needs, is_tool, resolve_path, spec_of, tool


@tool
def record(
    tags: list[str],
    count: int = 1,
    weights: list[float] | None = None,
    order_id: str = "",
    mode: Literal["short", "long"] = "short",
    strict: bool = False,
) -> dict[str, Any]:
    """Write down what was
    given.

    More that only people read.

    Args:
        tags: The tags,
            in any order.
        count (int): How many.
    """
    return {"tags": tags, "count": count, "weights": weights, "order_id": order_id, "mode": mode, "strict": strict}


async def call(
    function: Any, arguments: dict[str, Any], workspace: Path = Path("."), **options: Any
) -> tuple[bool, str]:
    """What a model sees: whether the call failed, and the text."""
    bound = spec_of(function).bind(workspace, **options)
    result = await StaticWorkbench([bound]).call_tool(bound.name, arguments)
    return result.is_error, result.to_text()


def test_specification_is_read_from_signature_and_docstring() -> None:
    spec = spec_of(record)
    assert spec.name == "record" and spec.category == "test_tools"
    assert spec.description == "Write down what was given."
    assert [parameter.name for parameter in spec.parameters if parameter.required] == ["tags"]
    schema = spec.bind(Path(".")).schema["parameters"]
    assert schema["required"] == ["tags"]
    assert schema["properties"]["tags"] == {
        "description": "The tags, in any order.",
        "items": {"type": "string"},
        "type": "array",
    }
    assert schema["properties"]["count"]["description"] == "How many."
    assert schema["properties"]["mode"]["enum"] == ["short", "long"]


def test_marked_function_stays_callable_and_unmarked_is_none() -> None:
    assert record(["a"])["tags"] == ["a"]
    assert is_tool(record) and not is_tool(len) and not is_tool("record")


def test_needs_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool(needs_packages=("json", "no_such_package_here", "no.such"), needs_env=("CAPTAIN_TEST_KEY",), network=True)
    def fetch(address: str) -> str:
        """Fetch a page."""
        return address

    @tool(needs_programs=("sh", "no-such-program-here"))
    def draw() -> str:
        """Draw it."""
        return ""

    assert spec_of(draw).missing() == ["program 'no-such-program-here' is not installed"]
    monkeypatch.delenv("CAPTAIN_TEST_KEY", raising=False)
    spec = spec_of(fetch)
    assert spec.needs == Needs(("json", "no_such_package_here", "no.such"), ("CAPTAIN_TEST_KEY",), network=True)
    reasons = spec.missing()
    assert len(reasons) == 3
    assert "no_such_package_here" in reasons[0] and "CAPTAIN_TEST_KEY" in reasons[2]
    monkeypatch.setenv("CAPTAIN_TEST_KEY", "x")
    assert len(spec.missing()) == 2
    assert spec_of(record).missing() == []


def test_tools_that_cannot_be_described_are_refused() -> None:
    def silent(x: int) -> int:
        return x

    def untyped(x) -> int:  # type: ignore[no-untyped-def]  # the missing type is what is tested
        """Double it."""
        return 2 * x

    def greedy(*xs: int) -> int:
        """Add them."""
        return sum(xs)

    for function, complaint in (
        (silent, "no docstring"),
        (untyped, "'x' has no type"),
        (greedy, "'xs' must be a plain"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            spec_of(function)


@pytest.mark.parametrize(
    ("given", "field", "expected"),
    [
        ({"tags": '["a", "b"]'}, "tags", '["a", "b"]'),
        ({"tags": "['a', 'b']"}, "tags", '["a", "b"]'),
        ({"tags": "alone"}, "tags", '["alone"]'),
        ({"tags": ["a", 7]}, "tags", '["a", "7"]'),
        ({"Tags": ["a"]}, "tags", '["a"]'),
        ({"tags": [], "orderId": 10045}, "order_id", '"10045"'),
        ({"tags": [], "order_id": {"a": "ü"}}, "order_id", '"{\\"a\\": \\"ü\\"}"'),
        ({"tags": [], "count": "3"}, "count", "3"),
        ({"tags": [], "count": "1,200"}, "count", "1200"),
        ({"tags": [], "count": 4.0}, "count", "4"),
        ({"tags": [], "count": None}, "count", "1"),
        ({"tags": [], "weights": "1, 2.5; 3"}, "weights", "[1.0, 2.5, 3.0]"),
        ({"tags": [], "weights": 2}, "weights", "[2.0]"),
        ({"tags": [], "weights": "null"}, "weights", "null"),
        ({"tags": [], "mode": " LONG "}, "mode", '"long"'),
        ({"tags": [], "strict": "False"}, "strict", "false"),
    ],
)
async def test_arguments_with_one_meaning_are_understood(given: dict[str, Any], field: str, expected: str) -> None:
    failed, text = await call(record, given)
    assert not failed, text
    assert f'"{field}": {expected}' in text


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"tags": "a, b"}, "'tags' must be a list"),
        ({"tags": [], "order_id": 1e3}, "'order_id' must be text, not 1000.0"),
        ({"tags": [], "count": "many"}, "'count' must be a whole number, not 'many'"),
        ({"tags": [], "count": 2.5}, "'count' must be a whole number"),
        ({"tags": [], "mode": "medium"}, "one of 'short', 'long'"),
        ({"tags": [], "cuont": 3}, "unknown argument 'cuont': the arguments are 'tags', 'count'"),
        ({}, "missing 'tags'"),
    ],
)
async def test_other_arguments_are_refused_readably(given: dict[str, Any], complaint: str) -> None:
    failed, text = await call(record, given)
    assert failed and complaint in text
    assert "pydantic" not in text and len(text) < 300


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (0.1 + 0.2, "0.30000000000000004"),
        (12, "12"),
        (True, "True"),
        (None, "(done, no value returned)"),
        ("", "(empty text)"),
        ({"t": "日本語 مرحبا 🙂"}, '{"t": "日本語 مرحبا 🙂"}'),
        ([1, (2, {3})], "[1, [2, [3]]]"),
        ({(1, 2): Path("a")}, '{"(1, 2)": "a"}'),
        ("half \ud83d of a pair", "half ? of a pair"),
    ],
)
async def test_results_become_readable_text(value: Any, text: str) -> None:
    def give() -> Any:
        """Give it."""
        return value

    assert await call(give, {}) == (False, text)


async def test_number_too_long_to_write_is_described() -> None:
    def give() -> int:
        """Give it."""
        return 10**5000

    assert await call(give, {}) == (False, "(an integer of about 5000 digits)")


async def test_numpy_values_are_unwrapped() -> None:
    import numpy as np

    def give() -> Any:
        """Give it."""
        return {"mean": np.float64(2.5), "rows": np.arange(3)}

    assert await call(give, {}) == (False, '{"mean": 2.5, "rows": [0, 1, 2]}')


async def test_long_result_is_cut_and_says_so(tmp_path: Path) -> None:
    def flood() -> str:
        """Flood."""
        return "a" * 5000 + "z" * 5000

    _, text = await call(flood, {}, tmp_path, max_chars=600)
    assert text.startswith("aaa") and text.endswith("zzz")
    assert "9400 of 10000 characters left out; all of it is in the file" in text and len(text) < 750
    (kept,) = tmp_path.iterdir()
    assert kept.name in text and kept.read_text() == flood()


async def test_a_whole_result_is_not_written_through_what_a_program_left(tmp_path: Path) -> None:
    def flood() -> str:
        """Flood."""
        return "a" * 5000

    workspace, victim = tmp_path / "work", tmp_path / "victim"
    workspace.mkdir()
    victim.write_text("mine")
    await call(flood, {}, workspace, max_chars=600)
    (kept,) = workspace.iterdir()
    kept.unlink()
    kept.symlink_to(victim)
    _, text = await call(flood, {}, workspace, max_chars=600)
    assert victim.read_text() == "mine" and not kept.is_symlink() and kept.name in text
    kept.unlink()
    kept.mkdir()
    _, text = await call(flood, {}, workspace, max_chars=600)
    assert "characters left out ..." in text


async def test_errors_of_a_tool_reach_the_model_as_text() -> None:
    def fail(kind: str) -> str:
        """Fail."""
        if kind == "own":
            raise ToolError("no such column")
        if kind == "exit":
            raise SystemExit(3)
        raise KeyError("age")

    assert await call(fail, {"kind": "own"}) == (True, "no such column")
    assert await call(fail, {"kind": "exit"}) == (True, "SystemExit: 3")
    assert await call(fail, {"kind": "other"}) == (True, "KeyError: 'age'")


async def test_hung_tool_is_given_up_and_the_loop_stays_free() -> None:
    release = threading.Event()

    def hang() -> str:
        """Hang."""
        release.wait(30)
        return "late"

    started = time.perf_counter()
    failed, text = await call(hang, {}, timeout=0.2)
    assert failed and "no answer within 0.2 s" in text
    assert time.perf_counter() - started < 2
    release.set()


async def test_cancelling_returns_at_once() -> None:
    release = threading.Event()

    def hang() -> str:
        """Hang."""
        release.wait(30)
        return "late"

    token = CancellationToken()
    running = asyncio.ensure_future(spec_of(hang).bind(Path(".")).run_json({}, token))
    await asyncio.sleep(0.05)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 2)
    release.set()


def test_hung_tool_does_not_keep_the_interpreter_alive() -> None:
    program = """
import asyncio, threading
from pathlib import Path
from autogen_core import CancellationToken
from captain.tools import spec_of
def hang() -> str:
    "Hang."
    threading.Event().wait(60)
    return ""
try:
    asyncio.run(spec_of(hang).bind(Path("."), timeout=0.1).run_json({}, CancellationToken()))
except Exception as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=40, check=True)
    assert "no answer within 0.1 s" in done.stdout


async def test_tools_run_side_by_side() -> None:
    barrier = threading.Barrier(5, timeout=5)

    def meet() -> str:
        """Meet."""
        barrier.wait()
        return "met"

    results = await asyncio.gather(*(call(meet, {}) for _ in range(5)))
    assert results == [(False, "met")] * 5


async def test_asynchronous_tool_with_workspace(tmp_path: Path) -> None:
    async def where() -> str:
        """Where."""
        await asyncio.sleep(0)
        return str(resolve_path("a.txt"))

    assert await call(where, {}, tmp_path) == (False, str(tmp_path.resolve() / "a.txt"))


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "link/x", "", "a\0b"])
async def test_paths_outside_the_workspace_are_refused(tmp_path: Path, path: str) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path)

    def read(path: str) -> str:
        """Read."""
        return str(resolve_path(path))

    failed, text = await call(read, {"path": path}, workspace)
    assert failed and "relative" in text


async def test_paths_inside_the_workspace_are_found(tmp_path: Path) -> None:
    def read(path: str) -> str:
        """Read."""
        return resolve_path(path).read_text()

    (tmp_path / "a.txt").write_text("hello")
    assert await call(read, {"path": "a.txt"}, tmp_path) == (False, "hello")
    assert await call(read, {"path": str(tmp_path / "a.txt")}, tmp_path) == (False, "hello")
    assert resolve_path("../anything") == Path("../anything")


def test_importing_the_mark_is_light() -> None:
    program = "import sys, captain.tools; print([m for m in ('autogen_core', 'chromadb', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
