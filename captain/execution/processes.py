"""One program as a process: bounded in time and output, with nothing left running afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from captain.execution.surroundings import MARKER
from captain.execution.watch import wait_for_excess

_CHUNK = 65536
_DRAIN_SECONDS = 2.0
_SWEEPS = 20
_BYTES_PER_CHARACTER = 4

Ending = Literal["exit", "timeout", "flood", "memory", "disk"]


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    ending: Ending
    """`exit`: by itself; `timeout`: time was up; `flood`: it printed more than it may print at all; `memory`, `disk`:
    it and its children used more of them than they may."""
    exit_code: int
    """Its exit code; 128 + the signal's number when a signal ended it."""
    output: str
    """Standard output and error in the order of writing, cut in the middle when too long."""


@dataclass(frozen=True)
class Bounds:
    """What a program may use."""

    seconds: float
    characters: int
    """Output that is kept: the first and the last half of this many characters."""
    flood: int = 20_000_000
    """Bytes of output after which the program is stopped."""
    memory: int | None = None
    """Bytes that all its processes may use together."""
    disk: int | None = None
    """Bytes that its folder may hold."""


@dataclass
class Tail:
    """Keeps the beginning and the end of a stream in bounded memory."""

    keep: int
    total: int = 0
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        """Take the next piece of the stream."""
        self.total += len(chunk)
        room = self.keep - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:]
        del self.tail[: -self.keep]

    def text(self, characters: int) -> str:
        """Return what was kept as text of about `characters` characters, with a line that tells what is missing."""
        if self.total <= 2 * self.keep:
            return cut_middle((self.head + self.tail).decode("utf-8", "replace"), characters)
        first = self.head.decode("utf-8", "replace")[: characters // 2]
        last = self.tail.decode("utf-8", "replace")[-(characters // 2) :]
        return f"{first}\n[... output cut: {self.total:,} bytes in all ...]\n{last}"


def cut_middle(text: str, characters: int) -> str:
    """Shorten a text to about `characters` characters by taking its middle out, and say so in its place."""
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters cut ...]\n{text[-half:]}"


async def run_process(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], bounds: Bounds
) -> Finished:
    """Run a program to its end and stop everything that it started.

    The program leads a session of its own and has no input. However it ends (by itself, by time, by too much output,
    by cancellation), its session and all processes that carry its marker are killed before this returns.

    Args:
        command: Program and arguments.
        folder: Its working folder.
        environment: Its variables; `CAPTAIN_PROGRAM` among them marks its processes.
        bounds: Time and output that it may use.

    Raises:
        OSError: The program cannot be started.
        asyncio.CancelledError: The caller was cancelled; the program is dead by then.
    """
    loop = asyncio.get_running_loop()
    read_end, write_end = os.pipe()
    reader = asyncio.StreamReader(limit=_CHUNK)
    pipe = os.fdopen(read_end, "rb", 0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        process = await _start(command, folder, environment, write_end)
    except BaseException:
        transport.close()
        kill_everything(environment[MARKER])
        raise
    finally:
        os.close(write_end)
    kept = Tail(bounds.characters * _BYTES_PER_CHARACTER // 2)
    reading = asyncio.create_task(_collect(reader, kept, bounds.flood))
    try:
        ending = await _wait(process, reading, folder, bounds)
    finally:
        kill_everything(environment[MARKER], session=process.pid, leader_alive=process.returncode is None)
        await process.wait()
        await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
        reading.cancel()
        transport.close()
    code = process.returncode or 0
    return Finished(ending, 128 - code if code < 0 else code, kept.text(bounds.characters))


async def _start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: int
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )


async def _collect(reader: asyncio.StreamReader, kept: Tail, flood: int) -> bool:
    """Read until the stream ends or is a flood; True when it is one."""
    while kept.total <= flood:
        chunk = await reader.read(_CHUNK)
        if not chunk:
            return False
        kept.add(chunk)
    return True


async def _wait(
    process: asyncio.subprocess.Process, reading: asyncio.Task[bool], folder: Path, bounds: Bounds
) -> Ending:
    """Wait for the end, the flood, too much use, or the time limit. A program may close its output long before."""
    waiting = asyncio.create_task(process.wait())
    watching = asyncio.create_task(
        wait_for_excess(process.pid, folder, memory=bounds.memory or sys.maxsize, disk=bounds.disk or sys.maxsize)
    )
    deadline = asyncio.get_running_loop().time() + bounds.seconds
    pending: set[asyncio.Task[Any]] = {waiting, reading, watching}
    try:
        while (left := deadline - asyncio.get_running_loop().time()) > 0:
            _, pending = await asyncio.wait(pending, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return "exit"
            if watching.done():
                return watching.result()
            if reading.done() and reading.result():
                return "flood"
        return "timeout"
    finally:
        waiting.cancel()
        watching.cancel()


def kill_everything(marker: str, *, session: int | None = None, leader_alive: bool = False) -> None:
    """Kill each process that carries the marker, and a program's group and session, until none is left.

    A daemon that left group and session is found by the marker in its environment (`/proc`, Linux). Elsewhere only the
    group is killed.

    Args:
        marker: The value of `CAPTAIN_PROGRAM` in the processes' environment.
        session: The process id of the program that leads group and session.
        leader_alive: That program has not been waited for, so its id cannot belong to another process.
    """
    for _ in range(_SWEEPS):
        if session is not None and (leader_alive or not os.path.isdir("/proc/self")):
            _kill(os.killpg, session)
        found = _members(session, marker)
        for pid in found:
            _kill(os.kill, pid)
        if not found:
            return


def _kill(send: Callable[[int, int], None], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended, or another user owns it
        send(number, signal.SIGKILL)


def _members(session: int | None, marker: str) -> list[int]:
    """List living processes of the session or with the marker, this process never."""
    wanted = f"{MARKER}={marker}".encode()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc/self") else []
    return [pid for pid in pids if pid != os.getpid() and _belongs(pid, session, wanted)]


def _belongs(pid: int, session: int | None, wanted: bytes) -> bool:
    try:
        state, _, _, own_session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
        if state in "ZX":
            return False
        return int(own_session) == session or wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it ended meanwhile, or belongs to another user
        return False
