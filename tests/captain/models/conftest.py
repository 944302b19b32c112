"""Configurations and clients over a loopback endpoint."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from captain.config import CaptainConfig, ModelSpec
from captain.models import MeteredClient, ModelRouter


def model_spec(base_url: str | None = None, **settings: Any) -> ModelSpec:
    return ModelSpec(**{"name": "m", "provider": "compatible", "model": "m1", "base_url": base_url, **settings})


@pytest.fixture
async def client_at() -> AsyncIterator[Callable[..., MeteredClient]]:
    """Gives `client_at(base_url, observer=..., guard=..., **settings of the model)`."""
    routers: list[ModelRouter] = []

    def build(base_url: str | None, *, observer: Any = None, guard: Any = None, **settings: Any) -> MeteredClient:
        config = CaptainConfig(model=model_spec(base_url, **settings))
        routers.append(ModelRouter(config, observer=observer, guard=guard))
        return routers[-1].client("expert")

    yield build
    for router in routers:
        await router.aclose()


@asynccontextmanager
async def _raw_endpoint(answers: Sequence[bytes], healthy: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Sends bytes and closes; afterwards a healthy body. Gives its address and the heads of the requests it gets."""
    left, asked = list(answers), []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: *(\d+)", head.lower())
        await reader.readexactly(int(found.group(1)) if found else 0)
        asked.append(head)
        whole = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(healthy) + healthy
        writer.write(left.pop(0) if left else whole)
        try:
            await writer.drain()
        except ConnectionError:  # who was asked to read too much has left
            pass
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", asked
    server.close()


@pytest.fixture(scope="session")
def raw_endpoint() -> Callable[..., Any]:
    """Gives `raw_endpoint(answers, healthy)`: an endpoint that answers with these bytes, HTTP or not."""
    return _raw_endpoint
