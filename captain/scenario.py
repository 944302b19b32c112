"""Scenarios: runnable applications of the framework, named by a configuration.

A scenario is any object with a `name` and an async `run(captain, journal)`. `build_scenario` makes it from the
`scenario:` node of a composed configuration; it holds the one place where a class named by a configuration is called.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import Field, ValidationError

from captain.config import CaptainConfig
from captain.diagnosis import describe_errors, listed, unknown_name
from captain.errors import CaptainError, ConfigError
from captain.results import Record, Result

_HYDRA_KEYS = frozenset({"_target_", "_convert_", "_recursive_", "_partial_", "_args_"})

_current: ContextVar[str | None] = ContextVar("captain_scenario", default=None)


def current_scenario() -> str | None:
    """The scenario that the running code works for, if any."""
    return _current.get()


@contextmanager
def on_behalf_of(scenario: str) -> Iterator[None]:
    """Lets everything that the block starts count as work for a scenario."""
    token = _current.set(scenario)
    try:
        yield
    finally:
        _current.reset(token)


class Solver(Protocol):
    """What a scenario needs of a Captain."""

    @property
    def config(self) -> CaptainConfig:
        """The settings that the Captain was built with."""
        ...

    async def solve_async(
        self, task: str, *, files: Sequence[str | Path] = (), output_type: type[Any] | None = None
    ) -> Result:
        """Solve one task."""
        ...


class Journal(Protocol):
    """What a scenario needs of the folder of its run."""

    @property
    def folder(self) -> Path:
        """The run's own folder; artifacts go here."""
        ...

    def write(self, kind: str, /, **data: Any) -> object:
        """Append one line to the journal and flush it; `data` is JSON data."""
        ...


class ScenarioResult(Record):
    """What a scenario found.

    Rows and summary may be printed and shared, so they hold no text of a data set that forbids sharing.
    """

    name: str
    summary: dict[str, Any] = Field(default_factory=dict)
    rows: list[dict[str, Any]] = Field(default_factory=list)
    """One JSON object for each unit of work, in a fixed order."""
    artifacts: list[str] = Field(default_factory=list)
    """Files written, relative to the run's folder."""
    headline: dict[str, Any] = Field(default_factory=dict)
    """The figures that matter most; the object that is printed ends with them."""


@runtime_checkable
class Scenario(Protocol):
    """A runnable application of the framework."""

    @property
    def name(self) -> str:
        """How reports call it."""
        ...

    async def run(self, captain: Solver, journal: Journal) -> ScenarioResult:
        """Do the work.

        Args:
            captain: Solves tasks; its `config` carries the settings of the run, the seed among them.
            journal: Where progress and rows are written as they come.

        Returns:
            The summary, the rows and the names of the files written.

        Raises:
            ConfigError: A setting or an input is wrong.
        """
        ...


def build_scenario(settings: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> Scenario:
    """Make the scenario that a configuration describes.

    Args:
        settings: The `scenario:` node: `_target_` (dotted path of any importable class or factory) and its settings.
        parameters: Root keys that the scenario's file added (`dataset`, `variant`, ...). They reach the target as
            its argument `parameters`.

    Returns:
        The scenario.

    Raises:
        ConfigError: `_target_` is missing or cannot be imported, a setting is unknown (the nearest known one is
            named) or refused, or the target takes no parameters though some are given.
    """
    path = settings.get("_target_")
    if not isinstance(path, str) or not path:
        raise ConfigError(
            "the scenario names no class: set `scenario._target_` to its dotted path, and let "
            "`# @package _global_` be the very first line of its file"
        )
    known = _settings_of(named_object(path, what="scenario class"))
    given = dict(settings)
    if known is None or "parameters" in known:
        given["parameters"] = dict(parameters or {})
    elif parameters:
        raise ConfigError(f"scenario {path!r} takes no parameters, but {listed(parameters)} stand in the configuration")
    for key in given:
        if known is not None and key not in known and key not in _HYDRA_KEYS:
            raise ConfigError(unknown_name("setting", f"scenario.{key}", [f"scenario.{name}" for name in known]))
    built = _instantiate(path, given)
    if not isinstance(built, Scenario):
        raise ConfigError(f"{path!r} is no scenario: it needs a `name` and an async `run(captain, journal)`")
    return built


def named_object(path: str, *, what: str = "object") -> Any:
    """Import what a dotted path names.

    Args:
        path: For example `package.module.Class`.
        what: What is looked for, for the message.

    Raises:
        ConfigError: The path cannot be imported; a near name in the module is offered.
    """
    module_name, _, attribute = path.rpartition(".")
    if not module_name:
        raise ConfigError(f"{what} {path!r} is no dotted path such as 'package.module.name'")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(f"{what} {path!r} cannot be imported: {error}") from error
    if not hasattr(module, attribute):
        public = [f"{module_name}.{name}" for name in vars(module) if not name.startswith("_")]
        raise ConfigError(unknown_name(what, path, public))
    return getattr(module, attribute)


def _instantiate(path: str, settings: Mapping[str, Any]) -> Any:
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    try:
        return instantiate(dict(settings), _convert_="all")
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, CaptainError):
            raise cause from error
        if isinstance(cause, ValidationError):
            raise ConfigError(describe_errors(cause, schema=named_object(path), at="scenario")) from error
        reason = str(cause or error).splitlines()[0]
        raise ConfigError(f"scenario {path!r} cannot be built: {reason}") from error


def _settings_of(target: Any) -> set[str] | None:
    """The keyword arguments that a class or factory takes, or None where it takes any or does not say."""
    if not callable(target):
        return None
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values()):
        return None
    return set(signature.parameters)
