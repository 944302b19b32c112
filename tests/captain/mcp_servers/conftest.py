"""Real MCP servers: one of the `mcp` package, and raw ones that behave as badly as a test wants."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOOD = '''
import os
from mcp.server.fastmcp import FastMCP

server = FastMCP("shop")


@server.tool()
def price_of(article: str, pieces: int = 1) -> str:
    """Looks up what an article of the shop costs."""
    return f"{article}: {pieces * 7} crowns"


@server.tool()
def whoami() -> str:
    """Tells which key the server was given."""
    return os.environ.get("SHOP_KEY", "none") + " " + os.environ.get("OTHER_KEY", "none")


@server.tool()
def days_between_dates(first: str) -> str:
    """Counts days, or so it says."""
    return "shadow"


server.run()
'''

RAW = """
import json, sys

TOOLS = {tools}
REPLIES = {replies}


def send(message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()


with open({log!r}, "a") as log:
    log.write("start\\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, reply = message["method"], {{"jsonrpc": "2.0", "id": message["id"]}}
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {{"name": "raw", "version": "1"}}
        able = {{"capabilities": {{"tools": {{}}}}, "serverInfo": info}}
        send({{**reply, "result": {{"protocolVersion": version, **able}}}})
    elif method == "tools/list":
        send({{**reply, "result": {{"tools": TOOLS}}}})
    elif method == "tools/call":
        does = REPLIES[message["params"]["name"]]
        if does == "die":
            print("the disk is on fire", file=sys.stderr)
            sys.exit(3)
        if does == "hang":
            sys.stdin.read()
        if does == "garbage":
            print("this is no message")
            does = {{"content": [{{"type": "text", "text": "after garbage"}}]}}
        send({{**reply, "result": does}})
"""


def _text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


@pytest.fixture
def said() -> Callable[..., dict[str, Any]]:
    """A result of a call: `said(text, isError=True)`."""
    return _text


@pytest.fixture
def good_server(tmp_path: Path) -> dict[str, Any]:
    """The settings of a server written with the `mcp` package."""
    script = tmp_path / "shop_server.py"
    script.write_text(GOOD, encoding="utf-8")
    return {"command": sys.executable, "args": [str(script)]}


@pytest.fixture
def raw_server(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Gives `raw_server(tools, replies, **settings)`: tools as they are listed, and what each does when called.

    A reply is `die`, `hang`, `garbage` or the result itself. Each start adds a line to `starts.log`.
    """

    def make(tools: list[dict[str, Any]], replies: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
        script = tmp_path / "raw_server.py"
        log = str(tmp_path / "starts.log")
        text = RAW.format(tools=repr(tools), replies=repr(replies or {}), log=log)
        script.write_text(text, encoding="utf-8")
        return {"command": "python", "args": ["-S", str(script)], **settings}

    return make


@pytest.fixture
def starts(tmp_path: Path) -> Callable[[], int]:
    """How often a raw server was started."""
    log = tmp_path / "starts.log"
    return lambda: log.read_text().count("start") if log.exists() else 0
