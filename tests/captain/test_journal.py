"""The folder of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from captain import CaptainConfig, ConfigError, ModelSpec
from captain.journal import Run
from captain.results import Evidence

CONFIG = CaptainConfig(model=ModelSpec(name="m", provider="scripted", script=[], api_key_env="SOME_KEY"))


def test_a_run_has_its_files_from_the_start(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "runs", CONFIG)
    assert sorted(path.name for path in run.folder.iterdir() if path.name != ".lock") == [
        "config.yaml",
        "journal.jsonl",
        "result.json",
        "work",
    ]
    assert json.loads((run.folder / "result.json").read_text()) == {"status": "running"}
    stored = yaml.safe_load((run.folder / "config.yaml").read_text())
    assert CaptainConfig.model_validate(stored) == CONFIG


def test_a_journal_is_readable_while_the_run_goes_on(tmp_path: Path, read_journal: Any) -> None:
    run = Run.create(tmp_path, CONFIG)
    run.write("cast", who="ü\n\ud800", evidence=Evidence(claim="c", kind="tool", source="s", quote="q"), path=tmp_path)
    (line,) = read_journal(run.folder)
    assert line["kind"] == "cast" and line["evidence"]["quote"] == "q" and line["path"] == str(tmp_path)
    assert line["t"] >= 0 and line["who"].startswith("ü\n")


def test_the_result_replaces_the_first_one(tmp_path: Path) -> None:
    run = Run.create(tmp_path, CONFIG)
    run.finish({"status": "solved", "answer": "ü"})
    assert json.loads((run.folder / "result.json").read_text(encoding="utf-8"))["answer"] == "ü"
    assert not list(run.folder.glob("*.part")) and not list(run.folder.glob(".*.part"))


def test_runs_of_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    assert len({Run.create(tmp_path, CONFIG).folder for _ in range(20)}) == 20


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ConfigError, match="runs_dir=FOLDER"):
        Run.create(blocked, CONFIG)


def test_keys_never_enter_a_run(
    captain_with: Any, make_model: Any, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    program = steps.program("import os\nprint('FINAL ANSWER:', os.environ.get('SOME_KEY'))")
    model = make_model({"expert": program})
    result = captain_with({**model.spec, "api_key_env": "SOME_KEY"}).solve("Calculate the key.")
    for path in result.run_dir.rglob("*"):
        assert not path.is_file() or b"sk-very-secret" not in path.read_bytes()
    assert result.answer == "None"
