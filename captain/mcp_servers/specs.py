"""A server's tool as the library and members see it: like a tool that is a Python function."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autogen_core import CancellationToken
from autogen_core.tools import BaseTool, ParametersSchema, ToolSchema
from pydantic import BaseModel, ConfigDict

from captain.errors import ToolError
from captain.library.arguments import read_arguments
from captain.library.rendering import cap_and_keep
from captain.mcp_servers.announced import Announced
from captain.mcp_servers.servers import Server, reached
from captain.tools import ToolSpec


@dataclass(frozen=True)
class ServerFunction:
    """Calls a tool of a server, which is started when it does not run."""

    server: str
    settings: Server
    tool: str

    async def __call__(self, **arguments: Any) -> str:
        """The result as text.

        Raises:
            ToolError: Whatever went wrong.
        """
        async with reached({self.server: self.settings}) as servers:
            return await servers.server(self.server).call(self.tool, arguments)


@dataclass(frozen=True)
class ServerToolSpec(ToolSpec):
    """What is known about a tool of a server."""

    announced: Announced | None = None

    def missing(self) -> list[str]:
        """Why the tool is not offered: what its server says about it cannot be used."""
        fault = self.announced.fault if self.announced is not None else ""
        return [*super().missing(), *([fault] if fault else [])]

    def bind(self, workspace: Path, *, timeout: float | None = None, max_chars: int = 6000) -> BaseTool[BaseModel, Any]:
        """The tool as AutoGen calls it.

        Args:
            workspace: Where the whole of a long result is kept; the server has a folder of its own.
            timeout: Not used: a server's own time-out counts.
            max_chars: Longest result in characters.
        """
        return BoundServerTool(self, workspace=workspace, max_chars=max_chars)


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="allow")


class BoundServerTool(BaseTool[BaseModel, Any]):
    """A tool of a server in the hands of a member."""

    component_provider_override = "captain.mcp_servers.specs.BoundServerTool"

    def __init__(self, spec: ServerToolSpec, *, workspace: Path, max_chars: int) -> None:
        self.spec = spec
        self._workspace = workspace
        self._max_chars = max_chars
        super().__init__(_Arguments, str, spec.name, spec.description)

    @property
    def schema(self) -> ToolSchema:
        """The schema that models see: the server's own, cleaned."""
        announced = self.spec.announced
        parameters: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
        if announced is not None:
            parameters |= {"properties": announced.properties, "required": list(announced.required)}
            parameters |= announced.definitions
        known: ParametersSchema = parameters  # type: ignore[assignment]  # it may hold `$defs` beside its own keys
        return ToolSchema(name=self.name, description=self.description, parameters=known)

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> str:
        """Calls the tool with a model's arguments.

        Raises:
            ToolError: Wrong arguments, an error of the tool or of its server; the message is for the model.
        """
        if not isinstance(args, Mapping):
            raise ToolError(f"tool {self.name!r} takes a JSON object of named arguments, not {args!r}")
        call = asyncio.ensure_future(self.spec.function(**read_arguments(self.spec.parameters, args)))
        cancellation_token.link_future(call)
        return str(await call)

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> str:
        """As `run_json`, with arguments in a model."""
        return await self.run_json(args.model_dump(exclude_unset=True), cancellation_token)

    def return_value_as_string(self, value: Any) -> str:
        """The result, cut to the allowed length; the whole is then a file of the workspace."""
        return cap_and_keep(str(value), self._max_chars, folder=self._workspace, tool=self.name)
