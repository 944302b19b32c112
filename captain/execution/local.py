"""The local backend: programs as processes of this machine."""

from __future__ import annotations

import shutil
import sys
import uuid
from pathlib import Path

from captain.config import ExecutionConfig
from captain.execution.blocks import BlockExecutor
from captain.execution.messages import Program
from captain.execution.processes import Bounds, Finished, kill_everything, run_process
from captain.execution.programs import Language
from captain.execution.surroundings import program_environment


class LocalExecutor(BlockExecutor):
    """Runs Python and shell blocks as processes in one folder, with this process's interpreter.

    AutoGen's `LocalCommandLineCodeExecutor` does the same job and lacks what unattended runs need: it hands its whole
    environment (with keys) to the program, terminates only the direct child at a time-out, holds all output in memory,
    names files by their content (equal blocks at once collide) or as the model says, and leaves standard input open.

    Programs are bounded, not confined: they run as this user and can read and write files outside the folder. Use the
    Docker backend for code that is not trusted. A daemon that also clears its environment escapes the sweep.
    """

    def __init__(self, config: ExecutionConfig, *, folder: Path) -> None:
        """Bind the executor to a folder, which is made when absent.

        Args:
            config: Time limit and cap on the output.
            folder: The working folder and home of all programs.
        """
        super().__init__(config, folder=folder)
        self._running: set[str] = set()

    async def start(self) -> None:
        """Nothing to prepare; the executor works without it too."""

    async def stop(self) -> None:
        """Kill the programs that still run and remove temporary files. The programs' own files stay."""
        for marker in self._running:
            kill_everything(marker)
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)

    async def _run(self, program: Program, language: Language) -> Finished:
        marker = uuid.uuid4().hex
        environment = program_environment(self.folder, marker)
        (self.folder / "tmp").mkdir(exist_ok=True)
        bounds = Bounds(seconds=self._config.timeout, characters=self._config.max_output_chars)
        self._running.add(marker)
        try:
            return await run_process(
                [*_interpreter(language), str(program.path)],
                folder=self.folder,
                environment=environment,
                bounds=bounds,
            )
        finally:
            self._running.discard(marker)


def _interpreter(language: Language) -> list[str]:
    if language == "python":
        return [sys.executable, "-u"]
    return [shutil.which("bash") or shutil.which("sh") or "sh"]
