"""What both backends share: from the code blocks of a message to one result."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult

from captain.config import ExecutionConfig
from captain.execution.messages import Program, describe, exit_code
from captain.execution.processes import Finished, cut_middle
from captain.execution.programs import Language, language_of, prepare

_SUFFIX: dict[Language, str] = {"python": ".py", "shell": ".sh"}


@dataclass
class ProgramResult(CodeResult):
    """How the blocks of one message ended.

    It has the fields of AutoGen's `CommandLineCodeResult`, which is not used because its package cannot be imported
    where `docker` is installed without the rest of the extra.
    """

    code_file: str | None
    """The file of the first block; None when no block ran."""


class BlockExecutor(CodeExecutor):
    """Runs the blocks of a message in order and stops at the first that fails.

    Each block becomes a UTF-8 file under a name of ours (`program_1.py`, `program_2.sh`, …; a `# filename:` line in the
    block is a comment like any other), so blocks, messages and executors that share a folder do not collide. Python
    blocks print the value that they end with (`show_last_expression`).
    """

    def __init__(self, config: ExecutionConfig, *, folder: Path) -> None:
        """Bind the executor to a folder, which is made when absent.

        Args:
            config: Time limit and cap on the output.
            folder: The working folder of all programs.
        """
        self._config = config
        self._folder = folder.resolve()
        self._folder.mkdir(parents=True, exist_ok=True)

    @property
    def folder(self) -> Path:
        """The folder in which programs run, as an absolute path."""
        return self._folder

    async def execute_code_blocks(
        self, code_blocks: Sequence[CodeBlock], cancellation_token: CancellationToken
    ) -> ProgramResult:
        """Run the blocks one after the other.

        Args:
            code_blocks: Python and shell blocks; another language is answered with a failed result.
            cancellation_token: Cancelling it kills what runs.

        Returns:
            Output for a member to read, the exit code of the last block that ran (124 after a time-out, 125 after far
            too much output), and the path of the first block's file.

        Raises:
            asyncio.CancelledError: The token or the calling task was cancelled; nothing is left running.
        """
        task = asyncio.create_task(self._run_blocks(code_blocks))
        cancellation_token.link_future(task)
        return await task

    async def _run_blocks(self, blocks: Sequence[CodeBlock]) -> ProgramResult:
        outputs: list[str] = []
        first_file: str | None = None
        code = 0 if blocks else 1
        for block in blocks:
            language = language_of(block.language, block.code)
            if language is None:
                outputs.append(f"The language {block.language!r} cannot be run here. Write Python or a shell script.")
                code = 1
                break
            self._make_ready()
            program = write_program(self._folder, prepare(block.code, language), language, written=block.code)
            first_file = first_file or str(program.path)
            finished = await self._run(program, language)
            code = exit_code(finished.ending, finished.exit_code)
            limit = self._config.max_output_chars
            outputs.append(describe(finished, program, seconds=self._config.timeout, characters=limit))
            if code:
                break
        output = "\n".join(outputs) if blocks else "There was no code to run."
        # a note at the end of the last block may exceed the cap a little and must not be what is cut
        return ProgramResult(code, cut_middle(output, self._config.max_output_chars + 400), first_file)

    def _make_ready(self) -> None:
        """See to it that the next program can be written to the folder."""

    @abstractmethod
    async def _run(self, program: Program, language: Language) -> Finished:
        """Run one file to its end, within time and output limits."""

    async def restart(self) -> None:
        """Stop what runs and be ready again."""
        await self.stop()
        await self.start()


def write_program(folder: Path, code: str, language: Language, *, written: str) -> Program:
    """Write a program to the first free name of ours in the folder.

    Args:
        folder: Where to write.
        code: The text that is run.
        language: Decides the ending of the name.
        written: The text as the member wrote it, for error messages.
    """
    suffix = _SUFFIX[language]
    number = 1 + sum(1 for _ in folder.glob("program_*"))
    while True:
        path = folder / f"program_{number}{suffix}"
        try:
            with path.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
                file.write(code)
        except FileExistsError:
            number += 1
            continue
        return Program(path, f"program{suffix}", written.replace("\r\n", "\n"))
