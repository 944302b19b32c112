"""The generic scenario: tasks from anywhere, put to the Captain and, if wanted, to a single assistant beside it."""

from __future__ import annotations

import asyncio
import csv
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from pydantic import Field

from captain.config import Settings
from captain.diagnosis import unknown_name
from captain.errors import ConfigError
from captain.scenario import Journal, ScenarioResult, Solver, named_object
from scenarios.attempts import DEFAULT_SCORER, Attempt, attempt, scorer_function
from scenarios.benchmarks import MissingData
from scenarios.sources import Draw, ScorerSpec, Source, Task, load_tasks
from scenarios.summary import Row, by_source, paired_difference, solver_figures

_log = logging.getLogger(__name__)
_ROWS_FILE = "rows.csv"
_SIDES = ("captain", "assistant")


class Tasks(Settings):
    """Puts tasks to the Captain and reports how many answers were right, and what they cost.

    Team mode, library, tools, limits and models come from the Captain's own settings (`team.mode=static`,
    `library.enabled=false`, ...). Rows and progress are written to the journal as they come.
    """

    name: str = "tasks"
    sources: list[Source] = Field(min_length=1)
    n: int | None = Field(default=None, ge=1)
    """How many tasks to draw from each file or reader that states no `n` of its own."""
    scorer: ScorerSpec = DEFAULT_SCORER
    """For tasks and sources that name none."""
    output_type: str | None = None
    """Dotted path of the type of the answers."""
    instructions: dict[str, str] = Field(default_factory=dict)
    """Domain -> text below each question; replaces the text in `scenarios/instructions.yaml`. Empty puts nothing."""
    compare: Literal["single"] | None = None
    """`single`: the same tasks, model and limits for one assistant with the executor."""
    repeats: int = Field(default=1, ge=1)
    concurrency: int = Field(default=1, ge=1)
    """Tasks at work at once; times are comparable only with 1."""
    base_seed: int = 20261130
    """The permutation from which neighbouring seeds draw disjoint slices; see `scenarios.sources.Draw`."""
    draw: int | None = Field(default=None, ge=0)
    """The slice to take; read from the run's `seed` when absent."""
    limit: int | None = Field(default=None, ge=1)
    """Run only the first so many of the drawn tasks."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Root keys of the scenario's file; reported as they are."""

    async def run(self, captain: Solver, journal: Journal) -> ScenarioResult:
        """Run all tasks; see `captain.scenario.Scenario`.

        Raises:
            ConfigError: A source, a scorer or a setting is wrong, or no task is left because data are missing.
        """
        draw = Draw.choose(seed=captain.config.seed, base_seed=self.base_seed, index=self.draw)
        loaded, missing = self._load(draw)
        output_type = None if self.output_type is None else named_object(self.output_type, what="output type")
        texts = _instructions(self.instructions)
        jobs = [
            _Job(source, task, _asked(task, texts), repeat, output_type)
            for repeat in range(self.repeats)
            for source, task in loaded
        ]
        journal.write("draw", seed=draw.seed, slice=draw.index, tasks=[task.id for _, task in loaded], missing=missing)
        async with _solvers(captain, compare=self.compare == "single") as solvers:
            rows = await self._run_jobs(jobs, solvers, journal)
        _write_table(journal, rows)
        summary = self._summary(rows, missing, draw, captain)
        return ScenarioResult(name=self.name, summary=summary, rows=rows, artifacts=[_ROWS_FILE])

    def _load(self, draw: Draw) -> tuple[list[tuple[str, Task]], list[dict[str, Any]]]:
        """Give the tasks with the names of their sources, and the sources whose data are not here."""
        loaded: list[tuple[str, Task]] = []
        missing: list[dict[str, Any]] = []
        for source in self.sources:
            drawn = source if source.n or source.tasks is not None else source.model_copy(update={"n": self.n})
            try:
                tasks = load_tasks(drawn, draw)
            except MissingData as error:
                missing.append({"source": source.name, "n": drawn.n, "reason": str(error)})
                continue
            loaded += [(source.name, task.model_copy(update={"scorer": task.scorer or self.scorer})) for task in tasks]
        if not loaded:
            reasons = "; ".join(f"{entry['source']}: {entry['reason']}" for entry in missing)
            raise ConfigError(f"scenario {self.name!r} has no task to run ({reasons or 'all sources are empty'})")
        for _, task in loaded:
            scorer_function(task.scorer or self.scorer)
        return loaded[: self.limit], missing

    async def _run_jobs(self, jobs: Sequence[_Job], solvers: Mapping[str, Solver], journal: Journal) -> list[Row]:
        gate = asyncio.Semaphore(self.concurrency)
        done = 0

        async def one(number: int, job: _Job) -> Row:
            nonlocal done
            async with gate:
                # who goes first alternates, so that neither always finds the endpoint's cache warm
                sides = list(solvers.items()) if number % 2 == 0 else list(solvers.items())[::-1]
                attempts = {}
                for side, solver in sides:
                    attempts[side] = await attempt(solver, job.task, job.text, output_type=job.output_type)
                    journal.write("attempt", id=job.task.id, repeat=job.repeat, side=side, **attempts[side].row())
                done += 1
                row = job.row(attempts, shareable=job.task.shareable)
                journal.write("row", **row)
                text = f"[{done}/{len(jobs)}] {_progress(job, attempts)}"
                journal.write("progress", done=done, total=len(jobs), text=text)
                _log.info("%s", text)
                return row

        return await _all(one(number, job) for number, job in enumerate(jobs))

    def _summary(self, rows: list[Row], missing: list[dict[str, Any]], draw: Draw, captain: Solver) -> dict[str, Any]:
        seed = captain.config.seed
        summary: dict[str, Any] = {
            "scenario": self.name,
            "seed": seed,
            "draw": draw.index,
            "n": len(rows),
            "repeats": self.repeats,
            "model": captain.config.model.name,
            "team": captain.config.team.mode,
            "captain": solver_figures(rows, "captain", seed=seed),
        }
        if "assistant" in rows[0]:
            summary["assistant"] = solver_figures(rows, "assistant", seed=seed)
            summary["paired"] = paired_difference(rows, seed=seed)
        summary.update(by_source=by_source(rows), missing=missing)
        return {**summary, "parameters": self.parameters} if self.parameters else summary


