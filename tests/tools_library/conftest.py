"""A workspace that the tools are confined to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from captain.tools import within
from tools_library import calculator


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    with within(folder):
        yield folder


@pytest.fixture
def table(workspace: Path) -> Callable[[str], str]:
    """Write a CSV text to the workspace and return its path."""

    def write(text: str) -> str:
        (workspace / "data.csv").write_text(text, encoding="utf-8")
        return "data.csv"

    return write


@pytest.fixture
def own_process() -> None:
    """Keeps calculations in a process of their own, as they are in use."""


@pytest.fixture(autouse=True)
def calculations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calculate in the process of the tests, which saves half a second each."""
    if "own_process" not in request.fixturenames:
        monkeypatch.setattr(calculator, "compute", lambda *call: calculator.text_of(calculator.answer(*call)))
