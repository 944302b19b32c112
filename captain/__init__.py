"""captain-agents: a Captain agent that seats teams of experts and answers with evidence.

    import captain
    result = captain.solve("What is the sum of all primes below 2000?")

Names are loaded when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captain.captain import Captain, solve
    from captain.compose import load_config
    from captain.config import CaptainConfig, ModelSpec
    from captain.errors import CaptainError, ConfigError, LimitExceeded, ModelError, ToolError
    from captain.events import Event
    from captain.library import AgentProfile, Library
    from captain.results import Evidence, Result, SubtaskReport, Usage
    from captain.scenario import Scenario, ScenarioResult
    from captain.tools import tool

_HOMES = {
    "AgentProfile": "captain.library",
    "Captain": "captain.captain",
    "CaptainConfig": "captain.config",
    "CaptainError": "captain.errors",
    "ConfigError": "captain.errors",
    "Event": "captain.events",
    "Evidence": "captain.results",
    "Library": "captain.library",
    "LimitExceeded": "captain.errors",
    "ModelError": "captain.errors",
    "ModelSpec": "captain.config",
    "Result": "captain.results",
    "Scenario": "captain.scenario",
    "ScenarioResult": "captain.scenario",
    "SubtaskReport": "captain.results",
    "ToolError": "captain.errors",
    "Usage": "captain.results",
    "load_config": "captain.compose",
    "solve": "captain.captain",
    "tool": "captain.tools",
}

__all__ = [
    "AgentProfile",
    "Captain",
    "CaptainConfig",
    "CaptainError",
    "ConfigError",
    "Event",
    "Evidence",
    "Library",
    "LimitExceeded",
    "ModelError",
    "ModelSpec",
    "Result",
    "Scenario",
    "ScenarioResult",
    "SubtaskReport",
    "ToolError",
    "Usage",
    "load_config",
    "solve",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'captain' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
