"""The Captain: what people call. Light to import; the work is done in `captain.walk`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from captain.config import ROLES, CaptainConfig
from captain.errors import CaptainError, ConfigError, LimitExceeded
from captain.events import Event
from captain.execution import running_as
from captain.results import Result
from captain.tracing import span, tracing
from captain.tree import Tree, current_tree
from captain.trust import marking
from captain.waiting import wait_for

if TYPE_CHECKING:
    from autogen_agentchat.base import ChatAgent, Team
    from autogen_core.code_executor import CodeExecutor

    from captain.casting import Cast
    from captain.durable.recording import Recording
    from captain.durable.resuming import RecordedRun
    from captain.effects import Approver
    from captain.journal import Run
    from captain.library import Library
    from captain.models import ModelCall, ModelRouter
    from captain.reporting import Reporter


class Captain:
    """Turns a task into teams of experts and answers from their work.

    A Captain may solve many tasks, also at once. Its configuration never changes; what it keeps between tasks is its
    library and the teams that it has cast.

    Args:
        config: a checked configuration, a mapping laid over the default one, or None for the default.
        members: your own AutoGen agents and teams, offered for every role before the library is searched.
        library: a library to use instead of the configured one.
        approver: asks a person about calls and subtasks that need approval; without one such a run pauses.
        notices: gets lines for people, such as which model was taken; by default they go to the log.
    """

    def __init__(
        self,
        config: CaptainConfig | Mapping[str, Any] | None = None,
        *,
        members: Sequence[ChatAgent | Team] = (),
        library: Library | None = None,
        approver: Approver | None = None,
        notices: Callable[[str], None] | None = None,
    ) -> None:
        self._given = config
        self._members = tuple(members)
        self._seatable: tuple[ChatAgent, ...] | None = None
        self._library = library
        self._approver = approver
        self._notices = notices
        self._config: CaptainConfig | None = None
        self._teams: dict[str, Cast] = {}

    @property
    def config(self) -> CaptainConfig:
        """The checked configuration."""
        if self._config is None:
            if isinstance(self._given, CaptainConfig):
                self._config = self._given
            else:
                from captain.compose import config_from

                self._config = config_from(self._given)
        return self._config

    @property
    def library(self) -> Library:
        """The experts and tools that this Captain can seat."""
        if self._library is None:
            from captain.library import Library

            self._library = Library(self.config)
        return self._library

    @property
    def teams(self) -> dict[str, Cast]:
        """The teams cast so far, by what they were asked for; they may be edited in place."""
        return self._teams

    def solve(
        self,
        task: str,
        *,
        files: Sequence[str | Path] = (),
        output_type: type[Any] | None = None,
        run: Run | None = None,
    ) -> Result:
        """Solves a task and waits for the result; works in scripts and inside a running event loop (notebooks).

        Args:
            task: what is to be solved, in any language.
            files: files to hand over; members find them by name in their working folder.
            output_type: a type that the final answer is brought into, as `Result.output`.
            run: a run to write into, instead of a new one.

        Raises:
            ConfigError: something given is wrong; one line says what and how to mend it.
            ModelError: an endpoint failed for good before there was an answer.
        """
        return wait_for(self.solve_async(task, files=files, output_type=output_type, run=run))

    async def solve_async(
        self,
        task: str,
        *,
        files: Sequence[str | Path] = (),
        output_type: type[Any] | None = None,
        run: Run | None = None,
        listener: Callable[[Event], None] | None = None,
    ) -> Result:
        """As `solve`, for async code. `listener` gets each event as it happens."""
        if not task.strip():
            raise ConfigError("the task is empty; say what is to be solved")
        parent = current_tree.get()
        if parent is not None:
            return await self._solve_below(parent, task, files, output_type, run, listener)
        from captain.durable.recording import Recording
        from captain.durable.resuming import TASK, describe_task, digest_of
        from captain.journal import Run
        from captain.limits import Spending

        own = run or Run.create(self.config.runs_dir, self.config)
        names = [str(getattr(member, "name", "?")) for member in self._members]
        own.write(TASK, **describe_task(task, files, output_type, names), config=digest_of(self.config))
        tree = Tree(own, Recording(own), Spending(self.config.limits), 1, [], self._approver)
        return await self._solve_tree(tree, task, files, output_type, listener)

    async def _solve_below(
        self,
        parent: Tree,
        task: str,
        files: Sequence[str | Path],
        output_type: type[Any] | None,
        run: Run | None,
        listener: Callable[[Event], None] | None,
    ) -> Result:
        """Solves inside another Captain's team: with its journal, its limits and a branch of its own."""
        from captain.durable.branches import below, current_branch, on_branch

        if parent.depth >= self.config.walk.max_depth:
            raise LimitExceeded(f"a Captain sits {parent.depth} deep; walk.max_depth={self.config.walk.max_depth}")
        identity = parent.recording.identify("nested", {"task": task})
        branch = below(current_branch(), f"captain-{identity.request[:8]}-{identity.number}")
        approver = self._approver or parent.approver
        tree = replace(parent, run=run or parent.run, depth=parent.depth + 1, usages=[], approver=approver)
        token = current_tree.set(tree)
        try:
            with on_branch(branch), marking(self.config.approval.mark_untrusted), running_as(self.config):
                result = await self._walk(task, files, output_type, tree, listener or (lambda event: None))
        finally:
            current_tree.reset(token)
        if any(one == branch or one.startswith(f"{branch}/") for one in parent.tainted):
            parent.tainted.add(current_branch())  # its answer is made from untrusted text
        parent.usages.append(result.usage)
        return result

    async def solve_recorded(
        self, recorded: RecordedRun, recording: Recording, listener: Callable[[Event], None] | None
    ) -> Result:
        """Solves the task of a recorded run again, on its record."""
        from captain.limits import Spending

        spending = Spending(self.config.limits, time.perf_counter() - recording.run.elapsed)
        tree = Tree(recording.run, recording, spending, 1, [], self._approver)
        return await self._solve_tree(tree, recorded.task, recorded.files, recorded.output_type, listener)

    async def _solve_tree(
        self,
        tree: Tree,
        task: str,
        files: Sequence[str | Path],
        output_type: type[Any] | None,
        listener: Callable[[Event], None] | None,
    ) -> Result:
        """Solves at the root; however it ends, the run's folder says so."""
        token, marked = current_tree.set(tree), self.config.approval.mark_untrusted
        try:
            agent = {"gen_ai.agent.name": "captain", "gen_ai.agent.id": tree.run.folder.name}
            traced = span("invoke_agent", "captain", agent)
            with tracing(self.config.telemetry), traced, marking(marked), running_as(self.config):
                result = await self._walk(task, files, output_type, tree, listener or (lambda event: None))
        except BaseException as error:
            interrupted = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            status, reason = ("stopped", "interrupted") if interrupted else ("failed", str(error))
            known = tree.so_far().to_dict() if tree.so_far is not None else {}
            tree.run.finish({**known, "status": status, "stop_reason": reason})
            raise
        finally:
            current_tree.reset(token)
        tree.run.finish(result.to_dict())
        return result

    @classmethod
    def resume(
        cls, run_dir: str | Path, *, overrides: Sequence[str] = (), members: Sequence[ChatAgent | Team] = ()
    ) -> Result:
        """Goes on with a run of an earlier process; what was paid for is not paid again.

        Args:
            run_dir: the run's folder.
            overrides: settings to change, such as `limits.calls=50`.
            members: the same own agents and teams as the run had.

        Raises:
            ConfigError: it is no folder of a run, or another process works on it.
        """
        return wait_for(cls.resume_async(run_dir, overrides=overrides, members=members))

    @classmethod
    async def resume_async(
        cls,
        run_dir: str | Path,
        *,
        overrides: Sequence[str] = (),
        members: Sequence[ChatAgent | Team] = (),
        approver: Approver | None = None,
        listener: Callable[[Event], None] | None = None,
    ) -> Result:
        """As `resume`, for async code; `approver` and `listener` as for a solve."""
        from captain.durable.again import go_on

        return await go_on(cls, run_dir, overrides=overrides, members=members, approver=approver, listener=listener)

    @classmethod
    def replay(cls, run_dir: str | Path, *, members: Sequence[ChatAgent | Team] = ()) -> Result:
        """Runs a recorded run again with nothing but its record: no model, tool, program or network.

        Raises:
            NotRecorded: the code asks for something that is not on record.
            ConfigError: it is no folder of a run.
        """
        from captain.durable.again import run_again

        return wait_for(run_again(cls, run_dir, members=members))

    async def stream(
        self, task: str, *, files: Sequence[str | Path] = (), output_type: type[Any] | None = None
    ) -> AsyncGenerator[Event, None]:
        """Solves a task and yields what happens; the last event is `finished` and holds the result."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(
            self.solve_async(task, files=files, output_type=output_type, listener=queue.put_nowait)
        )
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await work
        finally:
            work.cancel()

    def as_agent(self, name: str = "captain", description: str = "Solves a task with a team of experts.") -> ChatAgent:
        """This Captain as an AutoGen agent, to be a member of any team, also of another Captain's."""
        from captain.agent import CaptainAgent

        return CaptainAgent(name, self, description)

    async def _walk(
        self,
        task: str,
        files: Sequence[str | Path],
        output_type: type[Any] | None,
        tree: Tree,
        listener: Callable[[Event], None],
    ) -> Result:
        from captain.casting import Casting
        from captain.durable.intake import taken_in
        from captain.durable.searching import RecordedLibrary
        from captain.effects import Effects
        from captain.factory_seats import FactorySeats
        from captain.mcp_servers.servers import serving
        from captain.reporting import Reporter
        from captain.subtask import Surroundings
        from captain.walk import Walk

        start = time.perf_counter() - tree.run.elapsed
        recording = tree.recording
        reporter = Reporter(tree.run, recording, listener)
        reporter.event("started", task[:200], run_dir=str(tree.run.folder))
        brief = await taken_in(recording, task, files, tree.run.work)
        if self.config.team.mode != "single":
            # A mistake in a profile or a tool is told before the first call is paid.
            await asyncio.to_thread(lambda: (self.library.experts(), self.library.tools()))
        router = self._router(tree, reporter)
        executor = self._executor(tree, reporter)
        library = cast("Library", RecordedLibrary(self.library, recording))
        factories = FactorySeats(self.config, library, router.client, tree.run.work, task)
        effects = Effects.of(tree, self.config.approval, reporter)
        own, run = self._own_members(), tree.run.folder.name
        casting = Casting(self.config, library, router.client, router.spec, recording, own, self._teams, factories, run)
        casting.tainted = effects.is_tainted
        around = Surroundings(
            config=self.config,
            brief=brief,
            casting=casting,
            executor=executor,
            workspace=tree.run.work,
            reporter=reporter,
            clients=router.client,
            specs=router.spec,
            spending=tree.spending,
            effects=effects,
        )
        walk = Walk(around, output_type)
        tree.so_far = lambda: _with_usage(walk.so_far(), router, tree, start)
        try:
            if executor is not None:
                await executor.start()
            async with serving(library.servers.settings), factories:
                result = await walk.go()
        finally:
            if executor is not None:
                await executor.stop()
            await router.aclose()
        return reporter.finished(_with_usage(result, router, tree, start))

    def _own_members(self) -> tuple[ChatAgent, ...]:
        from captain.members import as_members

        if self._seatable is None:
            self._seatable = as_members(self._members)
        return self._seatable

    def _executor(self, tree: Tree, reporter: Reporter) -> CodeExecutor | None:
        """Where programs run, recorded; in a replay none runs. Says so when little holds them in."""
        from captain.durable.effects import RecordedExecutor
        from captain.execution import build_executor

        config = self.config
        if not config.execution.enabled:
            return None
        real = None
        if not tree.recording.strict:
            real = build_executor(config.execution, folder=tree.run.work, sandbox=config.sandbox)
            if real.isolation.notice:
                reporter.event("notice", real.isolation.notice)
        return RecordedExecutor(real, tree.recording, repeatable=not config.sandbox.network)

    def _router(self, tree: Tree, reporter: Reporter) -> ModelRouter:
        from captain.durable.resuming import MODELS
        from captain.models import ModelRouter

        def observe(call: ModelCall) -> None:
            tree.spending.add(call)
            reporter.model_call(call)

        def guard() -> None:
            tree.spending.check(router.under_way)

        def notice(line: str) -> None:
            reporter.event("model_selected", line)
            if self._notices is not None:
                self._notices(line)

        router = ModelRouter(self.config, observer=observe, guard=guard, memory=tree.recording, notices=notice)
        if not tree.recording.resumed and tree.depth == 1:
            tree.run.write(MODELS, roles={role: s.model_dump(mode="json") for role, s in router.specs().items()})
        if self.config.limits.usd is not None:
            unpriced = sorted({router.spec(role).name for role in ROLES if router.spec(role).price is None})
            if unpriced:
                raise ConfigError(f"limits.usd needs a price: set model.price of {unpriced[0]!r} (prompt, completion)")
        return router


def _with_usage(result: Result, router: ModelRouter, tree: Tree, start: float) -> Result:
    usage = router.usage().with_others(tree.usages).model_copy(update={"seconds": time.perf_counter() - start})
    return result.model_copy(update={"usage": usage, "run_dir": tree.run.folder})


def solve(task: str, *, files: Sequence[str | Path] = (), output_type: type[Any] | None = None) -> Result:
    """Solves a task with the default configuration; see `Captain.solve`."""
    return Captain().solve(task, files=files, output_type=output_type)


__all__ = ["Captain", "CaptainError", "solve"]
