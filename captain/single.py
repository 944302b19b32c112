"""The simplest rival, for comparison: one AutoGen assistant with the executor and a few repairs, no Captain."""

from __future__ import annotations

from dataclasses import dataclass

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeExecutor
from autogen_core.models import ChatCompletionClient

from captain.briefing import Brief
from captain.chat import EXECUTOR, USER
from captain.decide.reading import read_code_blocks, read_final_answer
from captain.seating import team_rules


@dataclass(frozen=True)
class SingleAssistant:
    """Answers a task alone, told the same rules as members are; programs that fail may be repaired `repairs` times."""

    client: ChatCompletionClient
    executor: CodeExecutor | None
    repairs: int

    async def answer(self, brief: Brief) -> str:
        """Gives the final answer: what follows its marker, the last program for a code task, or the last words."""
        rules = team_rules("code" if brief.entry_point else "compute", runs_code=self.executor is not None)
        assistant = AssistantAgent("assistant", self.client, system_message=rules)
        files = f"\n\nFiles in the current folder: {', '.join(brief.names)}" if brief.names else ""
        message, source, code, text = f"{brief.task}{files}", USER, "", ""
        failures = 0
        for _ in range(self.repairs + 3):
            response = await assistant.on_messages([TextMessage(content=message, source=source)], CancellationToken())
            text = response.chat_message.to_text()
            blocks = read_code_blocks(text)
            if not blocks or self.executor is None:
                break
            code = "\n\n".join(block.code for block in blocks if block.language == "python") or code
            result = await self.executor.execute_code_blocks(blocks, CancellationToken())
            failures += result.exit_code != 0
            message, source = f"exit code {result.exit_code}\n{result.output}", EXECUTOR
            printed = read_final_answer(result.output)
            if result.exit_code == 0 and printed is not None and brief.entry_point is None:
                return printed
            if failures > self.repairs:
                break
            if brief.entry_point is not None and result.exit_code == 0:
                break
        if brief.entry_point is not None and code:
            return code
        return read_final_answer(text) or text.strip()
