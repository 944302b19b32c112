"""What every test gets: no keys, no network, folders of its own; and Captains whose model says what a test wants."""

from __future__ import annotations

import fnmatch
import ipaddress
import itertools
import json
import os
import re
import socket
import sys
import types
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from captain import Captain
from captain.config import EmbeddingConfig

_SECRETS = ("OPENAI_*", "CAPTAIN_*", "*_API_KEY", "*_TOKEN")
_LOCAL_NAMES = ("", "localhost", None)


class OutsideWorld(OSError):
    """A test tried to leave this machine."""


def _check_address(address: Any) -> None:
    host = address[0] if isinstance(address, tuple) else None  # the address of a Unix socket is a path
    host = host.decode() if isinstance(host, bytes) else host
    if host in _LOCAL_NAMES:
        return
    try:
        local = ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        local = False
    if not local:
        raise OutsideWorld(f"tests stay on this machine, {host!r} is not on it")


@pytest.fixture(autouse=True)
def clean_surroundings(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Takes keys and settings from the environment and gives the user's folders a temporary place."""
    uses_weights = request.node.get_closest_marker("model") is not None
    for name in list(os.environ):
        kept = name == "CAPTAIN_CACHE" and uses_weights
        if not kept and any(fnmatch.fnmatchcase(name, pattern) for pattern in _SECRETS):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(home / variable))
    if not uses_weights:
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / "XDG_CACHE_HOME"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")  # nor may a child process fetch anything


@pytest.fixture(autouse=True)
def loopback_only(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuses sockets to other machines, and asking for their addresses; tests of weights may fetch them."""
    if request.node.get_closest_marker("model") is not None:
        return
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def checked_connect(self: socket.socket, address: Any) -> None:
        _check_address(address)
        connect(self, address)

    def checked_connect_ex(self: socket.socket, address: Any) -> int:
        _check_address(address)
        return connect_ex(self, address)

    def checked_look_up(host: Any, *arguments: Any, **settings: Any) -> Any:
        _check_address((host,))
        return look_up(host, *arguments, **settings)

    monkeypatch.setattr(socket.socket, "connect", checked_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", checked_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", checked_look_up)


@pytest.fixture
def hash_embedding() -> EmbeddingConfig:
    """Texts become vectors by their words: no model, no download."""
    return EmbeddingConfig(provider="hash")


def _opening(prompt: str) -> str:
    """The words with which a prompt begins, as far as nothing is filled in."""
    return files("captain.prompts").joinpath(f"{prompt}.md").read_text(encoding="utf-8").split("$")[0][:40]


_STEPS = {
    "plan_team": "planner",
    "plan_solo": "planner",
    "choose_experts": "selector",
    "write_experts": "writer",
    "write_answers": "probe",
    "select_speaker": "speaker",
    "review": "reflector",
    "compose": "composer",
    "fill_parameters": "filler",
}
_OPENINGS = {_opening(prompt): step for prompt, step in _STEPS.items()}


@dataclass(frozen=True)
class Ask:
    """One call that the model under test received."""

    step: str
    """planner, selector, writer, speaker, reflector, composer, filler or expert."""
    member: str
    """For an expert: its name in the team."""
    text: str
    """All that it was given to read."""
    last: str
    """The last message."""
    tools: tuple[str, ...]
    forms: tuple[str, ...]
    """The types of the messages, in order: `SystemMessage`, `UserMessage` and so on."""


Reply = Any
Answer = str | Sequence[Reply] | Callable[[Ask], Reply | Awaitable[Reply]]


class StepModel:
    """A model that answers each step of the framework by what a test says for it, and remembers what it was asked.

    Args:
        answers: for a step, or for a member by name: one text for all calls, a list of replies (one more call than
            there are replies fails the test), or a function of the `Ask`.
    """

    def __init__(self, answers: Mapping[str, Answer], handler: str) -> None:
        self.asks: list[Ask] = []
        self.handler = handler
        self._answers = {**_USUAL, **answers}
        self._lists = {key: iter(value) for key, value in answers.items() if isinstance(value, list | tuple)}

    def __call__(self, messages: Sequence[Any], tools: Sequence[Any]) -> Any:
        ask = _read(messages, tools)
        self.asks.append(ask)
        key = ask.member if ask.member in self._answers else ask.step
        if key in self._lists:
            reply = next(self._lists[key], None)
            assert reply is not None, f"no reply left for {key!r}, asked: {ask.last[-300:]}"
            if isinstance(reply, BaseException):
                raise reply
            return reply
        answer = self._answers[key]
        return answer(ask) if callable(answer) else answer

    def asked(self, step: str) -> list[Ask]:
        """The calls of one step, or of one member."""
        return [ask for ask in self.asks if step in (ask.step, ask.member)]

    @property
    def spec(self) -> dict[str, Any]:
        """The model as a configuration names it."""
        return {"name": "test", "provider": "scripted", "handler": self.handler, "price": _FREE}


_FREE = {"prompt": 0.0, "completion": 0.0}


def _read(messages: Sequence[Any], tools: Sequence[Any]) -> Ask:
    from captain.testing.models import message_text

    texts = [message_text(message) for message in messages]
    whole = "\n\n".join(texts)
    step = next((step for opening, step in _OPENINGS.items() if any(t.startswith(opening) for t in texts)), "expert")
    found = re.search(r"^You are (\w+) \(", whole, re.MULTILINE) if step == "expert" else None
    names = tuple(tool["name"] if isinstance(tool, dict) else tool.name for tool in tools)
    return Ask(
        step, found.group(1) if found else "", whole, texts[-1] if texts else "", names, tuple(m.type for m in messages)
    )


def _one_part(*experts: str, method: str = "compute", goal: str = "the whole", depends_on: Sequence[int] = ()) -> dict:
    named = [{"title": title, "does": f"does the work of a {title}"} for title in experts or ("Mathematician",)]
    return {"goal": goal, "method": method, "experts": named, "depends_on": list(depends_on)}


def _verdict(verdict: str = "accept", **findings: list[str]) -> str:
    return json.dumps({"verdict": verdict, **findings})


_USUAL: dict[str, Answer] = {
    "planner": json.dumps({"subtasks": [_one_part()]}),
    "selector": lambda ask: json.dumps({"choices": [1] * ask.last.count("\nRole ")}),
    "reflector": _verdict(),
    "probe": lambda ask: _sensible(ask.last),
}


def _sensible(asked: str) -> str:
    """An answer to each question of a probe that is on its topic: the question's own words, turned round."""
    questions = re.findall(r"^Question: (.*)$", asked, re.MULTILINE)
    return json.dumps({"answers": [" ".join(["This", *reversed(question.split())]) for question in questions]})


class Steps:
    """Replies in the forms that the framework asks for."""

    part = staticmethod(_one_part)
    verdict = staticmethod(_verdict)

    @staticmethod
    def plan(*parts: dict[str, Any]) -> str:
        """A plan of parts; of one usual part when none is given."""
        return json.dumps({"subtasks": list(parts) or [_one_part()]})

    @staticmethod
    def program(text: str) -> str:
        """A program as members write it."""
        return f"```python\n{text}\n```"

    @staticmethod
    def written(*instructions: str) -> str:
        """Profiles of experts that were missing."""
        experts = [
            {"description": f"Expert number {n} in this.", "instructions": i} for n, i in enumerate(instructions)
        ]
        return json.dumps({"experts": experts})


@pytest.fixture(scope="session")
def steps() -> Steps:
    return Steps()


_numbers = itertools.count()


@pytest.fixture
def make_model(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Answer]], StepModel]:
    """Gives `make_model({step or member: answer})`."""

    def make(answers: Mapping[str, Answer]) -> StepModel:
        module = types.ModuleType(f"captain_test_model_{next(_numbers)}")
        model = StepModel(answers, f"{module.__name__}.reply")
        module.__dict__["reply"] = lambda messages, tools: model(messages, tools)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return model

    return make


