"""The walk of a task: plan, work on ready subtasks in parallel, replan when a part was wrong, finish."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from captain.durable.branches import below, current_branch, on_branch
from captain.errors import CaptainError, LimitExceeded, ModelError, NotRecorded, Paused
from captain.finishing import Finisher, best_partial, evidence_of, status_of
from captain.planning import Plan, Planner, Subtask
from captain.results import Result, Status, SubtaskReport
from captain.single import SingleAssistant
from captain.subtask import SubtaskWork, Surroundings


@dataclass
class Walk:
    """One task from its plan to its result."""

    around: Surroundings
    output_type: type[Any] | None = None
    plan: Plan | None = None
    reports: dict[str, SubtaskReport] = field(default_factory=dict)
    _works: dict[str, SubtaskWork] = field(default_factory=dict)

    async def go(self) -> Result:
        """Walks to the end; limits end it early with the best there is.

        Raises:
            CaptainError: a model failed for good before there was any answer.
        """
        try:
            if self.around.config.team.mode == "single":
                return await self._single()
            return await self._teams()
        except NotRecorded:
            raise
        except Paused as error:
            return self._cut_short("paused", str(error))
        except LimitExceeded as error:
            return self._cut_short("stopped", str(error))
        except CaptainError as error:
            partial = self._cut_short("stopped", f"{type(error).__name__}: {error}")
            if not partial.answer:
                raise
            return partial

    def so_far(self) -> Result:
        """What there is in the middle of the walk."""
        return self._cut_short("stopped", "interrupted")

    async def _single(self) -> Result:
        around = self.around
        assistant = SingleAssistant(around.clients("expert"), around.executor, around.config.team.max_repairs)
        answer = await assistant.answer(around.brief)
        status: Status = "unverified" if answer else "failed"
        return Result(answer=answer, status=status, stop_reason="a single assistant, not reviewed")

    async def _teams(self) -> Result:
        around, failures = self.around, ""
        planner = Planner(around.clients("planner"), around.specs("planner"), around.config.team)
        for attempt in range(around.config.walk.max_replans + 1):
            self.plan = await planner.plan(around.brief, failures=failures)
            self._works.clear()
            self.reports.clear()
            self._tell(self.plan)
            branch = below(current_branch(), f"plan{attempt + 1}")
            await self._work_through(self.plan, branch)
            around.effects.taint_by(branch)  # the answer, or a new plan, is made from its reports
            wrong = [report for report in self.reports.values() if report.verdict == "replan"]
            if not wrong or attempt == around.config.walk.max_replans:
                break
            reasons = "\n".join(f"- {r.goal[:200]}: {'; '.join(r.issues) or 'wrongly cut'}" for r in wrong)
            failures = around.effects.shown(reasons, "the teams")
        assert self.plan is not None
        return await self._finish(self.plan)

    def _tell(self, plan: Plan) -> None:
        parts = [f"{s.id}. [{s.method}] {', '.join(role.title for role in s.roles)}" for s in plan.subtasks]
        self.around.reporter.event("planned", "; ".join(parts), **plan.model_dump(mode="json"))

    async def _work_through(self, plan: Plan, branch: str) -> None:
        """Works on each subtask as soon as those it depends on are done.

        A part that fails does not take its siblings with it; a limit does, once those under way have ended.
        """
        gate = asyncio.Semaphore(self.around.config.walk.max_parallel)
        done = {subtask.id: asyncio.Event() for subtask in plan.subtasks}
        goals = {subtask.id: subtask.goal for subtask in plan.subtasks}
        branches = {subtask.id: below(branch, subtask.id) for subtask in plan.subtasks}
        part = min(1.0, self.around.config.limits.subtask_share / max(1, len(plan.subtasks)))
        self.around.spending.share(branches.values(), part)

        async def one(subtask: Subtask) -> None:
            try:
                for dependency in subtask.depends_on:
                    await done[dependency].wait()
                inputs = {goals[d]: self.reports[d].answer for d in subtask.depends_on if d in self.reports}
                async with gate:
                    self._works[subtask.id] = SubtaskWork(subtask, self.around, inputs)
                    with on_branch(branches[subtask.id]):
                        if any(self.around.effects.is_tainted(branches[d]) for d in subtask.depends_on):
                            self.around.effects.taint()
                        self.reports[subtask.id] = await self._works[subtask.id].run()
            except CaptainError as error:
                self.around.reporter.event("failed_part", str(error), subtask=subtask.id, what=_cause(error))
                raise
            finally:
                done[subtask.id].set()

        results = await asyncio.gather(*(one(s) for s in plan.subtasks), return_exceptions=True)
        # In the order of the plan, whichever was done first: the next prompts are made from them.
        self.reports = {s.id: self.reports[s.id] for s in plan.subtasks if s.id in self.reports}
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in errors:
            if not isinstance(error, CaptainError):
                raise error
        for kind in (NotRecorded, Paused, LimitExceeded, CaptainError):
            for error in errors:
                if isinstance(error, kind):
                    raise error

    async def _finish(self, plan: Plan) -> Result:
        finisher = Finisher(self.around.clients("planner"), self.around.brief, self.around.effects.shown)
        answer = await finisher.answer(plan, self.reports)
        status, reason = status_of(answer, plan, self.reports)
        output = None
        if self.output_type is not None and answer:
            try:
                output = await finisher.typed(self.output_type, answer)
            except ModelError as error:
                status, reason = "unverified", f"the answer has no value of the type asked for: {error}"
        return self._result(answer, status, reason).model_copy(update={"output": output})

    def _cut_short(self, status: Status, reason: str) -> Result:
        for key, work in self._works.items():
            if work.best is not None:
                self.reports.setdefault(key, work.best)
        return self._result(best_partial(self.plan, self.reports), status, reason)

    def _result(self, answer: str, status: Status, reason: str) -> Result:
        planned = self.plan.subtasks if self.plan is not None else ()
        accepted = {key for key, report in self.reports.items() if report.verdict == "accept"}
        return Result(
            answer=answer,
            status=status,
            stop_reason=reason,
            missing=[subtask.goal for subtask in planned if subtask.id not in accepted],
            evidence=evidence_of(self.reports),
            subtasks=[self.reports[key] for key in sorted(self.reports)],
        )


def _cause(error: CaptainError) -> str:
    if isinstance(error, LimitExceeded):
        return "limit"
    return "pause" if isinstance(error, Paused) else "model"
