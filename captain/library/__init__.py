"""The libraries of experts and tools: what they hold, and how they are searched by meaning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captain.library.hits import Hit
    from captain.library.library import Library
    from captain.library.loading import load_tools
    from captain.library.profiles import AgentProfile, load_profiles

__all__ = ["AgentProfile", "Hit", "Library", "load_profiles", "load_tools"]

_HOMES = {
    "AgentProfile": "profiles",
    "Hit": "hits",
    "Library": "library",
    "load_profiles": "profiles",
    "load_tools": "loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
