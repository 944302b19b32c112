from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from captain.config import CaptainConfig, ModelSpec
from captain.results import Result, Usage


class FakeCaptain:
    """Answers by a function of the task's text; one with a single assistant says so in its answers' stop reason."""

    def __init__(self, config: CaptainConfig, answer: Callable[[str, CaptainConfig], str] | None = None) -> None:
        self.config = config
        self.asked: list[tuple[str, Sequence[Any], Any]] = []
        self.answer = answer or FakeCaptain.default

    default: Callable[[str, CaptainConfig], str] = staticmethod(lambda text, config: "42")

    async def solve_async(self, task: str, *, files: Sequence[Any] = (), output_type: Any = None) -> Result:
        self.asked.append((task, files, output_type))
        usage = Usage(calls=2, prompt_tokens=100, completion_tokens=20)
        answer = self.answer(task, self.config)
        return Result(answer=answer, status="solved", stop_reason="finished", usage=usage)


class FakeJournal:
    """Keeps what is written, as JSON data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[dict[str, Any]] = []

    def write(self, kind: str, /, **data: Any) -> None:
        self.lines.append(json.loads(json.dumps({"kind": kind, **data})))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind]


def config(**changes: Any) -> CaptainConfig:
    return CaptainConfig(model=ModelSpec(name="fake", provider="scripted", script=[]), **changes)


@pytest.fixture
def journal(tmp_path: Path) -> FakeJournal:
    folder = tmp_path / "run"
    folder.mkdir()
    return FakeJournal(folder)


@pytest.fixture
def make_captain() -> Callable[..., FakeCaptain]:
    """Builds a fake Captain: `make_captain(answer=function, **settings)`."""
    return lambda answer=None, **changes: FakeCaptain(config(**changes), answer)


@pytest.fixture
def captain_class() -> type[FakeCaptain]:
    return FakeCaptain


def _made_up() -> ModuleType:
    spec = importlib.util.spec_from_file_location("made_up_data", Path(__file__).with_name("made_up_data.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Made-up benchmarks, named by CAPTAIN_DATA."""
    root: Path = _made_up().write_data(tmp_path / "data")
    monkeypatch.setenv("CAPTAIN_DATA", str(root))
    yield root
