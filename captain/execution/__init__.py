"""Runs the code that members write: a code executor of AutoGen's kind, local or in a container, chosen by the settings.

Importing this package is cheap; AutoGen is imported when an executor is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from captain.config import CaptainConfig, ExecutionConfig, SandboxConfig
from captain.execution.programs import show_last_expression

if TYPE_CHECKING:
    from captain.execution.container import ContainerExecutor
    from captain.execution.local import LocalExecutor

__all__ = ["build_executor", "running_as", "settings_in_use", "show_last_expression"]

_settings: ContextVar[tuple[ExecutionConfig, SandboxConfig] | None] = ContextVar("captain_execution", default=None)


@contextmanager
def running_as(config: CaptainConfig) -> Iterator[None]:
    """Says how tools run programs as long as the block runs, and in all that it starts."""
    token = _settings.set((config.execution, config.sandbox))
    try:
        yield
    finally:
        _settings.reset(token)


def settings_in_use() -> tuple[ExecutionConfig, SandboxConfig]:
    """How a tool has to run programs: as the Captain that it works for does, or by the defaults without one."""
    return _settings.get() or (ExecutionConfig(), SandboxConfig())


def build_executor(
    config: ExecutionConfig, *, folder: Path, sandbox: SandboxConfig | None = None
) -> LocalExecutor | ContainerExecutor:
    """Build the executor that the settings ask for.

    The first call in a process tries for up to a few seconds which isolation works here.

    Args:
        config: Backend, time limit in seconds and cap on the output in characters.
        folder: The folder in which programs run; it is made when absent and should belong to one run.
        sandbox: What holds programs in; the defaults when absent.

    Returns:
        An executor whose results have exit_code, output and code_file. Its `isolation` says what holds programs in,
        and has a `notice` for people when that is weak.

    Raises:
        ConfigError: The Docker backend is chosen and its extra is not installed, or the isolation that is asked for
            or required is not to be had.
    """
    sandbox = sandbox or SandboxConfig()
    if config.backend == "docker":
        from captain.execution.container import ContainerExecutor

        return ContainerExecutor(config, sandbox, folder=folder)
    from captain.execution.local import LocalExecutor

    return LocalExecutor(config, sandbox, folder=folder)
