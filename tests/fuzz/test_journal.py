"""Whatever stands in a journal: the run goes on, or one clear error says why it cannot."""

from __future__ import annotations

import copy
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autogen_core import FunctionCall
from hypothesis import example, given, settings
from hypothesis import strategies as st

from captain import Captain
from captain.attribution import failures_in
from captain.durable.reading import read_journal
from captain.durable.recording import Recording
from captain.effects import Approval, ApprovalRequest
from captain.errors import CaptainError, ConfigError
from captain.journal import Run
from captain.models import ModelCall
from captain.results import Result

FUZZ = settings.get_profile("fuzz")
RUNS = settings(FUZZ, max_examples=max(15, FUZZ.max_examples // 10))
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # of long reprs
SECONDS = 5.0
EACH = 1 if FUZZ.max_examples > 1000 else 4
BITS = [
    b"",
    b"\n",
    b"\0",
    b"{}\n",
    b"[]\n",
    b"null\n",
    b"\xff",
    b'"',
    b"}",
    b"{",
    b"\\",
    b"1e999",
    b"[" * 3000,
    b"9" * 5000,
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
Change = Callable[[list[Any]], None]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal")


TOOL = """
from captain import tool

@tool(side_effects=True)
def pay(amount: int) -> str:
    'Pay an amount of money.'
    return "paid " + str(amount)
"""
EXPERT = {
    "description": "Identifies stamps and tells what they are worth.",
    "instructions": "Look at perforation, watermark and print of the stamp. Name the catalogue of the price.",
    "probe": "What makes a stamp with an inverted print rare?",
}
STEPS = {"alike", "brief", "decision", "keep", "likeness", "model_call", "program", "search", "team", "tool"}


async def approve(request: ApprovalRequest) -> Approval:
    return Approval(verdict="approve", note="for once")


@pytest.fixture
def recorded(captain_with: Callable[..., Captain], steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that was killed just before its end: all sorts of steps are on record."""
    (tmp_path / "fuzz_paying.py").write_text(TOOL)
    monkeypatch.syspath_prepend(str(tmp_path))

    def expert(ask: Any) -> Any:
        if "compute it" in ask.text:
            return str(steps.program("print('FINAL ANSWER:', 6 * 7)"))
        if "FunctionExecutionResultMessage" in ask.forms:
            return "FINAL ANSWER: 5"
        return [FunctionCall(id="1", name="pay", arguments='{"amount": 5}')]

    model = {
        "planner": steps.plan(
            steps.part("Philatelist", goal="price it", method="recall"), steps.part("Mathematician", goal="compute it")
        ),
        "writer": json.dumps({"experts": [EXPERT]}),
        "expert": expert,
        "composer": "42 and 5",
    }
    settings = {
        "library.keep_written": True,
        "library.user_dir": str(tmp_path / "user"),
        "tools.enabled": True,
        "tools.modules": ["fuzz_paying"],
        "tools.threshold": -1.0,
        "approval.tools": ["pay"],
    }
    result = Captain(captain_with(model, settings).config, approver=approve).solve("Do both.")
    assert result.run_dir is not None and result.answer == "42 and 5"
    kinds = {entry["kind"] for entry in read_journal(result.run_dir).entries if "request_hash" in entry}
    assert kinds == STEPS
    (result.run_dir / "result.json").write_text('{"status": "running"}')
    return result.run_dir


def _copied(recorded: Path, scratch: Path, journal: bytes) -> Path:
    folder = scratch / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(recorded, folder)
    (folder / "journal.jsonl").write_bytes(journal)
    return folder


def _explain(folder: Path) -> None:
    try:
        failures_in(read_journal(folder).entries)
    except ConfigError as error:
        assert "journal" in str(error) and "\n" not in str(error)


def resume(recorded: Path, scratch: Path, content: bytes, config: bytes | None = None) -> Result | None:
    """Resumes a copy of the run with another journal; None where an error says that it cannot go on."""
    folder = _copied(recorded, scratch, content)
    if config is not None:
        (folder / "config.yaml").write_bytes(config)
    start = time.process_time()
    _explain(folder)
    try:
        result = Captain.resume(folder)
    except CaptainError as error:
        assert "\n" not in str(error) or not isinstance(error, ConfigError)
        return None
    finally:
        assert time.process_time() - start < SECONDS
    assert json.loads((folder / "result.json").read_text())["status"] == result.status
    read_journal(folder)
    return result


@FUZZ
@given(content=st.lists(st.sampled_from(BITS) | st.binary(max_size=6), max_size=8).map(b"".join))
@example(content=b'{"kind": ' + b"[" * 100_000 + b"\n")
@example(content=b'{"kind": "a", "t": ' + b"9" * 400 + b"}\n")
@example(
    content=b'{"kind": "a", "t": NaN}\n{"kind": "b", "t": Infinity}\n{"kind": "c", "t": -1}\n{"kind": "d", "t": true}\n'
)
def test_any_bytes_are_read_or_refused(scratch: Path, content: bytes) -> None:
    (scratch / "journal.jsonl").write_bytes(content)
    try:
        text = read_journal(scratch)
    except ConfigError as error:
        assert "journal" in str(error) and "\n" not in str(error)
        return
    assert text.whole + text.torn == len(content)
    assert 0 <= text.elapsed < float("inf")


@st.composite
def of_bytes(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Cuts, puts in, and changes bytes at some places."""
    cut = draw(st.none() | st.floats(0, 1))
    places = draw(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(BITS)), max_size=3))

    def change(content: bytes) -> bytes:
        for place, length, piece in places:
            at = int(place * len(content))
            content = content[:at] + piece + content[at + length :]
        return content if cut is None else content[: int(cut * len(content))]

    return change


@RUNS
@given(change=of_bytes())
@example(change=lambda content: content[:-1])
@example(change=lambda content: content + b"\0" * 4096)
def test_truncated_and_damaged_bytes(recorded: Path, scratch: Path, change: Callable[[bytes], bytes]) -> None:
    resume(recorded, scratch, change((recorded / "journal.jsonl").read_bytes()))


@RUNS
@given(data=st.data())
def test_lines_shuffled_doubled_and_dropped(recorded: Path, scratch: Path, data: st.DataObject) -> None:
    lines = (recorded / "journal.jsonl").read_bytes().splitlines(keepends=True)
    order = data.draw(st.permutations(range(len(lines))) | st.lists(st.integers(0, len(lines) - 1), max_size=60))
    resume(recorded, scratch, b"".join(lines[place] for place in order))


@RUNS
@given(config=of_bytes(), result=st.dictionaries(st.sampled_from(["status", "answer", "missing", "x"]), VALUES))
@example(config=lambda content: content + b"\nlimits: {calls: !!bool x}\n", result={})
@example(config=lambda content: b"[" * 5000, result={})
@example(config=lambda content: content, result={"status": "solved"})
def test_other_files_of_the_run(
    recorded: Path, scratch: Path, config: Callable[[bytes], bytes], result: dict[str, Any]
) -> None:
    (recorded / "result.json").write_text(json.dumps(result))
    journal = (recorded / "journal.jsonl").read_bytes()
    resume(recorded, scratch, journal, config((recorded / "config.yaml").read_bytes()))


@RUNS
@given(data=st.data())
def test_a_replay_of_values_of_another_kind(recorded: Path, scratch: Path, data: st.DataObject) -> None:
    entries = [json.loads(line) for line in (recorded / "journal.jsonl").read_bytes().splitlines()]
    _replace(data, entries[data.draw(st.integers(0, len(entries) - 1))])
    folder = _copied(recorded, scratch, _written(entries))
    try:
        Captain.replay(folder)
    except CaptainError as error:
        assert str(error)


@RUNS
@given(data=st.data())
def test_values_of_another_kind(recorded: Path, scratch: Path, data: st.DataObject) -> None:
    """JSON that is whole, with something else where a value was."""
    entries = [json.loads(line) for line in (recorded / "journal.jsonl").read_bytes().splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        _replace(data, entries[data.draw(st.integers(0, len(entries) - 1))])
    resume(recorded, scratch, _written(entries))


def _replace(data: st.DataObject, node: Any) -> None:
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 2)) == 0:
            break
        node = inner
    if data.draw(st.integers(0, 4)) == 0:
        del node[key]
    else:
        node[key] = data.draw(VALUES)


def _written(entries: list[Any]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def test_every_value_of_every_line_may_be_wrong(recorded: Path, scratch: Path) -> None:
    """The fields of the lines that a resume reads, one at a time: all of them in a long run, else some."""
    entries = [json.loads(line) for line in (recorded / "journal.jsonl").read_bytes().splitlines()]
    seen: set[tuple[str, str]] = set()
    wrong = [None, 7, "x", [], {}]
    for place, entry in enumerate(entries):
        for number, key in enumerate(entry):
            if (entry["kind"], key) in seen or "request_hash" not in entry and entry["kind"] not in ("task", "models"):
                continue
            seen.add((entry["kind"], key))
            if len(seen) % EACH:
                continue
            changed = copy.deepcopy(entries)
            changed[place][key] = wrong[(place + number) % len(wrong)]
            resume(recorded, scratch, _written(changed))


@FUZZ
@given(entries=st.lists(st.dictionaries(st.sampled_from([*ModelCall.__slots__, "phase", "value", "x"]), VALUES)))
def test_a_record_of_anything_answers_or_refuses(scratch: Path, entries: list[dict[str, Any]]) -> None:
    digest = "0" * 64
    folder = scratch / "record"
    folder.mkdir(exist_ok=True)
    run = Run(folder)
    try:
        named = [{"branch": "", "request_hash": digest, "number": n, "kind": "model_call"} for n in range(len(entries))]
        recording = Recording(run, [{**entry, **name} for entry, name in zip(entries, named, strict=True)])
        for _ in entries:
            call = recording.name_call(ModelCall("expert", "m", digest))
            try:
                known = recording.recall(call)
            except ConfigError:
                continue
            assert known is None or isinstance(known.text, str) and isinstance(known.usage.prompt_tokens, int)
    finally:
        run.close()
