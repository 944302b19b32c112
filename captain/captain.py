"""The Captain: what people call. Light to import; the work is done in `captain.walk`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from captain.config import ROLES, CaptainConfig
from captain.errors import CaptainError, ConfigError, LimitExceeded
from captain.events import Event
from captain.results import Result, Usage

if TYPE_CHECKING:
    from autogen_agentchat.base import ChatAgent, Team

    from captain.casting import Cast
    from captain.journal import Run
    from captain.library import Library
    from captain.limits import Spending
    from captain.models import ModelCall, ModelRouter

T = TypeVar("T")


@dataclass
class _Tree:
    """The run that a solve belongs to: a Captain in another Captain's team shares its journal and its limits."""

    run: Run
    spending: Spending
    depth: int
    usages: list[Usage]


_current: ContextVar[_Tree | None] = ContextVar("captain_tree", default=None)


class Captain:
    """Turns a task into teams of experts and answers from their work.

    A Captain may solve many tasks, also at once. Its configuration never changes; what it keeps between tasks is its
    library and the teams that it has cast.

    Args:
        config: a checked configuration, a mapping laid over the default one, or None for the default.
        members: your own AutoGen agents and teams, offered for every role before the library is searched.
        library: a library to use instead of the configured one.
        notices: gets lines for people, such as which model was taken; by default they go to the log.
    """

    def __init__(
        self,
        config: CaptainConfig | Mapping[str, Any] | None = None,
        *,
        members: Sequence[ChatAgent | Team] = (),
        library: Library | None = None,
        notices: Callable[[str], None] | None = None,
    ) -> None:
        self._given = config
        self._members = tuple(members)
        self._seatable: tuple[ChatAgent, ...] | None = None
        self._library = library
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
        return _wait(self.solve_async(task, files=files, output_type=output_type, run=run))

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
        from captain.journal import Run
        from captain.limits import Spending

        if not task.strip():
            raise ConfigError("the task is empty; say what is to be solved")
        parent = _current.get()
        if parent is not None and parent.depth >= self.config.walk.max_depth:
            raise LimitExceeded(f"a Captain sits {parent.depth} deep; walk.max_depth={self.config.walk.max_depth}")
        own = run or (parent.run if parent else Run.create(self.config.runs_dir, self.config))
        spending = parent.spending if parent else Spending(self.config.limits)
        tree = _Tree(own, spending, parent.depth + 1 if parent else 1, [])
        token = _current.set(tree)
        try:
            result = await self._walk(task, files, output_type, tree, listener or (lambda event: None))
        except BaseException as error:
            if parent is None:
                interrupted = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
                status, reason = ("stopped", "interrupted") if interrupted else ("failed", str(error))
                own.finish({"status": status, "stop_reason": reason})
            raise
        finally:
            _current.reset(token)
        if parent is not None:
            parent.usages.append(result.usage)
        else:
            own.finish(result.to_dict())
        return result

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
        tree: _Tree,
        listener: Callable[[Event], None],
    ) -> Result:
        from captain.briefing import take_in
        from captain.casting import Casting
        from captain.execution import build_executor
        from captain.members import as_members
        from captain.reporting import Reporter
        from captain.subtask import Surroundings
        from captain.walk import Walk

        start = time.perf_counter()
        reporter = Reporter(tree.run, listener)
        reporter.event("started", task[:200], run_dir=str(tree.run.folder))
        brief = await asyncio.to_thread(take_in, task, files, tree.run.work)
        if self.config.team.mode != "single":
            # A mistake in a profile or a tool is told before the first call is paid.
            await asyncio.to_thread(lambda: (self.library.experts(), self.library.tools()))
        router = self._router(tree, reporter)
        executor = (
            build_executor(self.config.execution, folder=tree.run.work) if self.config.execution.enabled else None
        )
        if self._seatable is None:
            self._seatable = as_members(self._members)
        casting = Casting(self.config, self.library, router.client, router.spec, self._seatable, self._teams)
        around = Surroundings(
            config=self.config,
            brief=brief,
            casting=casting,
            executor=executor,
            workspace=tree.run.work,
            reporter=reporter,
            clients=router.client,
            specs=router.spec,
        )
        try:
            if executor is not None:
                await executor.start()
            result = await Walk(around, output_type).go()
        finally:
            if executor is not None:
                await executor.stop()
            await router.aclose()
        usage = _sum(router.usage(), tree.usages).model_copy(update={"seconds": time.perf_counter() - start})
        result = result.model_copy(update={"usage": usage, "run_dir": tree.run.folder})
        reporter.finished(result)
        return result

    def _router(self, tree: _Tree, reporter: Any) -> ModelRouter:
        from captain.models import ModelRouter

        def observe(call: ModelCall) -> None:
            tree.spending.add(call)
            reporter.model_call(call)

        def notice(line: str) -> None:
            reporter.event("model_selected", line)
            if self._notices is not None:
                self._notices(line)

        router = ModelRouter(self.config, observer=observe, guard=tree.spending.check, notices=notice)
        if self.config.limits.usd is not None:
            unpriced = sorted({router.spec(role).name for role in ROLES if router.spec(role).price is None})
            if unpriced:
                raise ConfigError(f"limits.usd needs a price: set model.price of {unpriced[0]!r} (prompt, completion)")
        return router


def _sum(usage: Usage, others: Sequence[Usage]) -> Usage:
    for other in others:
        roles = dict(usage.by_role)
        for name, one in other.by_role.items():
            roles[name] = roles[name].plus(one) if name in roles else one
        usage = Usage(**usage.plus(other).model_dump(exclude={"by_role"}), by_role=roles)
    return usage


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end: here, or in a thread of its own when a loop already runs in this one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    box: list[T | BaseException] = []

    def target() -> None:
        try:
            box.append(asyncio.run(work))
        except BaseException as error:
            box.append(error)

    # With the caller's context, so that a solve inside another one's team belongs to the same tree.
    thread = threading.Thread(target=copy_context().run, args=(target,), name="captain-solve")
    thread.start()
    thread.join()
    outcome = box[0]
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def solve(task: str, *, files: Sequence[str | Path] = (), output_type: type[Any] | None = None) -> Result:
    """Solves a task with the default configuration; see `Captain.solve`."""
    return Captain().solve(task, files=files, output_type=output_type)


__all__ = ["Captain", "CaptainError", "solve"]
