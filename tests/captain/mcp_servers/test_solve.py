"""Tools of MCP servers in the hands of members: found, called, and no danger to a run."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from captain import Captain, ConfigError

CaptainWith = Callable[..., Captain]
TASK = "What does a hat cost in the shop?"


def call(name: str, **arguments: Any) -> Any:
    from autogen_core import FunctionCall

    return [FunctionCall(id="1", name=name, arguments=json.dumps(arguments))]


def settings(servers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "tools.enabled": True,
        "tools.modules": ["tools_library.mathematics"],
        "tools.mcp": servers,
        "tools.threshold": 0.2,
        "tools.top_k": 5,
        **more,
    }


def recall(steps: Any, title: str = "Historian", goal: str = TASK) -> str:
    return str(steps.plan(steps.part(title, method="recall", goal=goal)))


def tool(name: str, description: str = "Looks up what an article costs in the shop.", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]}
    return {"name": name, "description": description, "inputSchema": schema, **more}


@pytest.fixture
def solve(captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path) -> Callable[..., Any]:
    """Gives `solve(servers, replies of the expert)`: the result and the model."""

    def run(servers: dict[str, Any], replies: list[Any], **more: Any) -> Any:
        model = make_model({"planner": recall(steps), "expert": replies})
        own = {"library.user_dir": str(tmp_path / "user"), "approval.after_untrusted": False}
        captain = captain_with(model, settings(servers, **own, **more))
        return captain.solve(TASK), model

    return run


def test_a_server_tool_is_found_called_and_proves_the_answer(solve: Any, good_server: Any, read_journal: Any) -> None:
    result, model = solve({"shop": good_server}, [call("price_of", article="hat", pieces="3"), "FINAL ANSWER: 21"])
    assert "price_of" in model.asked("expert")[0].tools
    assert result.answer == "21" and result.evidence[0].kind == "tool"
    (done,) = [line for line in read_journal(result.run_dir, "tool_call") if "is_error" in line]
    assert done["result"] == "hat: 21 crowns" and not done["is_error"]


def test_a_server_ends_with_the_run(solve: Any, raw_server: Any, said: Any, starts: Any) -> None:
    server = raw_server([tool("price_of")], {"price_of": said("7")})
    solve({"shop": server}, ["FINAL ANSWER: 7"])
    assert starts() == 1
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert server["args"][1] not in left


def test_a_warm_library_starts_no_server_that_is_not_called(
    captain_with: CaptainWith, make_model: Any, steps: Any, raw_server: Any, said: Any, starts: Any
) -> None:
    server = raw_server([tool("price_of")], {"price_of": said("7")})
    model = make_model({"planner": recall(steps), "expert": "FINAL ANSWER: 7"})
    captain = captain_with(model, settings({"shop": server}))
    for _ in range(2):
        captain.solve(TASK)
        assert "price_of" in model.asked("expert")[-1].tools
    assert starts() == 1


def test_a_profile_may_name_a_tool_of_a_server(
    captain_with: CaptainWith, make_model: Any, steps: Any, raw_server: Any, said: Any, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(
        "domain: shop\nprofiles:\n  - {name: clerk, title: Clerk, description: Sells., instructions: Sell., "
        "tools: [price_of]}\n"
    )
    server = raw_server([tool("price_of", "Zzz.")], {"price_of": said("7")})
    model = make_model({"planner": recall(steps, "Clerk"), "expert": "FINAL ANSWER: 7"})
    more = {"library.profiles": [str(tmp_path / "mine.yaml")], "tools.threshold": 0.99}
    captain_with(model, settings({"shop": server}, **more)).solve("Sell.")
    assert model.asked("clerk")[0].tools == ("price_of",)


def test_a_name_of_ours_is_not_taken(solve: Any, raw_server: Any, said: Any) -> None:
    about = "Converts units of the shop."
    server = raw_server([tool("convert_units", about)], {"convert_units": said("shadow")})
    _, model = solve({"shop": server}, ["FINAL ANSWER: 7"], **{"tools.threshold": -1.0, "tools.top_k": 500})
    tools = model.asked("expert")[0].tools
    assert tools.count("convert_units") == 1 and "mcp_shop_convert_units" in tools


def test_two_servers_may_have_tools_of_one_name(solve: Any, raw_server: Any, said: Any) -> None:
    server = raw_server([tool("price_of")], {"price_of": said("7")})
    replies = [call("mcp_b_price_of", article="hat"), "FINAL ANSWER: 7"]
    result, model = solve({"a": server, "b": server}, replies)
    assert {"mcp_a_price_of", "mcp_b_price_of"} <= set(model.asked("expert")[0].tools)
    assert result.evidence[0].source == "mcp_b_price_of called by historian"


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("die", "was lost during the call"),
        ("hang", "gave no answer within 0.5 s"),
        ({"content": "nonsense"}, "gave no usable result"),
        ({"content": [{"type": "text", "text": "no such article"}], "isError": True}, "no such article"),
        ({"content": [{"type": "hologram", "data": "x"}]}, "gave no usable result"),
    ],
)
def test_what_a_server_does_wrong_is_told_to_the_model(solve: Any, raw_server: Any, reply: Any, told: str) -> None:
    server = raw_server([tool("price_of")], {"price_of": reply}, timeout=0.5)
    result, model = solve({"shop": server}, [call("price_of", article="hat"), "FINAL ANSWER: unknown"])
    assert told in model.asked("expert")[1].last
    assert result.answer == "unknown" and result.status == "unverified"


def test_a_dead_server_is_started_again_once(
    solve: Any, raw_server: Any, starts: Any, said: Any, read_journal: Any
) -> None:
    server = raw_server([tool("price_of"), tool("burn")], {"burn": "die", "price_of": said("7")})
    replies = [
        call("burn", article="hat"),
        call("price_of", article="hat"),
        call("burn", article="hat"),
        call("price_of", article="hat"),
        "FINAL ANSWER: 7",
    ]
    result, _ = solve({"shop": server}, replies, **{"team.max_tool_rounds": 8})
    done = [line["result"] for line in read_journal(result.run_dir, "tool_call") if "is_error" in line]
    assert "the disk is on fire" in done[0] and done[1] == "7" and "lost" in done[2]
    assert "started 2 times" in done[3] and starts() == 2 and result.answer == "7"


def test_a_hung_server_is_replaced_for_the_next_call(
    solve: Any, raw_server: Any, starts: Any, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("captain.mcp_servers.servers._SECONDS_TO_REACT", 0.3)
    server = raw_server([tool("price_of"), tool("wait")], {"wait": "hang", "price_of": said("7")}, timeout=0.5)
    replies = [call("wait", article="hat"), call("price_of", article="hat"), "FINAL ANSWER: 7"]
    result, model = solve({"shop": server}, replies)
    assert "\n7\n" in model.asked("expert")[2].last and starts() == 2
    assert result.evidence[0].kind == "tool"


def test_what_is_no_message_does_no_harm(solve: Any, raw_server: Any, capfd: pytest.CaptureFixture[str]) -> None:
    server = raw_server([tool("price_of")], {"price_of": "garbage"})
    _, model = solve({"shop": server}, [call("price_of", article="hat"), "FINAL ANSWER: 7"])
    assert "after garbage" in model.asked("expert")[1].last
    assert "Traceback" not in capfd.readouterr().err


BAD_SERVERS = {
    "missing": ({"command": "no-such-program-here"}, "the program 'no-such-program-here' is not found"),
    "key": ({"command": "python", "env_names": ["NO_SUCH_KEY"]}, "environment variable 'NO_SUCH_KEY' is not set"),
    "header": ({"url": "http://127.0.0.1:9/mcp", "headers_env": {"A": "NO_SUCH_KEY"}}, "'NO_SUCH_KEY' is not set"),
    "broken": ({"command": "python", "args": ["-c", "import no_such_module"]}, "No module named 'no_such_module'"),
    "silent": (
        {"command": "python", "args": ["-c", "import sys; sys.stdin.read()"], "start_timeout": 0.6},
        "did not answer within 0.6 s",
    ),
    "nobody": ({"url": "http://127.0.0.1:9/mcp", "start_timeout": 3.0}, "cannot be used"),
}


@pytest.mark.parametrize("name", BAD_SERVERS)
def test_a_server_that_cannot_be_used_costs_its_tools_not_the_run(
    solve: Any, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    server, why = BAD_SERVERS[name]
    start = time.perf_counter()
    result, model = solve({name: server}, ["FINAL ANSWER: 7"])
    assert result.answer == "7" and time.perf_counter() - start < 40
    (warning,) = [record.getMessage() for record in caplog.records if "MCP server" in record.getMessage()]
    assert f"the MCP server {name!r} cannot be used" in warning and why in warning


def test_a_server_sees_the_variables_that_are_named(
    solve: Any, good_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "shop-secret")
    monkeypatch.setenv("OTHER_KEY", "other-secret")
    server = {**good_server, "env_names": ["SHOP_KEY"]}
    replies = [call("whoami"), "FINAL ANSWER: 7"]
    _, model = solve({"shop": server}, replies, **{"tools.threshold": -1.0, "tools.top_k": 500})
    assert "shop-secret none" in model.asked("expert")[1].last


def test_a_cancelled_run_leaves_no_server_behind(
    captain_with: CaptainWith, make_model: Any, steps: Any, raw_server: Any
) -> None:
    server = raw_server([tool("price_of")], {"price_of": "hang"})
    called = threading.Event()

    def expert(ask: Any) -> Any:
        called.set()
        return call("price_of", article="hat")

    captain = captain_with(make_model({"planner": recall(steps), "expert": expert}), settings({"shop": server}))

    async def interrupted() -> None:
        work = asyncio.create_task(captain.solve_async(TASK))
        while not called.is_set():
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(interrupted())
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert server["args"][1] not in left


@pytest.fixture(params=["http", "sse"])
def http_server(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """A real server on loopback that asks for a header."""
    import uvicorn
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("shop")

    @server.tool()
    def price_of(article: str) -> str:
        """Looks up what an article costs in the shop."""
        request = server.get_context().request_context.request
        assert request is not None
        return f"{article}: 7 crowns for {request.headers.get('x-key')}"

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app = server.streamable_http_app() if request.param == "http" else server.sse_app()
    service = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=service.run, daemon=True)
    thread.start()
    while not service.started:
        time.sleep(0.02)
    path = "mcp" if request.param == "http" else "sse"
    yield {"url": f"http://127.0.0.1:{port}/{path}", "transport": request.param, "headers_env": {"x-key": "SHOP_KEY"}}
    service.should_exit = True
    thread.join(10)


def test_a_server_at_an_address(solve: Any, http_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "abc")
    _, model = solve({"shop": http_server}, [call("price_of", article="hat"), "FINAL ANSWER: 7"])
    assert "hat: 7 crowns for abc" in model.asked("expert")[1].last


def test_importing_the_captain_does_not_import_mcp() -> None:
    code = (
        "import sys; from captain import Captain; import captain.library.library, captain.casting, captain.walk;"
        "Captain({'tools.mcp.a.command': 'python'}); print('mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("server", "complaint"),
    [
        ({}, "a server needs a `command` to start it or the `url`"),
        ({"command": "python", "url": "http://localhost"}, "unknown setting 'tools.mcp.shop.url'"),
        ({"url": "http://me:secret@localhost/mcp"}, "without user or password"),
        ({"command": "python", "timeout": 0}, "wrong value 0 for 'tools.mcp.shop.timeout'"),
    ],
)
def test_wrong_settings_are_named(server: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        _ = Captain({"tools.mcp": {"shop": server}}).config


def test_a_replay_needs_no_server(solve: Any, raw_server: Any, said: Any, starts: Any) -> None:
    server = raw_server([tool("price_of")], {"price_of": said("7")})
    result, _ = solve({"shop": server}, [call("price_of", article="hat"), "FINAL ANSWER: 7"])
    again = Captain.replay(result.run_dir)
    assert again.answer == "7" and again.evidence == result.evidence and starts() == 1
