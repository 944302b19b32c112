"""The local backend: programs as processes of this machine, held in by the isolation that is to be had."""

from __future__ import annotations

import asyncio
import shutil
import sys
import uuid
from pathlib import Path

from captain.config import ExecutionConfig, SandboxConfig
from captain.execution.blocks import BlockExecutor
from captain.execution.cell import Cell, unprivileged_user
from captain.execution.holding import Holding
from captain.execution.isolation import isolate
from captain.execution.messages import Program
from captain.execution.processes import Bounds, Finished, kill_everything, run_process
from captain.execution.programs import Language
from captain.execution.surroundings import program_environment
from captain.execution.view import look


class LocalExecutor(BlockExecutor):
    """Runs Python and shell blocks as processes in one folder, with this process's interpreter.

    AutoGen's `LocalCommandLineCodeExecutor` does the same job and lacks what unattended runs need: it hands its whole
    environment (with keys) to the program, terminates only the direct child at a time-out, holds all output in memory,
    names files by their content (equal blocks at once collide) or as the model says, leaves standard input open, and
    does not keep programs from other files, the network or the machine's memory.

    As root, programs run as a user that has nothing but this folder, which belongs to that user until `stop`.
    """

    def __init__(self, config: ExecutionConfig, sandbox: SandboxConfig, *, folder: Path) -> None:
        """Bind the executor to a folder, which is made when absent.

        Args:
            config: Time limit and cap on the output.
            sandbox: What holds programs in.
            folder: The working folder and home of all programs.

        Raises:
            ConfigError: The isolation that is asked for does not work here, or a path of `sandbox.read` is absent.
        """
        super().__init__(config, folder=folder)
        self._running: set[str] = set()
        self.isolation = isolate(sandbox, self.folder)
        uid = None if self.isolation.kind == "none" else unprivileged_user(self.folder)
        view = look(self.folder, read=sandbox.read, network=sandbox.network)
        self._cell = Cell(self.isolation.kind, view, uid, sandbox, config.timeout)
        self._holding = Holding(self.folder, uid)

    async def start(self) -> None:
        """Nothing to prepare; the executor works without it too."""

    async def stop(self) -> None:
        """Kill the programs that still run and remove temporary files. The programs' own files stay."""
        for marker in self._running:
            kill_everything(marker)
        if self._cell.kind == "user" and self._cell.uid is not None:
            await _end_user(self._cell.uid)
        await asyncio.to_thread(self._holding.take_back)

    async def _run(self, program: Program, language: Language) -> Finished:
        marker = uuid.uuid4().hex
        held = await asyncio.to_thread(self._holding.lend)
        limits = self._cell.settings
        bounds = Bounds(
            seconds=self._config.timeout,
            characters=self._config.max_output_chars,
            memory=limits.memory_mb * 2**20,
            disk=held + limits.disk_mb * 2**20,
        )
        self._running.add(marker)
        try:
            return await run_process(
                self._cell.wrap([*_interpreter(language), str(program.path)]),
                folder=self.folder,
                environment=program_environment(self.folder, marker),
                bounds=bounds,
            )
        finally:
            self._running.discard(marker)

    def _make_ready(self) -> None:
        self._holding.open_up()


async def _end_user(uid: int) -> None:
    """Kill all processes of a user at once, so that none of them can start another in between."""
    command = [sys.executable, "-I", "-S", "-c", "import os; os.kill(-1, 9)"]
    process = await asyncio.create_subprocess_exec(*command, user=uid, group=uid, extra_groups=[])
    await process.wait()


def _interpreter(language: Language) -> list[str]:
    if language == "python":
        return [sys.executable, "-u"]
    return [shutil.which("bash") or shutil.which("sh") or "sh"]
