"""One task put to one solver: the solve, its cost, and whether the answer is right."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any

from captain.diagnosis import unknown_name
from captain.errors import ConfigError
from captain.results import Record, Result
from captain.scenario import Solver, named_object
from scenarios.sources import ScorerSpec, Task

_ANSWER_CHARS = 200
_ERROR_CHARS = 300
_GIVEN_BY_RUN = ("execution", "output")
DEFAULT_SCORER = ScorerSpec(path="exact")


class Attempt(Record):
    """How one solver did on one task."""

    right: bool
    answer: str = ""
    """The beginning of the final answer, on one line."""
    status: str = "failed"
    stop_reason: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Wall clock of the solve; scoring is not part of it."""
    run_dir: str | None = None
    """The folder of this solve: its journal holds the transcript."""
    error: str | None = None
    """What the solver or the scorer raised; such an attempt counts as wrong."""

    def row(self, *, with_text: bool = True) -> dict[str, Any]:
        """Give the attempt as JSON data, with the sum of tokens.

        Args:
            with_text: Whether texts that may repeat the task's are kept: answer, stop reason and error message.
        """
        data = {**self.model_dump(), "tokens": self.prompt_tokens + self.completion_tokens}
        if not with_text:
            error = None if self.error is None else self.error.partition(":")[0]
            data.update(answer=None, stop_reason=None, error=error)
        return data


async def attempt(solver: Solver, task: Task, text: str, *, output_type: type[Any] | None = None) -> Attempt:
    """Let a solver answer a task and judge the answer.

    Args:
        solver: The Captain or the assistant beside it.
        task: Files, the expected answer and the scorer.
        text: What the solver is asked: the question with the instruction.
        output_type: The type of the answer, if any.

    Raises:
        ConfigError: The solver cannot work with its settings; any other error is recorded in the attempt.
    """
    start = time.perf_counter()
    try:
        result = await solver.solve_async(text, files=task.files, output_type=output_type)
    except ConfigError:
        raise
    except Exception as error:  # one failed task must not lose the others; the row says what happened
        return Attempt(right=False, seconds=round(time.perf_counter() - start, 3), error=_described(error))
    seconds = round(time.perf_counter() - start, 3)
    right, problem = False, None
    try:
        right = await judge(task, result, solver)
    except ConfigError:
        raise
    except Exception as error:  # a scorer that trips over an odd answer: the row says so
        problem = f"scorer {_described(error)}"
    return Attempt(
        right=right,
        answer=" ".join(result.answer.split())[:_ANSWER_CHARS],
        status=result.status,
        stop_reason=result.stop_reason,
        calls=result.usage.calls,
        prompt_tokens=result.usage.prompt_tokens,
        completion_tokens=result.usage.completion_tokens,
        seconds=seconds,
        run_dir=None if result.run_dir is None else str(result.run_dir),
        error=problem,
    )


async def judge(task: Task, result: Result, solver: Solver) -> bool:
    """Tell whether a result answers its task, by the task's scorer. An empty answer is wrong."""
    if not result.answer.strip():
        return False
    spec = task.scorer or DEFAULT_SCORER
    function = scorer_function(spec)
    parameters = inspect.signature(function).parameters
    offered = {"execution": solver.config.execution, "output": result.output}
    options = {**{name: offered[name] for name in _GIVEN_BY_RUN if name in parameters}, **spec.options}
    if inspect.iscoroutinefunction(function):
        return bool(await function(result.answer, task.expected, **options))
    return bool(await asyncio.to_thread(function, result.answer, task.expected, **options))


def scorer_function(spec: ScorerSpec) -> Callable[..., Any]:
    """Import a scorer and check the names of its options.

    Raises:
        ConfigError: It cannot be imported, is no function, or does not take an option; the nearest name is offered.
    """
    function = named_object(spec.path, what="scorer")
    if not callable(function):
        raise ConfigError(f"scorer {spec.path!r} is no function (answer, expected, **options) -> bool")
    parameters: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    known = list(parameters)[2:]
    for option in spec.options:
        if option not in known and not takes_any:
            raise ConfigError(unknown_name(f"option of scorer {spec.path}", option, known))
    made: Callable[..., Any] = function
    return made


def _described(error: BaseException) -> str:
    first_line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first_line}"[:_ERROR_CHARS]
