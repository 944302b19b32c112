"""`captain solve`: the task stays verbatim, the JSON stays alone, mistakes are one line."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captain.cli.solve import read_task
from captain.errors import ConfigError

Command = Callable[..., Any]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_json_is_one_object_and_nothing_else(command: Command, offline: list[str]) -> None:
    outcome = command("solve", "What is 2+2?", *offline, "--json")
    assert outcome.code == 0
    result = outcome.data
    assert result["answer"] == "4"
    assert result["status"] in ("solved", "unverified")
    assert set(result) >= {"answer", "status", "stop_reason", "evidence", "subtasks", "usage", "run_dir"}
    assert set(result["usage"]) >= {"calls", "prompt_tokens", "completion_tokens", "seconds", "usd", "by_role"}
    folder = Path(result["run_dir"])
    assert json.loads((folder / "result.json").read_text())["answer"] == "4"
    assert {"config.yaml", "journal.jsonl"} <= {entry.name for entry in folder.iterdir()}


def test_people_see_answer_status_and_events(command: Command, offline: list[str]) -> None:
    outcome = command("solve", "What is 2+2?", *offline)
    assert outcome.code == 0
    assert outcome.out.startswith("4\n")
    for word in ("status", "usage", "1 model calls", "run "):
        assert word in outcome.out
    assert "started: What is 2+2?" in outcome.err
    assert "finished: " in outcome.err
    assert "\x1b" not in outcome.out + outcome.err


def test_text_of_models_cannot_drive_the_terminal(command: Command, offline: list[str], tmp_path: Path) -> None:
    script = tmp_path / "model"
    script.mkdir()
    (script / "rude.yaml").write_text('name: rude\nprovider: scripted\nscript: ["FINAL ANSWER: \\e[2Jgone\\a"]\n')
    outcome = command("solve", "Say it", "--config-dir", str(tmp_path), *offline[2:], "model=rude")
    assert outcome.out.startswith("gone\n")
    assert "\x1b" not in outcome.out and "\x07" not in outcome.out


@pytest.mark.parametrize(
    "text", ["#1", "it's", "what is 2+2=4?", "a;b", "李明 🙂", '{"a": 1} {x} \\frac{1}{2}', "a=1,2"]
)
def test_the_task_never_meets_the_grammar_of_settings(text: str) -> None:
    assert read_task([text, "team.max_turns=3"], None) == (text, ["team.max_turns=3"])


def test_task_from_stdin_and_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from\nstdin"))
    assert read_task(["-", "seed=1"], None) == ("from\nstdin", ["seed=1"])
    path = tmp_path / "task.txt"
    path.write_text("aus der Datei: ß", encoding="utf-8")
    assert read_task(["seed=1"], path) == ("aus der Datei: ß", ["seed=1"])
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="give a UTF-8 text file"):
        read_task([], path)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["the task is missing"]),
        (["model=scripted"], ["the task is missing", "'model=scripted'"]),
        (["  \n"], ["the task is empty"]),
        (["What", "is", "2?"], ["'is' is no setting", "quotes"]),
        (["x", "model=embeded"], ["unknown model 'embeded'", "'embedded'"]),
        (["x", "team.max_turn=3"], ["'team.max_turns'"]),
        (["x", "--jsn"], ["--jsn", "--json"]),
        (["--file", "nowhere.txt"], ["'nowhere.txt' does not exist"]),
        (["x", "--files", "nowhere.csv"], ["'nowhere.csv' does not exist"]),
        (["x", "--config-dir", "nowhere"], ["'nowhere' does not exist"]),
        (["x", "model=openai"], ["OPENAI_API_KEY", "model=embedded"]),
        (["x", "model=compatible"], ["CAPTAIN_BASE_URL"]),
        (["x", "model=scripted"], ["'scripted'", "`script`"]),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(command: Command, words: list[str], parts: list[str]) -> None:
    outcome = command("solve", *words, "--json")
    assert outcome.code == 2
    for part in parts:
        assert part in outcome.error


def test_an_endpoint_that_nobody_serves(command: Command, offline: list[str]) -> None:
    address = f"http://127.0.0.1:{free_port()}/v1"
    model = ["model=compatible", f"model.base_url={address}", "model.model=x", "model.retries=0"]
    outcome = command("solve", "What is 2+2?", *offline[2:], *model)
    assert outcome.code == 2
    assert address in outcome.error and "cannot be reached" in outcome.error


def test_no_answer_is_exit_code_1(command: Command, offline: list[str]) -> None:
    outcome = command("solve", "What is 2+2?", *offline, "model.script=['']", "--json")
    assert outcome.code == 1
    assert outcome.data["status"] in ("failed", "stopped")


def test_interrupt_keeps_what_was_done(
    command: Command, offline: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interrupting.py").write_text("def reply(messages):\n    raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = command("solve", "x", "model=scripted", "model.handler=interrupting.reply", *offline[2:], "--json")
    assert outcome.code == 130
    assert outcome.out == ""
    assert "interrupted; what was done is kept in" in outcome.err
    (result,) = (tmp_path / "runs").glob("*/result.json")
    assert json.loads(result.read_text())["stop_reason"] == "interrupted"
    assert (result.parent / "journal.jsonl").read_text().count("\n") >= 1
