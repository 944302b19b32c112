"""Configurations and clients over a loopback endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
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
