"""How a program is started so that it is held in: the command lines of the tools that isolate it."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from captain.config import SandboxConfig
from captain.execution.view import DEVICES, View

Kind = Literal["docker", "bubblewrap", "namespaces", "user", "none"]
"""What isolates programs; `docker` is a backend of its own and is not started from here."""
TOOLS: dict[Kind, tuple[str, ...]] = {
    "docker": (),
    "bubblewrap": ("bwrap", "setpriv", "prlimit", "sh"),
    "namespaces": ("unshare", "mount", "umount", "pivot_root", "setpriv", "prlimit", "sh"),
    "user": ("setpriv", "prlimit", "sh"),
    "none": (),
}
"""The programs that each kind of isolation needs, strongest kind first."""
_PLACES = "/usr/sbin:/usr/bin:/sbin:/bin"
_FIRST_USER = 0x7000_0000  # from here on user ids are used by nobody
_USERS = 0x0FFF_0000
_OPEN_FILES = 1024
_ADDRESSES = 4  # address space per byte of memory: libraries reserve far more than they use
# The program is what the kernel ends first when memory is short.
_START = 'echo 1000 >/proc/self/oom_score_adj; exec "$@"'
# The first process of a process namespace collects orphans and can't be ended by signals, so it isn't the program.
_FIRST_PROCESS = 'exec 3>&2 2>/dev/null; echo 1000 >/proc/self/oom_score_adj; (exec "$@" 2>&3 3>&-); exit $?'
_NEW_ROOT = "/sys"  # is on every Linux, and nothing that is shown lies below it


@dataclass(frozen=True)
class Cell:
    """What holds the programs of one executor in."""

    kind: Kind
    view: View
    uid: int | None
    """The user that programs become; None: they stay the user that we are."""
    settings: SandboxConfig
    seconds: float
    """Wall clock that one program may take."""

    def wrap(self, command: Sequence[str]) -> list[str]:
        """Return the command that starts `command` inside the cell."""
        match self.kind:
            case "bubblewrap":
                return [
                    *_bubblewrap(self),
                    *self._dropped(),
                    *self._limited(),
                    tool("sh"),
                    "-c",
                    _START,
                    "sh",
                    *command,
                ]
            case "namespaces":
                inside = [*self._dropped(), *self._limited(), tool("sh"), "-c", _FIRST_PROCESS, "sh", *command]
                return [*_dying(), *_namespaces(self), *inside]
            case "user":
                return [*self._dropped(), *self._limited(), tool("sh"), "-c", _START, "sh", *command]
            case _:
                bare = any(shutil.which(name, path=_PLACES) is None for name in TOOLS["user"])
                return [*command] if bare else [*_dying(), *self._limited(), tool("sh"), "-c", _START, "sh", *command]

    def _dropped(self) -> list[str]:
        """Give up the user, all groups and all rights of root, for good, and end with the process above."""
        if self.uid is None and self.kind == "bubblewrap":
            return []  # bubblewrap has taken everything away
        user = [] if self.uid is None else [f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        return [tool("setpriv"), *user, *rights, "--pdeathsig=KILL", "--"]

    def _limited(self) -> list[str]:
        memory = self.settings.memory_mb * 2**20
        limits = {
            "core": 0,
            "data": memory,
            "as": memory * _ADDRESSES,
            "cpu": math.ceil(self.seconds * (os.cpu_count() or 1)) + 10,
            "fsize": self.settings.disk_mb * 2**20,
            "nofile": _OPEN_FILES,
        }
        if self.uid is not None or (self.kind != "none" and _counts_per_namespace()):
            limits["nproc"] = self.settings.processes
        return [tool("prlimit"), *(f"--{name}={value}" for name, value in limits.items()), "--"]


def tool(name: str) -> str:
    """The path of a system program; its name when it is absent, so that starting it fails with that name."""
    return shutil.which(name, path=_PLACES) or shutil.which(name) or name


def unprivileged_user(folder: Path) -> int | None:
    """Choose the user that root's programs become: one per run's folder, the same each time.

    Limits on processes do not bind root and are counted per user, so that runs need users of their own. Ids far above
    those that systems give out are taken, or the last ones that a container maps.

    Returns:
        The id, or None when we are not root or there are too few ids.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    number = int.from_bytes(hashlib.sha256(os.fsencode(folder)).digest()[:8], "big")
    try:
        rows = [[int(part) for part in line.split()] for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except OSError:
        return None
    start, _, count = max(rows, key=lambda row: row[2])
    if start + count > _FIRST_USER + _USERS:
        return _FIRST_USER + number % _USERS
    return start + count - 1000 - number % (count // 8) if count >= 10_000 else None


def _counts_per_namespace() -> bool:
    """Since Linux 5.14 a limit on processes counts those of its own user namespace only."""
    version = platform.release().split(".")
    return version[0].isdigit() and version[1].isdigit() and (int(version[0]), int(version[1])) >= (5, 14)


def _dying() -> list[str]:
    """The program ends with this process, however that ends."""
    return [tool("setpriv"), "--pdeathsig=KILL", "--"]


def _bubblewrap(cell: Cell) -> list[str]:
    view = cell.view
    command = [tool("bwrap"), "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
    command += [] if cell.settings.network else ["--unshare-net"]
    rights = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # with these setpriv gives up everything, also these
    command += ["--unshare-user"] if cell.uid is None else [part for right in rights for part in ("--cap-add", right)]
    command += [part for path in view.folders() for part in ("--dir", path)]
    if view.own_tmp:
        command += ["--perms", "1777", "--size", str(_tmp_size(cell)), "--tmpfs", "/tmp"]
        below = [path for path in view.folders() if path.startswith("/tmp/")]
        command += [part for path in below for part in ("--dir", path)]
    command += [part for place, target in view.links for part in ("--symlink", target, place)]
    command += [part for path in view.shown for part in ("--ro-bind", str(path), str(path))]
    command += [part for name in DEVICES for part in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")]
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        command += ["--symlink", f"/proc/self/{target}", f"/dev/{name}"]
    command += ["--proc", "/proc", "--bind", str(view.folder), str(view.folder), "--remount-ro", "/"]
    return [*command, "--chdir", str(view.folder), "--"]


def _namespaces(cell: Cell) -> list[str]:
    flags = ["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--propagation", "private"]
    flags += [] if cell.settings.network else ["--net"]
    flags += ["--user", "--map-root-user"] if cell.uid is None else []
    return [tool("unshare"), *flags, "--", tool("sh"), "-c", _script(cell), "sh"]


def _script(cell: Cell) -> str:
    """Write the script that, as root of the new namespaces, builds the view, enters it and starts what is given to it.

    It works in a file system of its own, which disappears with the last process; nothing outside is changed.
    """
    view = cell.view
    files = [f"dev/{name}" for name in DEVICES] + [str(path)[1:] for path in view.shown if not path.is_dir()]
    table = [f"proc {_NEW_ROOT}/proc proc nosuid,nodev,noexec 0 0"]
    table += [_bound(Path("/dev", name), "nosuid,noexec") for name in DEVICES]
    # a user namespace may not uncover what lies under the mounts inside a folder, so it has to take them along
    bind = "bind" if cell.uid is not None else "rbind"
    table += [_bound(path, "ro,nosuid,nodev", bind) for path in view.shown]
    table += [_bound(view.folder, "nosuid,nodev", bind)]
    mount, mkdir, folders = tool("mount"), tool("mkdir"), view.folders()
    lines = ["set -e", "umask 022"]
    lines += [f"{mount} -t tmpfs -o mode=755,size=4m,nosuid,nodev sandbox {_NEW_ROOT}", f"cd {_NEW_ROOT}"]
    if view.own_tmp:
        size = f"mode=1777,size={_tmp_size(cell)},nosuid,nodev"
        lines += [f"{mkdir} tmp", f"{mount} -t tmpfs -o {size} sandbox {_NEW_ROOT}/tmp"]
    lines.append(f"{mkdir} -p " + " ".join(shlex.quote(path[1:]) for path in folders))
    lines.append("for file in " + " ".join(map(shlex.quote, files)) + '; do : >"$file"; done')
    lines += [f"{tool('ln')} -s {shlex.quote(target)} {shlex.quote(place[1:])}" for place, target in view.links]
    lines.append(f"{tool('cp')} -P /dev/fd /dev/stdin /dev/stdout /dev/stderr dev")
    lines += [f"printf '%s\\n' {shlex.quote(chr(10).join(table))} >.mounts", f"{mount} --all --fstab .mounts"]
    lines += [f"{tool('pivot_root')} . .", f"{tool('umount')} -l .", f"{mount} -o remount,ro,bind /"]
    return "\n".join([*lines, f"cd {shlex.quote(str(view.folder))}", 'exec "$@"'])


def _bound(path: Path, options: str, bind: str = "bind") -> str:
    spelled = str(path).replace("\\", "\\134")
    for sign in " \t\n#":
        spelled = spelled.replace(sign, f"\\{ord(sign):03o}")
    return f"{spelled} {_NEW_ROOT}{spelled} none {bind},{options} 0 0"


def _tmp_size(cell: Cell) -> int:
    """Bytes of a `/tmp` that lies in memory."""
    return min(64, cell.settings.memory_mb) * 2**20
