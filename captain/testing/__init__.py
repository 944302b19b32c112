"""Models and endpoints for tests: nothing here reaches a real model, everything speaks the real protocols.

`ScriptedModel` and `FunctionModel` stand in for an AutoGen model client; `serve` runs an OpenAI-compatible endpoint on
loopback, with latency and faults, for whatever talks HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from captain.testing.replies import Fault, Reply, ScriptExhausted
from captain.testing.server import Server, echo, serve

if TYPE_CHECKING:
    from captain.testing.models import FunctionModel, RecordedCall, ScriptedModel

__all__ = [
    "Fault",
    "FunctionModel",
    "RecordedCall",
    "Reply",
    "ScriptExhausted",
    "ScriptedModel",
    "Server",
    "echo",
    "serve",
]


def __getattr__(name: str) -> Any:
    if name in ("FunctionModel", "RecordedCall", "ScriptedModel"):
        from captain.testing import models

        return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
