"""Programs that mean harm are held in, as `docs/sandbox.md` says, and the next program runs as if nothing had been."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import string
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock

from captain.config import ExecutionConfig, SandboxConfig
from captain.execution import build_executor
from captain.execution.blocks import ProgramResult
from captain.execution.isolation import obstacle
from captain.execution.local import LocalExecutor

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="isolation of programs is Linux only")

ATTACKS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text(encoding="utf-8"))
HOLDERS = {
    "strong": ("bubblewrap", "namespaces"),
    "user": ("bubblewrap", "namespaces", "user"),
    "all": ("bubblewrap", "namespaces", "user", "none"),
}
KEY = "hidden-key-5e1f0c"
SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass
class World:
    """What lies around a run's folder, with servers that note who comes."""

    outside: Path
    server: socket.socket
    datagrams: socket.socket
    abstract: socket.socket
    local: socket.socket

    @property
    def work(self) -> Path:
        return self.outside / "run" / "work"

    def names(self) -> dict[str, Any]:
        """What the texts of the attacks refer to."""
        return {
            "outside": self.outside,
            "port": self.server.getsockname()[1],
            "datagrams": self.datagrams.getsockname()[1],
            "abstract": self.abstract.getsockname()[1:].decode(),
            "captain": os.getpid(),
            "prefix": sys.prefix,
            "root": 0,
            "root_counts": os.getuid() == 0,
        }

    def untouched(self) -> None:
        """Nothing around the folder changed, and nobody came to the servers."""
        assert {path.name for path in self.outside.iterdir()} == {"secret.txt", "public.txt", "run", "server.sock"}
        assert {path.name for path in (self.outside / "run").iterdir()} == {"work", "journal.jsonl", "config.yaml"}
        for path in (self.outside / "secret.txt", self.outside / "public.txt"):
            assert (path.read_text(), path.stat().st_uid, path.stat().st_nlink) == (f"{path.name}-text", os.getuid(), 1)
        for path in (self.outside / "run" / "journal.jsonl", self.outside / "run" / "config.yaml"):
            assert (path.read_text(), path.stat().st_uid) == ("original", os.getuid())
        assert (self.outside / "run").stat().st_uid == os.getuid()
        for listener in (self.server, self.datagrams, self.abstract, self.local):
            with pytest.raises(BlockingIOError):
                _ = listener.recv(1) if listener.type & socket.SOCK_DGRAM else listener.accept()
        assert not [path for path in _packages() if path.exists()]


def _packages() -> list[Path]:
    places = [Path(sys.prefix), *(Path(place) for place in sys.path if place.endswith("site-packages"))]
    names = ("captain_was_here", "captain_was_here.py", "captain_was_here.pth")
    return [place / name for place in places for name in names]


@pytest.fixture
def world() -> Iterator[World]:
    """Made where every user may pass, as `pytest`'s own folders are closed."""
    outside = Path(tempfile.mkdtemp(prefix="captain-hostile-")).resolve()
    outside.chmod(0o755)
    work = outside / "run" / "work"
    work.mkdir(parents=True)
    for name, mode in (("secret.txt", 0o600), ("public.txt", 0o644)):
        (outside / name).write_text(f"{name}-text")
        (outside / name).chmod(mode)
    for name in ("journal.jsonl", "config.yaml"):
        (outside / "run" / name).write_text("original")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        abstract, local = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        abstract.bind(f"\0captain-{uuid.uuid4().hex}")
        local.bind(str(outside / "server.sock"))
        for listener in (abstract, local):
            listener.listen()
        (outside / "server.sock").chmod(0o700)
        for listener in (server, datagrams, abstract, local):
            listener.setblocking(False)
        yield World(outside, server, datagrams, abstract, local)
    for path in (work, work / "inner"):
        if path.exists():
            path.chmod(0o755)
    subprocess.run(["rm", "-rf", str(outside)], check=True)  # some nest deeper than Python can walk


