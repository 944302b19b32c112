"""`captain models`: the state of weights, told without fetching anything."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]


def test_list_of_an_empty_machine(command: Command, tmp_path: Path) -> None:
    outcome = command("models", "list", f'models.cache_dir="{tmp_path / "none"}"', "--json")
    assert outcome.code == 0
    assert {entry["state"] for entry in outcome.data["weights"]} == {"missing"}
    assert "qwen2.5-coder-1.5b" in {entry["name"] for entry in outcome.data["weights"]}


def test_unknown_name(command: Command) -> None:
    outcome = command("models", "fetch", "qwen2.5-coder-1.5")
    assert outcome.code == 2
    assert "did you mean 'qwen2.5-coder-1.5b'?" in outcome.error


def test_a_models_own_name_is_understood(command: Command, tmp_path: Path) -> None:
    outcome = command("models", "verify", "embedded_small", f'models.cache_dir="{tmp_path / "none"}"', "--json")
    assert outcome.code == 1
    assert outcome.data["weights"][0]["name"] == "qwen2.5-coder-0.5b"


def test_verify_finds_a_damaged_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file.gguf").write_bytes(b"not weights")
    settings = ["models.paths.smollm2-135m=file.gguf", f'models.cache_dir="{tmp_path / "none"}"']
    outcome = command("models", "verify", *settings)
    assert outcome.code == 1
    assert "smollm2-135m: damaged" in outcome.out and "captain models fetch smollm2-135m" in outcome.out
    fetched = command("models", "fetch", "smollm2-135m", *settings)
    assert fetched.code == 2
    assert "file.gguf" in fetched.error


def test_version(command: Command) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert command("version").out.strip() == project["project"]["version"]


def test_no_words_show_the_help(command: Command) -> None:
    outcome = command()
    assert outcome.code == 2
    assert outcome.err.startswith("Usage: captain") and "error" not in outcome.err
