"""`captain run`: scenarios, one or every combination of a sweep, each in a folder of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.cli.models import fetch_missing
from captain.cli.terminal import clean, notice, output, say
from captain.errors import CaptainError

if TYPE_CHECKING:
    from captain.compose import Composed
    from captain.journal import Run
    from captain.scenario import Scenario, ScenarioResult


@dataclass(frozen=True)
class Planned:
    """One run that is ready to start."""

    overrides: tuple[str, ...]
    composed: Composed
    scenario: Scenario


def run_scenarios(overrides: Sequence[str], *, multirun: bool, config_dir: Path | None, as_json: bool) -> int:
    """Runs the scenario that the overrides choose; with `multirun` once for every combination.

    Everything is composed before the first run starts, so a mistake in the last combination costs nothing.

    Returns:
        The exit code: 1 when a run of a sweep failed, 130 when interrupted.
    """
    from captain.cli.sweep import expand

    with output(as_json) as emit:
        combinations = expand(overrides) if multirun else [list(overrides)]
        planned = [_plan(combination, config_dir) for combination in combinations]
        reports: list[dict[str, Any]] = []
        code = 0
        for number, item in enumerate(planned, start=1):
            if multirun:
                notice(f"run {number} of {len(planned)}: {' '.join(item.overrides)}")
            try:
                reports.append(_execute(item))
            except KeyboardInterrupt:
                code = 130
                break
            except CaptainError as error:
                if not multirun:
                    raise
                notice(f"error: {error}")
                reports.append({"scenario": item.scenario.name, "error": str(error)})
                code = 1
            if multirun:
                reports[-1]["overrides"] = list(item.overrides)
        if multirun or reports:
            emit(reports if multirun else reports[0])
        if not as_json:
            for report in reports:
                _show(report)
    return code


def _plan(overrides: Sequence[str], config_dir: Path | None) -> Planned:
    from captain.compose import load_config
    from captain.scenario import build_scenario

    composed = load_config(overrides, config_dir=config_dir, scenario_required=True)
    return Planned(tuple(overrides), composed, build_scenario(composed.scenario or {}, composed.parameters))


def _execute(item: Planned) -> dict[str, Any]:
    """Runs one scenario; its folder tells how it ended, whichever way that was."""
    from captain.journal import Run

    config = item.composed.captain
    fetch_missing(config)
    run = Run.create(config.runs_dir, config, label=item.composed.scenario_name or "run")
    notice(f"scenario {item.scenario.name}: {run.folder}")
    end: dict[str, Any] = {"status": "failed"}
    try:
        result = asyncio.run(_run(item, run))
        end = _report(item, result, run)
        return end
    except KeyboardInterrupt:
        end = {"status": "stopped", "stop_reason": "interrupted"}
        notice(f"interrupted; what was done is kept in {run.folder}")
        raise
    except CaptainError as error:
        end = {"status": "failed", "error": str(error)}
        raise
    finally:
        run.finish(end)


async def _run(item: Planned, run: Run) -> ScenarioResult:
    from captain import Captain
    from captain.scenario import on_behalf_of

    composed = item.composed
    run.write("scenario", name=item.scenario.name, settings=composed.scenario, parameters=composed.parameters)
    # The runs of single tasks lie inside the scenario's folder: one experiment, one folder.
    config = composed.captain.model_copy(update={"runs_dir": str(run.folder / "runs")})
    with on_behalf_of(item.scenario.name):
        return await item.scenario.run(Captain(config), run)


def _report(item: Planned, result: ScenarioResult, run: Run) -> dict[str, Any]:
    return {
        "scenario": result.name,
        "seed": item.composed.captain.seed,
        "n": len(result.rows),
        **result.summary,
        "rows": result.rows,
        "artifacts": result.artifacts,
        "run_dir": str(run.folder),
        **result.headline,
    }


def _show(report: dict[str, Any]) -> None:
    """Shows a report for people: everything but the rows."""
    for key, value in report.items():
        if key != "rows":
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            say(f"{key:<12} {clean(text)}")
    say()
