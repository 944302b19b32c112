"""What a tree of runs has spent, checked against its limits before each model call."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from captain.config import LimitsConfig
from captain.errors import LimitExceeded

if TYPE_CHECKING:
    from captain.models import ModelCall


@dataclass
class Spending:
    """The counters of one tree; a Captain inside another's team shares them."""

    limits: LimitsConfig
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    start: float = field(default_factory=time.perf_counter)

    def add(self, call: ModelCall) -> None:
        """Counts one call that was answered."""
        if call.error is None:
            self.calls += 1
        self.tokens += call.usage.prompt_tokens + call.usage.completion_tokens
        self.usd += call.usd or 0.0

    def check(self) -> None:
        """Refuses the next call when a limit is reached.

        Raises:
            LimitExceeded: names the limit.
        """
        spent = {
            "calls": self.calls,
            "tokens": self.tokens,
            "seconds": time.perf_counter() - self.start,
            "usd": self.usd,
        }
        for name, amount in spent.items():
            limit = getattr(self.limits, name)
            if limit is not None and amount >= limit:
                raise LimitExceeded(f"limit of {limit:g} {name} reached")
