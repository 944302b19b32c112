"""What a tree of runs has spent, checked against its limits before each model call."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from captain.config import LimitsConfig
from captain.durable.branches import current_branch
from captain.errors import CaptainError, LimitExceeded

if TYPE_CHECKING:
    from captain.models import ModelCall

_COUNTED = ("calls", "tokens", "usd")


@dataclass
class Amounts:
    """Answered calls, tokens and US dollars."""

    calls: float = 0
    tokens: float = 0
    usd: float = 0.0

    def add(self, call: ModelCall) -> None:
        """Counts one call; a failed one costs tokens at most."""
        if call.error is None:
            self.calls += 1
        self.tokens += call.usage.prompt_tokens + call.usage.completion_tokens
        self.usd += call.usd or 0.0


@dataclass
class Spending:
    """The counters of one tree; a Captain inside another's team shares them.

    Args:
        limits: What may be spent.
        start: When the work began, on the clock of `time.perf_counter`; earlier for a run that goes on.
    """

    limits: LimitsConfig
    start: float = field(default_factory=time.perf_counter)
    total: Amounts = field(default_factory=Amounts)
    _branches: dict[str, Amounts] = field(default_factory=dict)
    _allowed: dict[str, dict[str, float]] = field(default_factory=dict)
    _halted: dict[str, CaptainError] = field(default_factory=dict)

    def add(self, call: ModelCall) -> None:
        """Counts one call that was answered."""
        self.total.add(call)
        for branch, amounts in self._branches.items():
            if _within(call.branch, branch):
                amounts.add(call)

    def share(self, branches: Iterable[str], part: float) -> None:
        """Gives each of some branches at most a part of what is left now, so that one cannot use up all.

        Args:
            branches: The branches.
            part: From 0 to 1.
        """
        left = {
            name: (limit - getattr(self.total, name)) * part
            for name in _COUNTED
            if (limit := getattr(self.limits, name)) is not None
        }
        for branch in branches:
            self._branches[branch], self._allowed[branch] = Amounts(), left

    def halt(self, branch: str, error: CaptainError) -> None:
        """Lets no further call of a branch begin: each raises the error."""
        self._halted[branch] = error

    def check(self, under_way: int = 0) -> None:
        """Refuses the next call when a limit is reached.

        Args:
            under_way: Calls that were sent and are not answered yet; they count as calls already.

        Raises:
            LimitExceeded: names the limit.
            CaptainError: the branch was halted.
        """
        here = current_branch()
        for branch, error in self._halted.items():
            if _within(here, branch):
                raise error
        seconds = time.perf_counter() - self.start
        if self.limits.seconds is not None and seconds >= self.limits.seconds:
            raise LimitExceeded(f"limit of {self.limits.seconds:g} seconds reached")
        for name in _COUNTED:
            limit = getattr(self.limits, name)
            pending = under_way if name == "calls" else 0
            if limit is not None and getattr(self.total, name) + pending >= limit:
                raise LimitExceeded(f"limit of {limit:g} {name} reached")
        for branch, allowed in self._allowed.items():
            for name, most in allowed.items():
                if _within(here, branch) and getattr(self._branches[branch], name) >= most:
                    raise LimitExceeded(f"this part's share of {most:g} {name} is used up")


def _within(branch: str, base: str) -> bool:
    return branch == base or branch.startswith(f"{base}/")
