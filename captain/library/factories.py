"""Experts that a function makes: which functions may, what they are given, and how they are found."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.errors import ConfigError
from captain.library.parameters import bound_values
from captain.library.spelling import did_you_mean

if TYPE_CHECKING:
    from autogen_core.models import ChatCompletionClient

    from captain.config import CaptainConfig, Role
    from captain.library.library import Library
    from captain.library.profiles import AgentProfile, FoundProfile

Factory = Callable[..., Any]
"""`factory(context, **parameters)` gives an AutoGen agent or team, at once or as a coroutine."""


@dataclass(frozen=True)
class SeatContext:
    """What a factory gets to make an expert with."""

    name: str
    """A name that is free in the team; the agent may have another one that is."""
    profile: AgentProfile
    task: str
    """The whole task of the run."""
    part: str
    """The part of it that the team works on; often the whole."""
    client: Callable[[Role], ChatCompletionClient]
    """Gives the model client of a role. Its calls are counted and limited with those of the run; it ends with it."""
    workspace: Path
    """The run's working folder."""
    source: Path | None
    """The folder that the profile was read from; None for one of a package."""
    library: Library
    config: CaptainConfig


def check_factories(
    found: Iterable[FoundProfile], allowed: Sequence[str], bindings: Mapping[str, Mapping[str, Any]]
) -> None:
    """Checks what profiles of the kind `factory` name, and what `library.bindings` gives to them.

    Raises:
        ConfigError: A function lies outside of the allowed modules, or a binding fits no parameter.
    """
    factories: dict[str, AgentProfile] = {}
    for item in found:
        if item.profile.factory is not None:
            factories[item.profile.name] = item.profile
            if not _is_allowed(item.profile.factory.partition(":")[0], allowed):
                raise ConfigError(f"{item.where}: profile {item.profile.name!r}: {_refusal(item.profile.factory)}")
    for name, given in bindings.items():
        if name not in factories:
            raise ConfigError(
                f"library.bindings.{name}: there is no factory expert {name!r}{did_you_mean(name, factories)}"
            )
        bound_values(name, factories[name].parameters, given)


def find_factory(profile: AgentProfile, allowed: Sequence[str]) -> Factory:
    """The function of a factory expert.

    Raises:
        ConfigError: It is not allowed, or there is no such function.
    """
    path = profile.factory or ""
    module_name, _, name = path.partition(":")
    if not _is_allowed(module_name, allowed):
        raise ConfigError(_refusal(path))
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a module may raise anything at its import
        raise ConfigError(f"the factory {path!r} cannot be imported: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigError(f"{module_name!r} has no function {name!r}{did_you_mean(name, vars(module))}")
    # A module also holds what it imported, which nobody has allowed.
    if not _is_allowed(str(getattr(function, "__module__", "")), allowed):
        raise ConfigError(_refusal(path))
    made: Factory = function
    return made


def _is_allowed(module: str, allowed: Sequence[str]) -> bool:
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in allowed)


def _refusal(path: str) -> str:
    return f"the factory {path!r} is in no module that is allowed; add its package to library.factories"