@pytest.fixture
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each isolation that works here; for one that does not the report of the tests says why."""
    chosen: str = request.param
    if chosen == "user" and obstacle("user") and Path(SYSTEM_PYTHON).exists():
        obstacle.cache_clear()  # this interpreter may lie in a folder that is closed to other users
        monkeypatch.setattr(sys, "executable", SYSTEM_PYTHON)
    reason = obstacle(chosen)
    if reason is not None:
        pytest.skip(f"sandbox.kind={chosen} does not work here: {reason}")
    yield chosen
    if chosen == "user":
        obstacle.cache_clear()


def executor_of(kind: str, world: World, *, seconds: float = 1.2, **settings: Any) -> LocalExecutor:
    small: dict[str, Any] = {"memory_mb": 384, "disk_mb": 100, "processes": 64, **settings}
    sandbox = SandboxConfig(kind=kind, **small)
    executor = build_executor(ExecutionConfig(timeout=seconds), folder=world.work, sandbox=sandbox)
    assert isinstance(executor, LocalExecutor)
    return executor


async def run(executor: LocalExecutor, code: str, language: str = "python") -> ProgramResult:
    return await executor.execute_code_blocks([CodeBlock(code, language)], CancellationToken())


HELD = [(attack, kind) for attack in ATTACKS for kind in HOLDERS[attack["held"]]]


@pytest.mark.parametrize(
    ("attack", "kind"),
    HELD,
    ids=[f"{attack['name'].replace(' ', '-')}-{kind}" for attack, kind in HELD],
    indirect=["kind"],
)
async def test_hostile_program_is_held(
    attack: dict[str, Any], kind: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("UNKNOWN_SETTING", KEY)
    executor = executor_of(kind, world)
    began = time.monotonic()
    code = string.Template(attack["code"]).substitute(world.names())
    result = await run(executor, code, attack.get("language", "python"))
    assert time.monotonic() - began < 10
    assert not re.search("^ESCAPED", result.output, re.MULTILINE), result.output
    assert KEY not in result.output
    assert "secret.txt-text" not in result.output
    assert (await run(executor, "echo $((6 * 7))", "sh")).output == "42"
    assert beats(world.work) == []
    await executor.stop()
    world.untouched()
    assert left_behind(world.work) == []


def beats(folder: Path) -> list[str]:
    """A daemon that lives on would write its file anew."""
    alive = folder / "alive"
    existed = alive.exists()
    alive.unlink(missing_ok=True)
    time.sleep(0.3 if existed else 0)
    return [str(alive)] if alive.exists() else []


def left_behind(folder: Path) -> list[str]:
    """What a stopped executor must not leave: processes of programs, files that give rights, files of others."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found.append(f"process {entry.name}")
    for path in folder.iterdir() if folder.exists() else ():
        status = path.lstat()
        if status.st_uid != os.getuid():
            found.append(f"{path} belongs to {status.st_uid}")
        if status.st_mode & 0o6000 and status.st_uid == 0:
            found.append(f"{path} gives rights")
    return found


OPEN = {
    "user": ["read a public file outside", "connect to a server of this machine"],
    "none": ["read a private file outside", "read through a symbolic link out", "connect to a server of this machine"],
}


@pytest.mark.parametrize(
    ("attack", "kind"), [(name, kind) for kind, names in OPEN.items() for name in names], indirect=["kind"]
)
async def test_weak_isolation_is_open_where_the_page_says_so(attack: str, kind: str, world: World) -> None:
    code = next(entry["code"] for entry in ATTACKS if entry["name"] == attack)
    result = await run(executor_of(kind, world), string.Template(code).substitute(world.names()))
    assert re.search("^ESCAPED", result.output, re.MULTILINE)


def test_page_tells_what_holds_each_program() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    marks = {kind: index for index, kind in enumerate(HOLDERS["all"])}
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    told = {row[0]: [kind for kind, index in marks.items() if row[1 + index] == "yes"] for row in rows if len(row) == 5}
    for attack in ATTACKS:
        assert told.get(attack["name"]) == list(HOLDERS[attack["held"]]), attack["name"]


def test_strong_isolation_is_tested_here() -> None:
    """A machine whose tests could try weak isolation only says so."""
    reasons = {kind: obstacle(kind) for kind in ("bubblewrap", "namespaces")}
    if all(reasons.values()):
        pytest.xfail(f"no strong isolation works on this machine: {reasons}")
    assert None in reasons.values()
