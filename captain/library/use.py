"""The record of use: who was seated for what, how it went, what it cost; and what that makes of a score.

One SQLite file in the user's folder, shared by all processes. It only ever helps: where it cannot be read or written, a
warning says so and the run goes on without it.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from captain.library.hits import Standing

NO_SCENARIO = "-"
"""What stands for the scenario of a task that was simply solved."""

_logger = logging.getLogger(__name__)
_PRIOR_MEAN, _PRIOR_STRENGTH = 0.8, 20.0
"""A record weighs against this many imagined uses, which went as well as the library's average."""
_COST_EXPONENT, _COST_STRENGTH = 0.1, 5.0
_COST_BOUNDS = (0.9, 1.1)
_WAIT_SECONDS = 5.0

_SCHEMA = """
create table if not exists uses (
    run text not null, key text not null, expert text not null, scenario text not null, outcome real,
    calls integer not null, tokens integer not null, at text not null,
    primary key (run, key, expert)
) without rowid
"""
_ADD = """
insert into uses (run, key, expert, scenario, outcome, calls, tokens, at) values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (run, key, expert) do update set
    outcome = coalesce(excluded.outcome, outcome), calls = excluded.calls, tokens = excluded.tokens
"""
_SUM = """
select expert, scenario, count(*), count(outcome), coalesce(sum(outcome), 0), sum(calls), sum(tokens)
from uses group by expert, scenario order by expert, scenario
"""


@dataclass(frozen=True)
class Uses:
    """How often an expert was seated, and how that went.

    Attributes:
        selections: How often it was seated.
        judged: How many of these were judged.
        successes: Sum of the outcomes, from 0 to 1 each.
        calls: Model calls in all.
        tokens: Prompt and completion tokens in all.
    """

    selections: int = 0
    judged: int = 0
    successes: float = 0.0
    calls: int = 0
    tokens: int = 0

    def __add__(self, other: Uses) -> Uses:
        return Uses(
            self.selections + other.selections,
            self.judged + other.judged,
            self.successes + other.successes,
            self.calls + other.calls,
            self.tokens + other.tokens,
        )

    def summary(self) -> dict[str, int | float]:
        """What is told of them beside the number of selections."""
        return {
            "judged": self.judged,
            "successes": self.successes,
            "calls": self.calls,
            "mean_tokens": round(self.mean_tokens),
        }

    @property
    def mean_tokens(self) -> float:
        """Tokens of one selection."""
        return self.tokens / self.selections if self.selections else 0.0


class UseRecord:
    """The record in one folder. Safe for many threads and processes; the file appears with the first use."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "use.sqlite3"
        self._lock = threading.Lock()
        self._seen: tuple[object, ...] | None = None
        self._standings: Mapping[str, Standing] = {}

    def add(
        self,
        expert: str,
        *,
        key: str,
        scenario: str | None,
        run: str,
        outcome: float | None,
        calls: int,
        tokens: int,
    ) -> None:
        """Write down one use; the same use again (a resumed run) replaces what was said of it and counts once. Blocks.

        Args:
            expert: Its name.
            key: What tells the uses of a run apart, such as the subtask and attempt.
            scenario: The scenario's name; nothing for a task that was simply solved.
            run: The run's id.
            outcome: 1 for accepted work, 0 for work that was not, nothing while that is unknown.
            calls: Its model calls.
            tokens: Their prompt and completion tokens.
        """
        at = datetime.now(UTC).isoformat(timespec="seconds")
        row = (run, key, expert, scenario or NO_SCENARIO, outcome, calls, tokens, at)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._connection() as database:
                database.execute(_ADD, row)
        except (sqlite3.Error, OSError) as error:
            _logger.warning("the use of %r cannot be recorded in %s (%s)", expert, self.path, error)
        self._seen = None

    def forget(self, expert: str) -> None:
        """Remove all that is on record of an expert. Blocks."""
        if self.path.exists():
            try:
                with self._connection() as database:
                    database.execute("delete from uses where expert = ?", (expert,))
            except (sqlite3.Error, OSError) as error:
                _logger.warning("the uses of %r cannot be removed from %s (%s)", expert, self.path, error)
        self._seen = None

    def stats(self) -> dict[str, dict[str, Uses]]:
        """Expert -> scenario -> its uses; empty when there is no record. Blocks."""
        if not self.path.exists():
            return {}
        found: dict[str, dict[str, Uses]] = {}
        try:
            with self._connection() as database:
                for expert, scenario, *numbers in database.execute(_SUM):
                    found.setdefault(expert, {})[scenario] = Uses(*numbers)
        except (sqlite3.Error, OSError) as error:
            _logger.warning("the record of use in %s cannot be read (%s)", self.path, error)
            return {}
        return found

    def standings(self) -> Mapping[str, Standing]:
        """What the record makes of each expert in it; read again only when it has changed. Blocks."""
        with self._lock:
            seen = self._state()
            if seen != self._seen:
                uses = {expert: sum(by_scenario.values(), Uses()) for expert, by_scenario in self.stats().items()}
                self._standings = standings(uses)
                self._seen = seen
            return self._standings

    def _state(self) -> tuple[object, ...]:
        """Changes whenever a process writes."""
        found: list[object] = []
        for path in (self.path, self.path.with_name(f"{self.path.name}-wal")):
            try:
                status = path.stat()
            except OSError:
                found.append(None)
            else:
                found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        return tuple(found)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One short transaction on a connection of its own, which no thread or forked process shares."""
        database = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        try:
            database.execute("pragma journal_mode=wal")
            database.execute("pragma synchronous=normal")
            database.execute(_SCHEMA)
            with database:
                yield database
        finally:
            database.close()


def standings(uses: Mapping[str, Uses]) -> dict[str, Standing]:
    """The factors of each expert, compared with the others on record.

    Success: the mean of a Beta posterior over the library's mean. The prior of every expert is the library's own rate
    (itself held near 0.8 while little is known), so an expert of average success has factor 1, as an unknown one has.
    Cost: the ratio of its tokens to the median, to a small power that grows with what is known, within 0.9 and 1.1.
    """
    judged = sum(of.judged for of in uses.values())
    rate = (sum(of.successes for of in uses.values()) + _PRIOR_STRENGTH * _PRIOR_MEAN) / (judged + _PRIOR_STRENGTH)
    means = [of.mean_tokens for of in uses.values() if of.tokens > 0]
    usual = median(means) if means else 0.0
    return {expert: Standing(_success(of, rate), _cost(of, usual)) for expert, of in uses.items()}


def _success(of: Uses, rate: float) -> float:
    posterior = (of.successes + _PRIOR_STRENGTH * rate) / (of.judged + _PRIOR_STRENGTH)
    return posterior / rate


def _cost(of: Uses, usual: float) -> float:
    if of.tokens <= 0 or usual <= 0:
        return 1.0
    known = of.selections / (of.selections + _COST_STRENGTH)
    low, high = _COST_BOUNDS
    return float(min(high, max(low, (usual / of.mean_tokens) ** (_COST_EXPONENT * known))))
