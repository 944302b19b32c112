"""`serve`: an OpenAI-compatible endpoint on loopback, in a thread or in a process of its own."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from captain.errors import ConfigError, ModelError
from captain.testing.replies import Fault, FaultKind

if TYPE_CHECKING:
    import uvicorn

    from captain.testing.application import Application

Handler: TypeAlias = Callable[[dict[str, Any]], Any]
"""`handler(body)` gets the request's JSON and gives a text, a `Reply`, a whole message as a dict, or a `Fault`."""
FaultLike: TypeAlias = Fault | FaultKind | int | None

START_SECONDS = 30.0


@dataclass(frozen=True)
class Server:
    """A running endpoint."""

    url: str
    """`http://127.0.0.1:PORT`"""
    read_requests: Callable[[], list[dict[str, Any]]]

    @property
    def base_url(self) -> str:
        """What an OpenAI client is given: the URL with `/v1`."""
        return self.url + "/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The JSON bodies of chat requests so far, in the order of their arrival, failed ones included."""
        return self.read_requests()


def echo(body: dict[str, Any]) -> str:
    """A handler: answers with the text of the last message."""
    content = body["messages"][-1].get("content") or ""
    return content if isinstance(content, str) else json.dumps(content)


@contextlib.contextmanager
def serve(
    handler: Handler | str,
    *,
    latency: float = 0.0,
    faults: Sequence[FaultLike] | None = None,
    process: bool = False,
) -> Iterator[Server]:
    """Runs an endpoint for the time of a `with` block; works in sync and async code alike.

    It answers `POST /v1/chat/completions` (also streamed), `GET /v1/models` and `POST /v1/embeddings` (hashed words).

    Args:
        handler: Gives the reply to a request's JSON body: text, `Reply`, a whole message as a dict, or a
            `Fault` to fail with; may be async. Also the dotted path of such a function.
        latency: Seconds each chat request waits before it is answered; requests wait at the same time.
        faults: How the first chat requests fail, one entry each: a `Fault`, its kind, a status code, or None for
            healthy. Requests after the last entry are healthy.
        process: Run in a process of its own, so that it takes no time from the process under test. The handler must
            then be a function that another process can import.

    Raises:
        ConfigError: `handler` cannot be imported.
        ModelError: The endpoint did not start.
    """
    full = [None if fault is None else Fault.of(fault) for fault in faults or ()]
    if process:
        with _serve_process(handler, latency, full) as server:
            yield server
        return
    from captain.testing.application import Application

    application = Application(resolve(handler) if isinstance(handler, str) else handler, latency, full)
    with running(application) as url:
        yield Server(url, lambda: list(application.requests))


@contextlib.contextmanager
def running(application: Application) -> Iterator[str]:
    """Runs an application in a thread and gives its URL."""
    server, listener = build(application)
    thread = threading.Thread(target=run, args=(server, listener), name="captain.testing", daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + START_SECONDS
        while not server.started:
            if time.monotonic() > deadline or not thread.is_alive():
                raise ModelError("the test endpoint did not start")
            time.sleep(0.002)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(timeout=10)
        listener.close()


def build(application: Application) -> tuple[uvicorn.Server, socket.socket]:
    """Gives a server and the socket it will listen on, on a free port."""
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        application, lifespan="off", ws="none", log_config=None, log_level="critical", access_log=False
    )
    return uvicorn.Server(config), listener


def run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serves until it is told to stop; requests that still hang are dropped."""
    import asyncio

    asyncio.run(server.serve(sockets=[listener]))


@contextlib.contextmanager
def _serve_process(handler: Handler | str, latency: float, faults: Sequence[Fault | None]) -> Iterator[Server]:
    path = handler if isinstance(handler, str) else f"{handler.__module__}.{handler.__qualname__}"
    if "<" in path or path.startswith("__main__"):
        raise ConfigError(f"handler {path!r} cannot be imported by another process: use a function of a module")
    given = json.dumps([None if fault is None else fault.to_data() for fault in faults])
    command = [sys.executable, "-m", "captain.testing", "--handler", path, "--latency", str(latency)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path)}
    child = subprocess.Popen(
        [*command, "--faults", given, "--stop-at-eof"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert child.stdout is not None
        base_url = child.stdout.readline().strip()
        if not base_url:
            raise ModelError(f"the test endpoint did not start, exit code {child.wait(timeout=10)}")
        url = base_url.removesuffix("/v1")
        yield Server(url, lambda: _fetch_requests(url))
    finally:
        child.kill()
        child.communicate(timeout=10)


def _fetch_requests(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(url + "/requests", timeout=30) as response:
        requests: list[dict[str, Any]] = json.load(response)
    return requests


def resolve(path: str) -> Handler:
    """Imports the function that a dotted path names.

    Raises:
        ConfigError: There is no such function.
    """
    module, _, name = path.replace(":", ".").rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"handler {path!r} cannot be imported ({error}): give it as module.function") from error
    if not callable(found):
        raise ConfigError(f"handler {path!r} is not a function")
    handler: Handler = found
    return handler


def faults_from_json(text: str) -> list[Fault | None]:
    """Reads faults from JSON: a list of null, status code, kind, or an object with the fields of `Fault`.

    Raises:
        ConfigError: It is not such a list.
    """
    try:
        entries = json.loads(text)
        return [_fault_from_data(entry) for entry in entries]
    except (TypeError, ValueError) as error:
        raise ConfigError(f"faults {text!r} are not a JSON list of faults: {error}") from error


def _fault_from_data(entry: Any) -> Fault | None:
    if entry is None:
        return None
    return Fault(**entry) if isinstance(entry, Mapping) else Fault.of(entry)
