"""Which isolation is chosen, what it lets through when asked to, and what is said when it is weak."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock

from captain.config import ExecutionConfig, SandboxConfig
from captain.errors import ConfigError
from captain.execution import build_executor, isolation
from captain.execution.cell import Cell, Kind, unprivileged_user
from captain.execution.isolation import obstacle
from captain.execution.view import look

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="isolation of programs is Linux only")

STRONG = [
    pytest.param(kind, marks=pytest.mark.skipif(obstacle(kind) is not None, reason=f"{kind}: {obstacle(kind)}"))
    for kind in ("bubblewrap", "namespaces")
]


async def printed(sandbox: SandboxConfig, folder: Path, code: str, language: str = "python") -> str:
    executor = build_executor(ExecutionConfig(timeout=20), folder=folder, sandbox=sandbox)
    try:
        result = await executor.execute_code_blocks([CodeBlock(code, language)], CancellationToken())
    finally:
        await executor.stop()
    return result.output


def without(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> None:
    """Lets kinds of isolation fail as on a machine where they cannot be had."""
    known = isolation.obstacle
    monkeypatch.setattr(isolation, "obstacle", lambda kind: "bwrap is not installed" if kind in kinds else known(kind))


def test_auto_takes_the_strongest_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    works = [kind for kind in isolation.LOCAL_KINDS if obstacle(kind) is None]
    chosen = build_executor(ExecutionConfig(), folder=tmp_path / "a").isolation
    assert chosen.kind == works[0]
    without(monkeypatch, "bubblewrap", "namespaces", "user")
    weak = build_executor(ExecutionConfig(), folder=tmp_path / "b").isolation
    assert weak.kind == "none" and weak.weak
    assert weak.notice is not None and "network is open" in weak.notice and "bubblewrap" in weak.notice
    assert set(weak.obstacles) == {"bubblewrap", "namespaces", "user"}


def test_required_isolation_is_refused_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "bubblewrap", "namespaces", "user")
    with pytest.raises(ConfigError, match=r"sandbox\.require=true.*none.*bwrap is not installed.*apt-get install"):
        build_executor(ExecutionConfig(), folder=tmp_path, sandbox=SandboxConfig(require=True))


@pytest.mark.parametrize("kind", STRONG)
def test_strong_isolation_may_be_required(tmp_path: Path, kind: Kind) -> None:
    settings = SandboxConfig(kind=kind, require=True)
    chosen = build_executor(ExecutionConfig(), folder=tmp_path, sandbox=settings).isolation
    assert (chosen.kind, chosen.weak, chosen.notice) == (kind, False, None)


def test_kind_that_does_not_work_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "bubblewrap")
    with pytest.raises(ConfigError, match="sandbox.kind='bubblewrap' does not work here: bwrap is not installed"):
        build_executor(ExecutionConfig(), folder=tmp_path, sandbox=SandboxConfig(kind="bubblewrap"))


def test_user_of_its_own_needs_a_folder_that_it_can_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "obstacle", lambda kind: None)
    tmp_path.chmod(0o700)
    with pytest.raises(ConfigError, match="closed to other users"):
        build_executor(ExecutionConfig(), folder=tmp_path / "run", sandbox=SandboxConfig(kind="user"))


@pytest.mark.parametrize("kind", STRONG)
async def test_network_when_it_is_allowed(tmp_path: Path, kind: Kind) -> None:
    code = "import socket\nsocket.create_connection(('127.0.0.1', {port}), timeout=5)\nprint('connected')"
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = code.format(port=server.getsockname()[1])
        assert await printed(SandboxConfig(kind=kind, network=True), tmp_path / "a", text) == "connected"
        assert "Error" in await printed(SandboxConfig(kind=kind), tmp_path / "b", text)


@pytest.mark.parametrize("kind", STRONG)
async def test_more_paths_can_be_read_not_written(tmp_path: Path, kind: Kind) -> None:
    given = tmp_path / "given with space#1"
    given.mkdir()
    (given / "data.txt").write_text("shown")
    settings = SandboxConfig(kind=kind, read=[str(given)])
    path = str(given / "data.txt")
    assert await printed(settings, tmp_path / "run", f"print(open({path!r}).read())") == "shown"
    assert "Read-only file system" in await printed(settings, tmp_path / "run", f"open({path!r}, 'w')")
    assert "No such file" in await printed(SandboxConfig(kind=kind), tmp_path / "run", f"open({path!r})")


@pytest.mark.parametrize(("path", "message"), [("/no/such/path", "does not exist"), ("/", "whole machine")])
def test_paths_that_cannot_be_shown(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_executor(ExecutionConfig(), folder=tmp_path, sandbox=SandboxConfig(read=[path]))


@pytest.mark.parametrize("kind", STRONG)
async def test_folder_with_a_strange_name(tmp_path: Path, kind: Kind) -> None:
    folder = tmp_path / "a 'b' \"c\" $d \\e\t例\nline"
    assert await printed(SandboxConfig(kind=kind), folder, "open('f', 'w').write('x')\nprint(open('f').read())") == "x"
    assert (folder / "f").read_text() == "x"


@pytest.mark.parametrize("kind", STRONG)
async def test_usual_programs_work(tmp_path: Path, kind: Kind) -> None:
    code = """
