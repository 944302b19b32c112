"""What all Captains of one solve share: one sits in another's team and writes into the same run."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from captain.results import Result, Usage

if TYPE_CHECKING:
    from captain.durable.recording import Recording
    from captain.effects import Approver
    from captain.journal import Run
    from captain.limits import Spending


@dataclass
class Tree:
    """The run that a solve belongs to: a Captain in another Captain's team shares its journal and its limits."""

    run: Run
    recording: Recording
    spending: Spending
    depth: int
    usages: list[Usage]
    approver: Approver | None = None
    tainted: set[str] = field(default_factory=set)
    """Branches in whose chats untrusted text stands."""
    mixed: set[str] = field(default_factory=set)
    """Branches that may have read from the run's folder what came in by another one."""
    so_far: Callable[[], Result] | None = None
    """What the run has come to, for one that is interrupted."""


current_tree: ContextVar[Tree | None] = ContextVar("captain_tree", default=None)
