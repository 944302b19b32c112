"""Every command runs in an empty folder, without keys, endpoints or the user's own library."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from captain.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on stdout, which holds nothing else."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line of an error."""
        assert self.out == ""
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1 and "Traceback" not in self.err, self.err
        return lines[0]


Command = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests use scripted models; the default embedding's weights are not fetched for them."""
    for command in ("solve", "run"):
        monkeypatch.setattr(f"captain.cli.{command}.fetch_missing", lambda config: None)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CAPTAIN_BASE_URL", "CAPTAIN_MODEL", "CAPTAIN_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> Outcome:
        capfd.readouterr()
        code = main(words)
        return Outcome(code, *capfd.readouterr())

    return run


@pytest.fixture
def offline(tmp_path: Path) -> list[str]:
    """Settings of a Captain that is a single scripted assistant with a library of its own."""
    user_dir = f'library.user_dir="{tmp_path / "library"}"'
    return ["model=scripted", "model.script=['FINAL ANSWER: 4']", "team.mode=single", "embedding=hash", user_dir]