import multiprocessing, pathlib, subprocess, sys, tempfile, getpass, numpy
pathlib.Path("/tmp/kept.txt").write_text("kept")
with multiprocessing.Pool(2) as pool, tempfile.NamedTemporaryFile() as file:
    print(pool.map(abs, [-1, 2]), float(numpy.ones((200, 200)).dot(numpy.ones(200)).sum()))
    print(subprocess.run(["bash", "-c", "cat <(echo piped) | awk '{print $1}'"], capture_output=True, text=True).stdout)
"""
    assert (await printed(SandboxConfig(kind=kind), tmp_path, code)).split() == ["[1,", "2]", "40000.0", "piped"]


@pytest.mark.parametrize("kind", STRONG)
async def test_signal_that_ends_a_program_is_told(tmp_path: Path, kind: Kind) -> None:
    said = await printed(SandboxConfig(kind=kind), tmp_path, "import os\nos.kill(os.getpid(), 11)")
    assert said == "The program was ended by the signal SIGSEGV (a crash in compiled code)."


@pytest.mark.parametrize("setting", ["memory", "disk"])
async def test_excess_is_told(tmp_path: Path, setting: str) -> None:
    use = {
        "memory": "import mmap\nm = [mmap.mmap(-1, 2**26) for _ in range(3)]\nfor x in m: x.write(b'x' * 2**26)",
        "disk": "for n in range(9):\n    open(f'f{n}', 'wb').write(b'x' * 2**22)",
    }
    settings = SandboxConfig(memory_mb=128, disk_mb=16)
    said = await printed(settings, tmp_path, f"{use[setting]}\nimport time\ntime.sleep(15)")
    assert said == f"The program was stopped: it used too much {setting}. Work with less data at once."


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends its folder to another user")
async def test_folder_is_lent_and_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "given").mkdir()
    (folder / "given" / "closed.txt").write_text("given")
    (folder / "given" / "closed.txt").chmod(0o600)
    (tmp_path / "mine.txt").write_text("mine")
    os.link(tmp_path / "mine.txt", folder / "linked.txt")
    code = "import os\nprint(open('given/closed.txt').read(), os.getuid())\nopen('given/new.txt', 'w').close()"
    said = await printed(SandboxConfig(kind="namespaces"), folder, code)
    assert said == f"given {unprivileged_user(folder)}"
    assert {path.stat().st_uid for path in folder.rglob("*")} == {0}
    assert unprivileged_user(folder) != unprivileged_user(tmp_path)


CAPTAIN = """
import asyncio, sys
from pathlib import Path
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from captain.config import ExecutionConfig, SandboxConfig
from captain.execution import build_executor
executor = build_executor(ExecutionConfig(), folder=Path(sys.argv[1]), sandbox=SandboxConfig(kind=sys.argv[2]))
code = "import time, pathlib\\nwhile True: pathlib.Path('beat').write_text(str(time.time())); time.sleep(0.05)"
asyncio.run(executor.execute_code_blocks([CodeBlock(code, "python")], CancellationToken()))
"""


@pytest.mark.parametrize("kind", [*STRONG, "none"])
def test_program_ends_with_a_captain_that_is_killed(tmp_path: Path, kind: str) -> None:
    captain = subprocess.Popen([sys.executable, "-c", CAPTAIN, str(tmp_path), kind])
    beat, deadline = tmp_path / "beat", time.monotonic() + 30
    while not beat.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    captain.send_signal(signal.SIGKILL)
    captain.wait()
    time.sleep(0.3)
    last = beat.read_text()
    time.sleep(0.3)
    assert beat.read_text() == last


@pytest.mark.parametrize("kind", STRONG)
@pytest.mark.skipif(os.geteuid() != 0 or not Path("/usr/bin/python3").exists(), reason="becomes another user as root")
def test_isolation_without_root(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who is not root has the same isolation by a user namespace."""
    for name in ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix"):
        monkeypatch.setattr(sys, name, "/usr")
    uid = 47_110_815
    outside = Path("/tmp", f"captain-rootless-{os.getpid()}-{kind}")
    folder = outside / "work"
    (folder / "tmp").mkdir(parents=True)
    try:
        (outside / "secret.txt").write_text("secret")
        for path in (outside, folder):
            os.chown(path, uid, uid)
        cell = Cell(kind, look(folder), None, SandboxConfig(processes=20), 10)
        code = f"""
import os, socket
print(os.path.exists({str(outside / "secret.txt")!r}), [name for _, name in socket.if_nameindex()])
for place in ('/', '/usr', '/dev', '/etc'):
    try: open(place + '/x', 'w')
    except OSError as error: print(error.strerror)
open('made', 'w').close()
print(open('/proc/self/status').read().split('CapEff:')[1].split()[0])
try:
    for number in range(40):
        if os.fork() == 0: os.pause() if hasattr(os, 'pause') else __import__('time').sleep(5); os._exit(0)
except BlockingIOError:
    print('no more processes')
"""
        environment = {"PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            cell.wrap(["/usr/bin/python3", "-c", code]),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            user=uid,
            group=uid,
            extra_groups=[],
            timeout=30,
        )
        assert done.stdout.splitlines() == [
            "False ['lo']",
            *["Read-only file system"] * 4,
            "0000000000000000",
            "no more processes",
        ], done.stderr
        assert (folder / "made").stat().st_uid == uid
    finally:
        shutil.rmtree(outside)