EXPERTS = {
    "mathematician": ("Mathematician", "Solves mathematical problems with numbers, sums and equations."),
    "programmer": ("Programmer", "Writes and tests Python functions and programs."),
    "historian": ("Historian", "Knows events, dates and people of the past."),
    "biologist": ("Biologist", "Knows cells, animals and plants."),
    "geographer": ("Geographer", "Knows countries, rivers, capitals and maps."),
    "checker": ("Independent checker", "Verifies a result by recomputing it independently with another method."),
}


@pytest.fixture(scope="session")
def expert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small library of experts in one file."""
    folder = tmp_path_factory.mktemp("experts")
    entries = [
        {"name": name, "title": title, "description": text, "instructions": f"You work as a {title} does."}
        for name, (title, text) in EXPERTS.items()
    ]
    (folder / "experts.yaml").write_text(yaml.safe_dump({"domain": "tests", "profiles": entries}), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's folder of tests that keep nothing: its index is built once."""
    return tmp_path_factory.mktemp("library")


@pytest.fixture
def captain_with(
    make_model: Callable[..., StepModel], expert_folder: Path, index_folder: Path, tmp_path: Path
) -> Iterator[Callable[..., Captain]]:
    """Gives `captain_with(model, settings, members=...)`: a Captain whose model is a test's own.

    `model` is a `StepModel`, its answers, a list of texts (one per call, in order), or a mapping with a `provider`. The
    Captain has the small library, no tools and no cross-check unless `settings` (dotted keys) say otherwise.
    """

    def build(model: Any, settings: Mapping[str, Any] | None = None, *, members: Sequence[Any] = ()) -> Captain:
        if isinstance(model, list):
            model = {"name": "test", "provider": "scripted", "script": model}
        elif isinstance(model, Mapping) and "provider" not in model:
            model = make_model(model)
        usual = {
            "model": model.spec if isinstance(model, StepModel) else dict(model),
            "embedding": "hash",
            "library.profiles": [str(expert_folder)],
            "library.user_dir": str(index_folder),
            "library.keep_written": False,
            "library.threshold": 0.3,
            "tools.enabled": False,
            "team.cross_check": False,
            "runs_dir": str(tmp_path / "runs"),
        }
        return Captain({**usual, **(settings or {})}, members=members)

    yield build


def _journal(run_dir: Path, kind: str | None = None) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run_dir / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if kind is None or line["kind"] == kind]


@pytest.fixture(scope="session")
def read_journal() -> Callable[..., list[dict[str, Any]]]:
    """Gives `read_journal(run_dir, kind)`: the events of a run, of one kind when it is named."""
    return _journal
