"""From rows to figures: rates with intervals, costs, and the paired difference of two solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scenarios.metrics import bootstrap_interval, mcnemar_p, median, wilson_interval

Row = dict[str, Any]


def solver_figures(rows: Sequence[Row], side: str, *, seed: int) -> dict[str, Any]:
    """Give the figures of one solver over all rows.

    The interval of the rate is Wilson's; with repeats, which are not independent, it is a bootstrap over tasks.
    """
    attempts = [row[side] for row in rows]
    right, n = sum(one["right"] for one in attempts), len(attempts)
    groups = _by_task(rows, lambda row: float(row[side]["right"]))
    repeated = len(groups) < n
    interval = bootstrap_interval(groups, seed=seed) if repeated else wilson_interval(right, n)
    seconds = [one["seconds"] for one in attempts]
    middle = median(seconds)
    total = sum(seconds)
    return {
        "right": right,
        "n": n,
        "rate": round(right / n, 4) if n else None,
        "ci95": _rounded(interval),
        "ci_method": "bootstrap over tasks" if repeated else "wilson",
        "median_seconds": None if middle is None else round(middle, 1),
        "seconds": round(total, 1),
        "right_per_minute": round(60 * right / total, 3) if total > 0 else None,
        **{key: sum(one[key] for one in attempts) for key in ("calls", "prompt_tokens", "completion_tokens", "tokens")},
        "statuses": _counted(one["status"] for one in attempts),
        "errors": sum(one["error"] is not None for one in attempts),
    }


def paired_difference(rows: Sequence[Row], *, seed: int) -> dict[str, Any]:
    """Give the difference of rates, Captain minus assistant, on the same tasks.

    `noise` is False only when the 95 % bootstrap interval over tasks is clear of 0 and, without repeats, McNemar's
    exact test agrees (p < .05): with few tasks the bootstrap alone is too sure of itself.
    """
    captain_only = sum(row["captain"]["right"] and not row["assistant"]["right"] for row in rows)
    assistant_only = sum(row["assistant"]["right"] and not row["captain"]["right"] for row in rows)
    groups = _by_task(rows, lambda row: float(row["captain"]["right"]) - float(row["assistant"]["right"]))
    low, high = bootstrap_interval(groups, seed=seed)
    p_value = mcnemar_p(captain_only, assistant_only) if len(groups) == len(rows) else None
    clear = (low > 0 or high < 0) and (p_value is None or p_value < 0.05)
    return {
        "difference": round((captain_only - assistant_only) / len(rows), 4) if rows else None,
        "ci95": _rounded((low, high)),
        "captain_only": captain_only,
        "assistant_only": assistant_only,
        "mcnemar_p": None if p_value is None else round(p_value, 4),
        "noise": not clear,
    }


def by_source(rows: Sequence[Row]) -> dict[str, Any]:
    """Give the number of right answers of each solver for each source."""
    table: dict[str, Any] = {}
    for row in rows:
        entry = table.setdefault(row["source"], {"n": 0})
        entry["n"] += 1
        for side in ("captain", "assistant"):
            if row.get(side) is not None:
                entry[side] = entry.get(side, 0) + int(row[side]["right"])
    return table


def _by_task(rows: Sequence[Row], value: Any) -> list[list[float]]:
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        groups.setdefault((row["source"], row["id"]), []).append(value(row))
    return list(groups.values())


def _counted(values: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def _rounded(interval: tuple[float, float]) -> list[float]:
    return [round(end, 4) for end in interval]
