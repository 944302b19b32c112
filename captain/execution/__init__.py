"""Runs the code that members write: a code executor of AutoGen's kind, local or in a container, chosen by the settings.

Importing this package is cheap; AutoGen is imported when an executor is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from captain.config import ExecutionConfig
from captain.execution.programs import show_last_expression

if TYPE_CHECKING:
    from autogen_core.code_executor import CodeExecutor

__all__ = ["build_executor", "show_last_expression"]


def build_executor(config: ExecutionConfig, *, folder: Path) -> CodeExecutor:
    """Build the executor that the settings ask for.

    Args:
        config: Backend, time limit in seconds and cap on the output in characters.
        folder: The folder in which programs run; it is made when absent and should belong to one run.

    Returns:
        An executor whose results have exit_code, output and code_file.

    Raises:
        ConfigError: The Docker backend is chosen and its extra is not installed.
    """
    if config.backend == "docker":
        from captain.execution.container import ContainerExecutor

        return ContainerExecutor(config, folder=folder)
    from captain.execution.local import LocalExecutor

    return LocalExecutor(config, folder=folder)
