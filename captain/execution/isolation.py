"""Which isolation is to be had on this machine, found out by trying."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from captain.config import SandboxConfig
from captain.errors import ConfigError
from captain.execution.cell import TOOLS, Cell, Kind, tool, unprivileged_user
from captain.execution.surroundings import program_environment
from captain.execution.view import look

LOCAL_KINDS: tuple[Kind, ...] = ("bubblewrap", "namespaces", "user", "none")
"""From the strongest to the weakest."""
LACKS: dict[Kind, tuple[str, ...]] = {
    "docker": (),
    "bubblewrap": (),
    "namespaces": (),
    "user": ("the network is open to programs", "files that all users of this machine may read are open to programs"),
    "none": (
        "the network is open to programs",
        "all files and processes of this user are open to programs",
        "the number of processes is not limited",
    ),
}
"""What each kind does not keep programs from."""
REMEDY = "apt-get install bubblewrap, or execution.backend=docker"
_PROBE_SECONDS = 20
_PROBE = "import os, sys; print(6 * 7, os.getuid(), os.path.exists(sys.argv[1]))"


@dataclass(frozen=True)
class Isolation:
    """What holds the programs of a run in."""

    kind: Kind
    obstacles: dict[str, str] = field(default_factory=dict)
    """For each stronger kind that was tried: why it cannot be had."""

    @property
    def weak(self) -> bool:
        """Programs that mean harm can do harm."""
        return bool(self.lacks)

    @property
    def lacks(self) -> tuple[str, ...]:
        """What programs are not kept from."""
        return LACKS[self.kind]

    @property
    def notice(self) -> str | None:
        """One line that says that the isolation is weak and what to do; None when it is strong."""
        if not self.weak:
            return None
        return f"weak isolation of programs (sandbox.kind={self.kind}): {'; '.join(self.lacks)}. Stronger: {REMEDY}"


def isolate(settings: SandboxConfig, folder: Path) -> Isolation:
    """Choose the isolation that the settings ask for. The first call of a process tries it, at most for seconds.

    Args:
        settings: The kind, or `auto` for the first that works.
        folder: The run's folder; a user of its own must be able to reach it.

    Raises:
        ConfigError: The kind that is asked for does not work here, or only a weak one does and `require` is set.
    """
    wanted: tuple[Kind, ...] = LOCAL_KINDS if settings.kind == "auto" else (settings.kind,)
    obstacles: dict[str, str] = {}
    for kind in wanted:
        reason = obstacle(kind) or (_unreachable(folder) if kind == "user" else None)
        if reason is None:
            return _accept(Isolation(kind, obstacles), settings)
        obstacles[kind] = reason
    raise ConfigError(f"sandbox.kind={settings.kind!r} does not work here: {obstacles[settings.kind]}; use auto")


@functools.cache
def obstacle(kind: Kind) -> str | None:
    """Tell why a kind of isolation cannot be had here; None when a program that was started in it ran as it should."""
    if kind == "none":
        return None
    missing = [name for name in TOOLS[kind] if shutil.which(tool(name)) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    with TemporaryDirectory(prefix="captain-probe-") as folder:
        return _try(kind, Path(folder).resolve())


def _accept(isolation: Isolation, settings: SandboxConfig) -> Isolation:
    if settings.require and isolation.weak:
        tried = "".join(f" ({kind}: {reason})" for kind, reason in isolation.obstacles.items())
        raise ConfigError(
            f"sandbox.require=true, but only weak isolation is to be had here: {isolation.kind}{tried}; {REMEDY}"
        )
    return isolation


def _try(kind: Kind, outside: Path) -> str | None:
    folder, secret = outside / "work", outside / "secret"
    outside.chmod(0o755)
    (folder / "tmp").mkdir(parents=True)
    secret.write_text("not for programs")
    uid = unprivileged_user(folder)
    if kind == "user" and uid is None:
        return "only root can give programs a user of their own"
    if uid is not None:
        shutil.chown(folder, uid, uid)
    settings = SandboxConfig()
    cell = Cell(kind, look(folder), uid, settings, _PROBE_SECONDS)
    command = cell.wrap([sys.executable, "-I", "-S", "-c", _PROBE, str(secret)])
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=program_environment(folder, "probe"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error).splitlines()[0][:200]
    expected = ["42", str(uid) if uid is not None else None, str(kind == "user")]
    found = done.stdout.split()
    if len(found) == len(expected) and all(want in (None, got) for want, got in zip(expected, found, strict=True)):
        return None
    said = (done.stderr.strip().splitlines() or [done.stdout.strip() or f"exit code {done.returncode}"])[-1]
    return f"a program could not be run in it ({said[:160]})"


def _unreachable(folder: Path) -> str | None:
    """Another user can enter a folder only when all folders above it let everybody through."""
    closed = [parent for parent in folder.parents if not parent.stat().st_mode & 0o001]
    return f"{closed[0]} is closed to other users, so programs cannot reach {folder}" if closed else None
