"""Public bug reports about the host: its console, its logs, its telemetry, its folders, its locale."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captain import Captain, ConfigError, load_config
from captain.cli import main

CaptainWith = Callable[..., Captain]

TURNS = """
import itertools, json
turns = itertools.count()
PLAN = {"subtasks": [{"goal": "g", "method": "recall", "depends_on": [],
                      "experts": [{"title": t, "does": f"does {t}"} for t in ("Cook", "Diver")]}]}

def reply(messages):
    text = "\\n".join(str(message.content) for message in messages)
    if "You plan how a task is solved" in text:
        return json.dumps(PLAN)
    if "You review the work" in text:
        return json.dumps({"verdict": "accept"})
    turn = next(turns)
    return f"Thought number {turn}." if turn < 9 else "FINAL ANSWER: 42"
"""
HOST = """
import json, logging, socket, sys
away, connect = [], socket.socket.connect

def counted(self, address):
    if isinstance(address, tuple) and not str(address[0]).startswith("127."):
        away.append(repr(address))
        raise OSError("no network here")
    return connect(self, address)

def no_names(host, *arguments, **named):
    if host not in ("localhost", "127.0.0.1", None, ""):
        away.append(repr(host))
        raise socket.gaierror("no network here")
    return found(host, *arguments, **named)

