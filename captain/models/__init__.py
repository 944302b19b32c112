"""Model endpoints as AutoGen clients: routing by role, metering, retries, bounded concurrency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captain.models.calls import Meter, ModelCall
    from captain.models.client import MeteredClient
    from captain.models.router import ModelRouter

__all__ = ["MeteredClient", "Meter", "ModelCall", "ModelRouter"]

_HOMES = {
    "MeteredClient": "captain.models.client",
    "Meter": "captain.models.calls",
    "ModelCall": "captain.models.calls",
    "ModelRouter": "captain.models.router",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use: the list of weights must not wait for AutoGen."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