@dataclass(frozen=True)
class _Job:
    """One task to run once with every solver."""

    source: str
    task: Task
    text: str
    repeat: int
    output_type: type[Any] | None

    def row(self, attempts: Mapping[str, Attempt], *, shareable: bool) -> Row:
        sides = {side: attempts[side].row(with_text=shareable) for side in _SIDES if side in attempts}
        return {"id": self.task.id, "source": self.source, "domain": self.task.domain, "repeat": self.repeat, **sides}


@asynccontextmanager
async def _solvers(captain: Solver, *, compare: bool) -> Any:
    """Give the solvers by name: the Captain as it is, and a second one of its kind whose team is one assistant."""
    if not compare or captain.config.team.mode == "single":
        yield {"captain": captain}
        return
    config = captain.config
    team = config.team.model_copy(update={"mode": "single"})
    build: Callable[..., Any] = type(captain)
    assistant = build(config.model_copy(update={"team": team}))
    try:
        yield {"captain": captain, "assistant": assistant}
    finally:
        close: Callable[[], Awaitable[None]] | None = getattr(assistant, "aclose", None)
        if close is not None:
            await close()


async def _all(coroutines: Iterator[Any]) -> list[Any]:
    """Wait for all; the first error cancels the others and is raised."""
    running = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _instructions(changes: Mapping[str, str]) -> dict[str, str]:
    import yaml

    texts: dict[str, str] = yaml.safe_load(
        resources.files("scenarios").joinpath("instructions.yaml").read_text("utf-8")
    )
    return {**texts, **changes}


def _asked(task: Task, instructions: Mapping[str, str]) -> str:
    if task.domain not in instructions:
        raise ConfigError(f"task {task.id!r}: {unknown_name('domain', task.domain, instructions)}")
    return f"{task.question}\n\n{instructions[task.domain]}".strip()


def _progress(job: _Job, attempts: Mapping[str, Attempt]) -> str:
    parts = [
        f"{side} {'right' if one.right else 'wrong'} ({one.status}, {one.calls} calls, {one.seconds:.0f} s)"
        for side, one in attempts.items()
    ]
    return f"{job.task.id}: {', '.join(parts)}"


def _write_table(journal: Journal, rows: Sequence[Row]) -> None:
    """Write the rows as a flat table: one line for each task, columns such as `captain.right`."""
    flat = []
    for row in rows:
        line: dict[str, Any] = {}
        for key, value in row.items():
            line.update({f"{key}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value})
        flat.append(line)
    with (journal.folder / _ROWS_FILE).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(flat[0]))
        writer.writeheader()
        writer.writerows(flat)
