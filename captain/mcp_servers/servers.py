"""The servers of one run: started when first needed, restarted once when they die, ended with the run."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.config import HttpServer, StdioServer
from captain.errors import ToolError
from captain.mcp_servers.announced import Announced, plain_text, read_tool

if TYPE_CHECKING:
    from mcp.types import CallToolResult

    from captain.mcp_servers.connection import Connection

Server = StdioServer | HttpServer

MOST_TOOLS = 200
_MOST_STARTS = 2
_SECONDS_TO_REACT = 5.0
_LONGEST_RESULT = 100_000
_LONGEST_ERROR = 1000


class RunningServer:
    """One server of a run; safe for concurrent calls of one event loop."""

    def __init__(self, name: str, settings: Server, log: Path) -> None:
        self._name = name
        self._settings = settings
        self._log = log
        self._connection: Connection | None = None
        self._tools: tuple[Announced, ...] = ()
        self._starting = asyncio.Lock()
        self._starts = 0
        self._doubtful = False

    async def announced(self) -> tuple[Announced, ...]:
        """What the server says about its tools; starts it.

        Raises:
            ToolError: It cannot be reached.
        """
        await self._connected()
        return self._tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Calls a tool and gives its result as text.

        Raises:
            ToolError: Whatever went wrong, in words for the model that called.
        """
        from captain.mcp_servers.connection import ServerLost

        connection = await self._connected()
        try:
            async with asyncio.timeout(self._settings.timeout):
                return _text_of(await connection.invoke(tool, arguments))
        except TimeoutError:
            self._doubtful = True
            raise ToolError(f"{self._named} gave no answer within {self._settings.timeout:g} s") from None
        except ServerLost as lost:
            await self._drop(connection)
            raise ToolError(f"{self._named} was lost during the call: {lost}; what it did is unknown") from lost
        except ToolError:
            raise
        except Exception as error:  # a server can make the libraries that read its replies raise anything
            text = plain_text(str(error), _LONGEST_ERROR, lines=False) or type(error).__name__
            raise ToolError(f"{self._named} gave no usable result: {text}") from error

    async def close(self) -> None:
        """Ends the server."""
        if self._connection is not None:
            await self._drop(self._connection)

    @property
    def _named(self) -> str:
        return f"the MCP server {self._name!r}"

    async def _connected(self) -> Connection:
        async with self._starting:
            connection = self._connection
            if connection is not None and self._doubtful:
                self._doubtful = False
                if not await connection.answers(_SECONDS_TO_REACT):
                    await self._drop(connection)
            if self._connection is None:
                await self._start()
            assert self._connection is not None
            return self._connection

    async def _start(self) -> None:
        try:
            from captain.mcp_servers.connection import Connection, ServerLost
        except ImportError as error:
            raise ToolError(f"{self._named} needs the extra: pip install 'captain-agents[mcp]'") from error
        if self._starts >= _MOST_STARTS:
            raise ToolError(f"{self._named} was started {self._starts} times in this run; it is not started again")
        self._starts += 1
        connection = Connection(self._settings, self._log)
        try:
            raw = await connection.open()
            # Checked by libraries that a schema can keep busy for a while.
            self._tools = await asyncio.to_thread(lambda: tuple(read_tool(tool) for tool in raw[:MOST_TOOLS]))
        except ServerLost as lost:
            await connection.close()
            raise ToolError(f"{self._named} cannot be used: {lost}") from lost
        except BaseException:
            await connection.close()
            raise
        self._connection = connection

    async def _drop(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
        await connection.close()


class McpServers:
    """The servers of one run.

    Args:
        settings: Name -> how it is reached.
    """

    def __init__(self, settings: Mapping[str, Server]) -> None:
        self.settings = dict(settings)
        self._servers: dict[str, RunningServer] = {}
        self._logs: Path | None = None

    def server(self, name: str) -> RunningServer:
        """The server of a name; it need not run yet."""
        if name not in self._servers:
            if self._logs is None:
                self._logs = Path(tempfile.mkdtemp(prefix="captain-mcp-"))
            self._servers[name] = RunningServer(name, self.settings[name], self._logs / f"{name}.log")
        return self._servers[name]

    async def close(self) -> None:
        """Ends all servers."""
        try:
            await asyncio.gather(*(server.close() for server in self._servers.values()), return_exceptions=True)
        finally:
            self._servers.clear()
            if self._logs is not None:
                shutil.rmtree(self._logs, ignore_errors=True)
                self._logs = None


_running: ContextVar[McpServers | None] = ContextVar("captain_mcp_servers", default=None)


@asynccontextmanager
async def serving(settings: Mapping[str, Server]) -> AsyncIterator[McpServers]:
    """Lets servers run, from the moment they are needed, as long as the block does."""
    servers = McpServers(settings)
    token = _running.set(servers)
    try:
        yield servers
    finally:
        _running.reset(token)
        await servers.close()


@asynccontextmanager
async def reached(settings: Mapping[str, Server]) -> AsyncIterator[McpServers]:
    """The servers of the run that this is part of; outside of a run some that end with the block."""
    running = _running.get()
    if running is not None and all(running.settings.get(name) == one for name, one in settings.items()):
        yield running
        return
    async with serving(settings) as servers:
        yield servers


def _text_of(result: CallToolResult) -> str:
    """A result as text.

    Raises:
        ToolError: The server says that the call failed.
    """
    from mcp.types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

    parts: list[str] = []
    for content in result.content:
        if isinstance(content, TextContent):
            parts.append(content.text)
        elif isinstance(content, EmbeddedResource) and isinstance(content.resource, TextResourceContents):
            parts.append(content.resource.text)
        elif isinstance(content, ResourceLink):
            parts.append(str(content.uri))
        else:
            parts.append(f"[{content.type} left out: only text can be shown]")
    if not parts and result.structuredContent is not None:
        parts.append(json.dumps(result.structuredContent, ensure_ascii=False))
    text = plain_text("\n".join(parts), _LONGEST_RESULT, lines=True)
    if result.isError:
        raise ToolError(text[:_LONGEST_ERROR] or "the call failed, the server does not say why")
    return text or "(no text was returned)"