socket.socket.connect, found, socket.getaddrinfo = counted, socket.getaddrinfo, no_names
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider()
trace.set_tracer_provider(provider)
before = list(logging.getLogger().handlers)
import captain
result = captain.Captain(json.loads(sys.argv[1])).solve("Which number?")
again = captain.Captain(json.loads(sys.argv[1])).solve("Which number?")
after = list(logging.getLogger().handlers)
silent = {"stdout": sys.stdout.tell() if sys.stdout.seekable() else 0}
logging.basicConfig(level=logging.INFO, format="host: %(message)s", force=False)
sys.modules.pop("captain"); import captain
logging.getLogger("host").info("once")
print(json.dumps({
    "answers": [result.answer, again.answer], "away": away, "handlers": [len(before), len(after)],
    "own": [type(handler).__name__ for handler in logging.getLogger("captain").handlers],
    "level": logging.getLogger().level, "provider": trace.get_tracer_provider() is provider,
    "seconds": result.usage.seconds, "run": str(result.run_dir),
}))
"""


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program of its own saw that imports the package and solves two tasks."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "turns.py").write_text(TURNS)
    profiles = [{"name": n.lower(), "title": n, "description": f"Works as a {n}.", "instructions": "Be."} for n in "AB"]
    (folder / "own.yaml").write_text(json.dumps({"domain": "d", "profiles": profiles}))
    settings = {
        "model": {"name": "m", "provider": "scripted", "handler": "turns.reply"},
        "embedding": "hash",
        "library.profiles": [str(folder / "own.yaml")],
        "library.user_dir": str(folder / "user"),
        "library.threshold": -1.0,
        "library.keep_written": False,
        "tools.enabled": False,
        "team.max_turns": 20,
        "runs_dir": str(folder / "runs"),
    }
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", HOST, json.dumps(settings)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    *noise, last = done.stdout.splitlines()
    return {**json.loads(last), "stdout": noise, "stderr": done.stderr.splitlines()}


def test_obs_01_nothing_is_sent_anywhere(hosted: dict[str, Any]) -> None:
    assert hosted["answers"] == ["42", "42"] and hosted["away"] == [] and hosted["seconds"] < 30


def test_obs_02_the_hosts_tracing_is_left_alone(hosted: dict[str, Any]) -> None:
    assert hosted["provider"] is True


def test_obs_04_the_hosts_logging_is_left_alone(hosted: dict[str, Any]) -> None:
    assert hosted["handlers"] == [0, 0] and hosted["own"] in ([], ["NullHandler"]) and hosted["level"] == 20
    assert [line for line in hosted["stderr"] if "once" in line] == ["host: once"]


def test_obs_05_a_run_of_many_turns_says_nothing_on_the_console(hosted: dict[str, Any]) -> None:
    assert hosted["stdout"] == [] and hosted["stderr"] == ["host: once"]
    journal = (Path(hosted["run"]) / "journal.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["kind"] == "message" for line in journal) >= 6


def test_obs_05_the_command_shows_one_line_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "turns_of_a_command.py").write_text(TURNS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    settings = ["model=scripted", "model.handler=turns_of_a_command.reply", "embedding=hash", "tools.enabled=false"]
    assert main(["solve", "Which number?", *settings, "library.keep_written=false", "--json"]) == 0
    shown = capfd.readouterr()
    assert json.loads(shown.out)["answer"] == "42"
    assert len(shown.err.splitlines()) < 60 and "autogen" not in shown.err and "DEBUG" not in shown.err


LATIN = """
import asyncio, json, locale, sys
from pathlib import Path
from autogen_core import CancellationToken
from captain.library import load_tools
(spec,) = load_tools(["unusual_tools"])
bound = spec.bind(Path("."))
value = asyncio.run(bound.run_json({"name": "\\u4f8b \\U0001f680"}, CancellationToken()))
print(json.dumps([locale.getpreferredencoding(False), spec.description, bound.return_value_as_string(value)]))
"""


def test_code_07_a_tool_in_any_script_works_in_a_plain_locale(tmp_path: Path) -> None:
    text = "from captain import tool\n\n@tool\ndef greet(name: str) -> str:\n"
    text += '    """Café ☕ 例 🚀"""\n    return f"☕ {name}"\n'
    (tmp_path / "unusual_tools.py").write_text(text, encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONPATH": str(tmp_path)}
    environment = {**os.environ, **plain, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", LATIN], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    encoding, description, result = json.loads(done.stdout)
    assert encoding.lower() not in ("utf-8", "utf8") and (description, result) == ("Café ☕ 例 🚀", "☕ 例 🚀")


@pytest.mark.parametrize("chdir", [None, "hydra.job.chdir=true", "hydra.job.chdir=false"])
def test_cfg_05_a_relative_path_starts_where_the_command_is_given(
    captain_with: CaptainWith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chdir: str | None
) -> None:
    (tmp_path / "here" / "lib").mkdir(parents=True)
    entry = {"name": "cook", "title": "Cook", "description": "Cooks.", "instructions": "Be one."}
    (tmp_path / "here" / "lib" / "own.yaml").write_text(json.dumps({"domain": "d", "profiles": [entry]}))
    overrides = ["library.profiles=[./lib/own.yaml]", *([chdir] if chdir else [])]
    monkeypatch.chdir(tmp_path / "here")
    if chdir:
        with pytest.raises(ConfigError, match="Hydra itself"):
            load_config(overrides)
        return
    config = load_config(overrides).captain
    assert [expert.name for expert in Captain(config).library.experts()] == ["cook"] and Path.cwd().name == "here"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        Captain(config).library.experts()
    assert str(tmp_path / "lib" / "own.yaml") in str(caught.value)


def test_cfg_10_runs_that_start_at_once_have_folders_of_their_own(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    both = threading.Barrier(4, timeout=30)
    plan = steps.plan(steps.part("Historian", method="recall"))
    answers = {"planner": lambda ask: plan, "expert": lambda ask: f"FINAL ANSWER: {ask.text.split('echo <')[1][0]}"}
    captain = captain_with(make_model(answers))

    async def solve(number: int) -> Any:
        await asyncio.to_thread(both.wait)
        return await captain.solve_async(f"echo <{number}>")

    async def all_four() -> list[Any]:
        return await asyncio.gather(*(solve(number) for number in range(4)))

    results = asyncio.run(all_four())
    folders = [result.run_dir for result in results]
    assert len(set(folders)) == 4 == len(list((tmp_path / "runs").iterdir()))
    stored = [json.loads((folder / "result.json").read_text())["answer"] for folder in folders]
    assert stored == [result.answer for result in results] == ["0", "1", "2", "3"]
