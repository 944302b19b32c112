"""A tool around a tool: it looks the same to models, and does more when it is called."""

from __future__ import annotations

from typing import Any

from autogen_core import CancellationToken
from autogen_core.tools import BaseTool, ToolSchema
from pydantic import BaseModel


class WrappedTool(BaseTool[BaseModel, Any]):
    """Shows name, schema and results of the inner tool; subclasses say in `run_json` what a call does."""

    def __init__(self, tool: BaseTool[Any, Any]) -> None:
        self._tool = tool
        super().__init__(tool.args_type(), tool.return_type(), tool.name, tool.description)

    @property
    def schema(self) -> ToolSchema:
        """The schema of the inner tool."""
        return self._tool.schema

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Any:
        """As `run_json`, with checked arguments."""
        return await self.run_json(args.model_dump(exclude_unset=True), cancellation_token)

    def return_value_as_string(self, value: Any) -> str:
        """The result as text for the chat."""
        return self._tool.return_value_as_string(value)
