"""A workspace that the tools are confined to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from captain.tools import within
from tools_library import calculator


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    with within(folder):
        yield folder


@pytest.fixture
def table(workspace: Path) -> Callable[[str], str]:
    """Write a CSV text to the workspace and return its path."""

    def write(text: str) -> str:
        (workspace / "data.csv").write_text(text, encoding="utf-8")
        return "data.csv"

    return write


@pytest.fixture
def own_process() -> None:
    """Keeps calculations in a process of their own, as they are in use."""


@pytest.fixture(autouse=True)
def calculations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calculate in the process of the tests, which saves half a second each."""
    if "own_process" not in request.fixturenames:
        monkeypatch.setattr(calculator, "compute", lambda *call: calculator.text_of(calculator.answer(*call)))


@dataclass
class Site:
    """A web site on this machine."""

    address: str
    pages: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    """For a path: what answers a request."""
    asked: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    """Path, query and headers (small letters) of each request."""
    posted: list[bytes] = field(default_factory=list)
    """What came with each POST."""

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def has(self, path: str, body: bytes | str = b"", *, status: int = 200, kind: str = "", **headers: str) -> str:
        """Answer a path always the same, and give its address."""
        content = body.encode() if isinstance(body, str) else body

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            if kind:
                handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)

        self.pages[path] = answer
        return self.address + path


def _serve() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            site.asked.append((parts.path, query, {name.lower(): value for name, value in self.headers.items()}))
            answer = site.pages.get(parts.path)
            try:
                self.send_error(404) if answer is None else answer(self)
            except ConnectionError:
                pass  # the other side had enough

        def do_POST(self) -> None:
            site.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A web site that members may read although it is on this machine."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for served in _serve():
        monkeypatch.setenv("CAPTAIN_ALLOWED_HOSTS", served.host)
        yield served


@pytest.fixture
def private_site(site: Site) -> Iterator[Site]:
    """Another one, that they may not."""
    yield from _serve()
