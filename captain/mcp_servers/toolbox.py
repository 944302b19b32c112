"""The tools of a library's servers: listed once, kept as data, under names that are free."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from captain.config import StdioServer
from captain.errors import ToolError
from captain.mcp_servers.announced import LONGEST_NAME, Announced
from captain.mcp_servers.servers import McpServers, Server, reached
from captain.tools import Needs, ToolSpec

_logger = logging.getLogger(__name__)


class Toolbox:
    """What the servers of a configuration have to offer.

    Args:
        settings: Name -> how the server is reached.
    """

    def __init__(self, settings: Mapping[str, Server]) -> None:
        self.settings = dict(settings)
        self.faults: dict[str, str] = {}
        """Servers that could not be used when they were last tried, and why."""
        self._known: dict[str, tuple[Announced, ...]] = {}

    async def list(self) -> dict[str, Any]:
        """Asks the servers that were not yet heard for their tools, all at once; one that fails is left out.

        Returns:
            What is known of all servers, as JSON that `adopt` takes.
        """
        asked = {name: one for name, one in self.settings.items() if name not in self._known}
        if asked:
            async with reached(asked) as servers:
                await asyncio.gather(*(self._ask(servers, name) for name in asked))
        tools = {name: [tool.model_dump(mode="json") for tool in known] for name, known in self._known.items()}
        return {"tools": tools, "faults": dict(self.faults)}

    async def _ask(self, servers: McpServers, name: str) -> None:
        try:
            self._known[name] = await servers.server(name).announced()
            self.faults.pop(name, None)
        except ToolError as error:
            if name not in self.faults:
                _logger.warning("%s", error)
            self.faults[name] = str(error)

    def adopt(self, known: Mapping[str, Any]) -> None:
        """Takes what an earlier `list` gave instead of asking."""
        for name, tools in known["tools"].items():
            if name in self.settings:
                self._known[name] = tuple(Announced.model_validate(tool) for tool in tools)
        self.faults.update(known["faults"])

    def tools(self, taken: Collection[str]) -> dict[str, ToolSpec]:
        """The tools by name: their own where it is unique, else `mcp_SERVER_TOOL`.

        Args:
            taken: Names of other tools, which no server can take.
        """
        from captain.mcp_servers.specs import ServerFunction, ServerToolSpec

        often = Counter(tool.name for known in self._known.values() for tool in known)
        found: dict[str, ToolSpec] = {}
        for server in self.settings:
            for tool in self._known.get(server, ()):
                unique = often[tool.name] == 1 and tool.name not in taken
                name = _free(tool.name if unique else f"mcp_{server}_{tool.name}", {*taken, *found})
                found[name] = ServerToolSpec(
                    name=name,
                    description=tool.description,
                    category=server,
                    function=ServerFunction(server, self.settings[server], tool.tool),
                    parameters=tool.parameters(),
                    needs=self._needs(self.settings[server], tool),
                    announced=tool,
                )
        return found

    def _needs(self, settings: Server, tool: Announced) -> Needs:
        changes = settings.side_effects if settings.side_effects is not None else not tool.read_only
        return Needs(network=not isinstance(settings, StdioServer), side_effects=changes, untrusted=True)


def _free(name: str, taken: Collection[str]) -> str:
    free, number = name[:LONGEST_NAME], 2
    while free in taken:
        free, number = f"{name[: LONGEST_NAME - 4]}_{number}", number + 1
    return free
