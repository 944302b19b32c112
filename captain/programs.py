"""The participant that runs programs: it speaks only when a member has just written one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor

from captain.chat import EXECUTOR, programs_in, text_of
from captain.decide.reading import read_final_answer
from captain.examples import ExampleHarness, ExampleRun
from captain.wanted import Wanted


class ProgramRunner(BaseChatAgent):
    """Runs the program of the last message on an AutoGen executor and reports what it printed.

    AutoGen's own `CodeExecutorAgent` runs each block of each message it has not seen, so a block that stands in the
    task would be run too; it neither says how a program ended nor can it run a task's examples.

    Args:
        executor: where programs run.
        wanted: the form of the answer.
        columns: the columns of the tables that came with the task.
        shown: gives what a program printed (text, source) as members see it; it may be others' words.
        after_reading: called when a program was run, which may have read files.
        harness: the task's examples, run after each program that could define what they call.
    """

    def __init__(
        self,
        executor: CodeExecutor,
        *,
        wanted: Wanted,
        columns: Sequence[str] = (),
        shown: Callable[[str, str], str] = lambda text, source: text,
        after_reading: Callable[[], None] = lambda: None,
        harness: ExampleHarness | None = None,
    ) -> None:
        super().__init__(EXECUTOR, "Runs the programs that members write.")
        self._executor = executor
        self._wanted = wanted
        self._columns = tuple(columns)
        self._shown = shown
        self._after_reading = after_reading
        self._harness = harness

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Always plain text."""
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Runs the program of the last message."""
        text, author = text_of(messages[-1]), messages[-1].source
        blocks = programs_in(text)
        code = "\n\n".join(block.code for block in blocks if block.language == "python")
        mark = ""
        if self._harness and code:
            extended, mark = self._harness.extend(code)
            blocks = [CodeBlock(code=extended, language="python")]
        result = await self._executor.execute_code_blocks(blocks, cancellation_token)
        self._after_reading()
        output, examples = result.output, None
        if self._harness and mark:
            output, examples = self._harness.read(output, mark)
        meta = {"author": author, "exit_code": str(result.exit_code), "code": code, "output": output}
        if examples:
            meta |= {"examples_held": str(examples.held), "examples_total": str(examples.total)}
            meta["examples_failed"] = "; ".join(examples.failures[:3])
        promised = read_final_answer(text)
        if promised:
            meta["promised"] = promised
        remark = self._remark(output, ok=result.exit_code == 0, examples=examples)
        if remark and result.exit_code == 0 and not (examples and not examples.passed):
            meta["short"] = "yes"
        report = self._report(output, result.exit_code, examples) + remark
        return Response(chat_message=TextMessage(content=report, source=EXECUTOR, metadata=meta))

    def _remark(self, output: str, *, ok: bool, examples: ExampleRun | None) -> str:
        if not ok:
            return self._shown(_column_hint(output, self._columns), "the table")
        if examples is not None:
            return ""
        answer = self._wanted.find(output) or read_final_answer(output)
        lacking = self._wanted.lacking(self._wanted.shape(answer)) if answer is not None else ()
        if lacking:
            fields = ", ".join(f"@{name}[...]" for name in lacking)
            return f"\nThe FINAL ANSWER line must contain {fields} with the values in the brackets."
        if not output.strip() and not self._wanted.is_program:
            return "\nPrint the result."
        return ""

    def _report(self, output: str, exit_code: int, examples: ExampleRun | None) -> str:
        body = self._shown(output.strip(), "the program") or "(nothing was printed)"
        if exit_code != 0:
            return f"The program failed (exit code {exit_code}). Correct it and give the whole program again.\n{body}"
        if examples is None:
            return f"The program printed:\n{body}"
        if examples.passed:
            return f"All {examples.total} examples of the task hold."
        failed = self._shown("\n".join(examples.failures[:3]), "the program")
        return f"{examples.held} of {examples.total} examples of the task hold. Correct the program.\n{failed}"

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Nothing is kept between runs."""

    async def save_state(self) -> dict[str, Any]:
        """Nothing is kept between runs."""
        return {}


def _column_hint(output: str, columns: Sequence[str]) -> str:
    """Names the column that a program probably meant when it asked for one that is not there."""
    missing = re.findall(r"KeyError: [\"'](.+?)[\"']\s*$", output, re.MULTILINE)
    if not missing or missing[-1] in columns:
        return ""
    plain = {column.strip().casefold(): column for column in columns}
    near = difflib.get_close_matches(missing[-1].strip().casefold(), plain, n=1, cutoff=0.6)
    return f"\nThe column is called {plain[near[0]]!r}, spaces included." if near else ""
