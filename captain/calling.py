"""An AutoGen assistant whose tool calls always come to a result, whatever a model asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import FunctionExecutionResult
from autogen_core.tools import BaseTool, Workbench

Called = tuple[FunctionCall, FunctionExecutionResult]


class CallingAssistant(AssistantAgent):
    """An assistant that tells its model what was wrong with a call.

    AutoGen waits for ever when a call raises or is cancelled, and what it says of a call that it cannot make helps no
    model; the method that makes one call is the only place to mend both.
    """

    @staticmethod
    async def _execute_tool_call(
        tool_call: FunctionCall,
        workbench: Sequence[Workbench],
        handoff_tools: list[BaseTool[Any, Any]],
        agent_name: str,
        cancellation_token: CancellationToken,
        stream: asyncio.Queue[BaseAgentEvent | BaseChatMessage | None],
    ) -> Called:
        try:
            fault = await _fault_in(tool_call, workbench)
            if fault:
                return _failed(tool_call, fault)
            return await AssistantAgent._execute_tool_call(
                tool_call, workbench, handoff_tools, agent_name, cancellation_token, stream
            )
        except asyncio.CancelledError:
            if not cancellation_token.is_cancelled():
                raise
            return _failed(tool_call, "the run was cancelled")
        except Exception as error:  # raised here it would never reach anybody
            return _failed(tool_call, f"{type(error).__name__}: {error}")


async def _fault_in(call: FunctionCall, workbench: Sequence[Workbench]) -> str:
    """Why a call cannot be made, for the model; empty when it can."""
    names = [tool["name"] for bench in workbench for tool in await bench.list_tools()]
    if call.name not in names:
        there = f"the tools are: {', '.join(names)}" if names else "there are no tools"
        return f"there is no tool {call.name[:100]!r}; {there}"
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError) as error:
        return f"the arguments are not valid JSON ({error}); give one JSON object of named arguments"
    if not isinstance(arguments, dict):
        return f"the arguments are a JSON {type(arguments).__name__}; give one JSON object of named arguments"
    return ""


def _failed(call: FunctionCall, reason: str) -> Called:
    content = f"Error: {reason}"[:1000]
    return call, FunctionExecutionResult(content=content, call_id=call.id, is_error=True, name=call.name)
