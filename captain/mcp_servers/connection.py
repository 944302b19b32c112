"""One started server, through AutoGen's workbench, which keeps the session in a task of its own."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from autogen_ext.tools.mcp import (
    McpServerParams,
    McpSessionActor,
    McpWorkbench,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)
from mcp import McpError
from mcp.types import CONNECTION_CLOSED, CallToolResult, ListToolsResult, Tool

from captain.config import HttpServer, StdioServer
from captain.mcp_servers.announced import plain_text

_logger = logging.getLogger(__name__)

_SECONDS_TO_END = 8.0
_GRACE = 5.0
"""Seconds by which the session's own time-out comes after ours."""
_NOISY = ("autogen_ext.tools.mcp._actor", "mcp.client.stdio", "mcp.client.streamable_http", "mcp.client.sse")

for _name in _NOISY:
    # They log a server that died, or prints what is no message, as an error of ours with its whole traceback.
    logging.getLogger(_name).addFilter(lambda record: record.levelno < logging.WARNING)


class ServerLost(Exception):
    """The server is not there, or no longer; the text says why."""


class ServerWorkbench(McpWorkbench):
    """AutoGen's workbench with what it keeps to itself: whole schemas, raw errors, and an end that cannot hang."""

    async def announced(self) -> list[Tool]:
        """What the server says about its tools."""
        result = await (await self._session().call("list_tools", None))
        if not isinstance(result, ListToolsResult):
            raise ServerLost("it lists no tools")
        return result.tools

    async def invoke(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """The result of a call as the server gave it."""
        result = await (await self._session().call("call_tool", {"name": tool, "kargs": arguments}))
        if not isinstance(result, CallToolResult):
            raise TypeError(f"a result of a wrong kind: {type(result).__name__}")
        return result

    def alive(self) -> bool:
        """Whether the session still runs."""
        task = None if self._actor is None else self._actor._actor_task
        return task is not None and not task.done()

    async def end(self) -> None:
        """Ends the session and its server, by force where it does not end by itself."""
        actor = self._actor
        if actor is None:
            return
        task = actor._actor_task
        try:
            if actor.initialize_result is not None:
                async with asyncio.timeout(_SECONDS_TO_END):
                    await self.stop()
        except Exception as error:  # whatever a dying session raises, what counts is that its task is over
            _logger.debug("an MCP session did not end by itself: %r", error)
        finally:
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_SECONDS_TO_END)
            self._actor = None
            atexit.unregister(actor._sync_shutdown)  # else each actor would live as long as the process

    def _session(self) -> McpSessionActor:
        if self._actor is None or not self.alive():
            raise ServerLost("it is not running")
        return self._actor


class Connection:
    """A server that was started.

    Args:
        settings: How it is reached.
        log: Where a started program's error output goes.
    """

    def __init__(self, settings: StdioServer | HttpServer, log: Path) -> None:
        self._settings = settings
        self._log = log
        self._bench: ServerWorkbench | None = None

    async def open(self) -> list[Tool]:
        """Starts the server and gives what it says about its tools.

        Raises:
            ServerLost: It cannot be started, or does not answer in time.
        """
        reason = lacking(self._settings)
        if reason:
            raise ServerLost(reason)
        self._bench = ServerWorkbench(_parameters(self._settings, self._log))
        try:
            async with asyncio.timeout(self._settings.start_timeout):
                await self._bench.start()
                return await self._bench.announced()
        except TimeoutError:
            raise ServerLost(self._why(f"it did not answer within {self._settings.start_timeout:g} s")) from None
        except Exception as error:  # sessions raise errors of many libraries, also in groups
            raise ServerLost(self._why(_words(error))) from error

    async def invoke(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Calls a tool.

        Raises:
            ServerLost: The server died.
            McpError, ValueError, RuntimeError: The call failed, or its result is not what the protocol wants.
        """
        if self._bench is None:
            raise ServerLost("it is not running")
        try:
            return await self._bench.invoke(tool, arguments)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
            raise ServerLost(self._why("it ended")) from error
        except McpError as error:
            if error.error.code == CONNECTION_CLOSED:
                raise ServerLost(self._why("it ended")) from error
            raise
        except RuntimeError as error:
            if not self._bench.alive():
                raise ServerLost(self._why("it ended")) from error
            raise

    async def answers(self, seconds: float) -> bool:
        """Whether the server still reacts."""
        try:
            async with asyncio.timeout(seconds):
                return self._bench is not None and bool(await self._bench.announced())
        except Exception:  # any failure means that it does not
            return False

    async def close(self) -> None:
        """Ends the server."""
        bench, self._bench = self._bench, None
        if bench is not None:
            await bench.end()

    def _why(self, reason: str) -> str:
        """A reason with the last words of the program."""
        try:
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            said = []
        last = plain_text(said[-1], 200, lines=False) if said else ""
        return f"{reason} ({last})" if last else reason


def lacking(settings: StdioServer | HttpServer) -> str:
    """What is missing here to reach a server; empty when nothing is."""
    names = settings.env_names if isinstance(settings, StdioServer) else list(settings.headers_env.values())
    unset = [name for name in names if not os.environ.get(name)]
    if unset:
        return f"environment variable {unset[0]!r} is not set"
    if isinstance(settings, StdioServer) and _program(settings) is None:
        return f"the program {settings.command!r} is not found"
    return ""


def _program(settings: StdioServer) -> str | None:
    if settings.command in ("python", "python3"):
        return sys.executable  # in an environment that is not activated, `python` would be another one
    beside = Path(settings.cwd or ".").expanduser() / settings.command
    return shutil.which(settings.command) or (str(beside.resolve()) if beside.is_file() else None)


def _parameters(settings: StdioServer | HttpServer, log: Path) -> McpServerParams:
    slowest = max(settings.timeout, settings.start_timeout) + _GRACE
    if isinstance(settings, HttpServer):
        headers = {header: os.environ[name] for header, name in settings.headers_env.items()}
        kind = SseServerParams if settings.transport == "sse" else StreamableHttpServerParams
        return kind(url=settings.url, headers=headers, timeout=settings.start_timeout, sse_read_timeout=slowest)
    command, arguments = _program(settings) or settings.command, list(settings.args)
    if os.name == "posix":
        # A server's log is none of the terminal's business, but its last line often says why it died.
        command, arguments = "/bin/sh", ["-c", 'exec "$@" 2>"$0"', str(log), command, *arguments]
    return StdioServerParams(
        command=command,
        args=arguments,
        env={name: os.environ[name] for name in settings.env_names},
        cwd=str(Path(settings.cwd).expanduser()) if settings.cwd else None,
        encoding_error_handler="replace",
        read_timeout_seconds=slowest,
    )


def _words(error: BaseException) -> str:
    """An error in one line; of a group its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return plain_text(str(error) or type(error).__name__, 300, lines=False)
