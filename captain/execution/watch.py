"""Ends a program that, with all its children together, uses more memory or disk than it may."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Literal

from captain.execution.holding import size_of

Excess = Literal["memory", "disk"]

_PAUSE_SECONDS = 0.3
_SHARE = 10  # of the time, at most one tenth is spent on looking


async def wait_for_excess(pid: int, folder: Path, *, memory: int, disk: int) -> Excess:
    """Look at a program again and again until it uses too much.

    Limits of the kernel hold for each process alone; this adds up a whole tree.

    Args:
        pid: The process that leads the program; its descendants and its session count.
        folder: The program's folder.
        memory: Bytes that the processes may use together.
        disk: Bytes that the folder may hold.
    """
    pause = _PAUSE_SECONDS
    while True:
        await asyncio.sleep(pause)
        began = time.monotonic()
        excess = await asyncio.to_thread(_excess, pid, folder, memory, disk)
        if excess is not None:
            return excess
        pause = max(_PAUSE_SECONDS, _SHARE * (time.monotonic() - began))


def _excess(pid: int, folder: Path, memory: int, disk: int) -> Excess | None:
    if size_of(folder) > disk:
        return "disk"
    family = _family(pid)
    page = os.sysconf("SC_PAGE_SIZE")
    if sum(_resident(member) for member in family) * page <= memory:
        return None
    return "memory" if sum(_proportional(member, page) for member in family) > memory else None


def _family(leader: int) -> list[int]:
    """The processes that descend from the leader or are in its session (Linux)."""
    if not os.path.isdir("/proc/self"):
        return []
    children: dict[int, list[int]] = {}
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            _, parent, _, session = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        children.setdefault(int(parent), []).append(int(name))
        if int(session) == leader:
            found.append(int(name))
    family, waiting = set(found), [leader]
    while waiting:
        new = [child for child in children.get(waiting.pop(), []) if child not in family]
        family.update(new)
        waiting += new
    for member in found:
        family.update(children.get(member, []))
    return sorted(family)


def _resident(pid: int) -> int:
    """Pages in memory, those shared with other processes counted in full."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0


def _proportional(pid: int, page: int) -> int:
    """Bytes in memory, shared ones divided among those that share them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return _resident(pid) * page
