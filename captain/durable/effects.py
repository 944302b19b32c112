"""What touches the outside, done once: programs and tool calls whose outcome is on record are not repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult
from autogen_core.tools import BaseTool

from captain.durable.reading import on_record
from captain.durable.recording import Recording, UnknownOutcome
from captain.durable.wrapped import WrappedTool
from captain.errors import ToolError
from captain.tools import keyed


class RecordedTool(WrappedTool):
    """A tool whose calls are recorded by their arguments; a recorded call gives its recorded result."""

    component_provider_override = "captain.durable.effects.RecordedTool"

    def __init__(self, tool: BaseTool[Any, Any], recording: Recording, *, repeatable: bool) -> None:
        """
        Args:
            tool: The tool.
            recording: The record of the run.
            repeatable: A call that was interrupted may be made again, with the same idempotency key.
        """
        super().__init__(tool)
        self._recording = recording
        self._repeatable = repeatable

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:
        """Makes the call, or takes its result from the record.

        Raises:
            ToolError: The call failed, now or on record, or nobody knows whether it took effect.
        """

        async def work(key: str) -> str:
            with keyed(key):
                value = await self._tool.run_json(args, cancellation_token, call_id)
                return self._tool.return_value_as_string(value)

        try:
            return await self._recording.step(
                "tool", {"tool": self.name, "arguments": args}, work, repeatable=self._repeatable
            )
        except UnknownOutcome as error:
            raise ToolError(str(error)) from error

    def return_value_as_string(self, value: Any) -> str:
        """The result is text already."""
        return str(value)


class RecordedExecutor(CodeExecutor):
    """An executor whose programs are recorded; a recorded program gives its recorded output.

    Args:
        executor: Runs programs; None in a replay, where nothing runs.
        recording: The record of the run.
        repeatable: A program that was interrupted may be run again (it cannot reach beyond the run's folder).
    """

    def __init__(self, executor: CodeExecutor | None, recording: Recording, *, repeatable: bool) -> None:
        self._executor = executor
        self._recording = recording
        self._repeatable = repeatable

    async def execute_code_blocks(
        self, code_blocks: Sequence[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        """Runs the blocks, or takes what they printed from the record."""

        async def work(_: str) -> dict[str, Any]:
            assert self._executor is not None
            result = await self._executor.execute_code_blocks(list(code_blocks), cancellation_token)
            return {"exit_code": result.exit_code, "output": result.output}

        request = {"blocks": [[block.language, block.code] for block in code_blocks]}
        try:
            value = await self._recording.step("program", request, work, repeatable=self._repeatable)
        except UnknownOutcome as error:
            return CodeResult(exit_code=1, output=str(error))
        with on_record("program"):
            return CodeResult(exit_code=int(value["exit_code"]), output=str(value["output"]))

    async def start(self) -> None:
        """Prepares the executor."""
        if self._executor is not None:
            await self._executor.start()

    async def stop(self) -> None:
        """Stops what runs."""
        if self._executor is not None:
            await self._executor.stop()

    async def restart(self) -> None:
        """Stops what runs and is ready again."""
        if self._executor is not None:
            await self._executor.restart()
