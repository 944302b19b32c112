"""Functions that members may call: the `@tool` mark, what is known about a tool, and the paths it may touch."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from captain.errors import ConfigError, ToolError

if TYPE_CHECKING:
    from autogen_core.tools import BaseTool

Function = TypeVar("Function", bound=Callable[..., Any])

_MARK = "__captain_tool__"
_workspace: ContextVar[Path | None] = ContextVar("captain_tool_workspace", default=None)
_key: ContextVar[str | None] = ContextVar("captain_idempotency_key", default=None)


@dataclass(frozen=True)
class Needs:
    """What a tool needs beyond Python, and what it does to the world."""

    packages: tuple[str, ...] = ()
    """Import names of packages that are not dependencies of the framework."""
    env: tuple[str, ...] = ()
    """Environment variables that must be set."""
    network: bool = False
    side_effects: bool = False
    """The tool changes something outside its workspace."""
    idempotent: bool = False
    """A call may be repeated: it honours `idempotency_key`, or doing it twice is as doing it once."""
    approval: bool = False
    """Each call waits for a person."""
    untrusted: bool = False
    """What it returns was written by others, as all that comes from the network is."""
    programs: tuple[str, ...] = ()
    """Commands that must be installed, such as `tesseract`."""


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool."""

    name: str
    annotation: Any
    description: str
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class ToolSpec:
    """All that is known about one tool; `bind` makes it callable by a member."""

    name: str
    description: str
    category: str
    """The last name of the module that holds the function."""
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...] = ()
    needs: Needs = Needs()
    field: str = ""
    """What several categories have in common, as the module's `FIELD` says; tools of a field support each other."""

    def missing(self) -> list[str]:
        """Why the tool cannot work here, one short reason each; empty when it can."""
        reasons = [f"package {name!r} is not installed" for name in self.needs.packages if not _installed(name)]
        reasons += [f"environment variable {name!r} is not set" for name in self.needs.env if not os.environ.get(name)]
        reasons += [f"program {name!r} is not installed" for name in self.needs.programs if not shutil.which(name)]
        return reasons

    def bind(self, workspace: Path, *, timeout: float = 60.0, max_chars: int = 6000) -> BaseTool[Any, Any]:
        """The tool as AutoGen calls it.

        It runs in a thread of its own, coerces arguments leniently and answers with text. Whatever goes wrong is raised
        as `ToolError`, which AutoGen hands to the model as the result of the call.

        Args:
            workspace: The folder that `resolve_path` confines the function to.
            timeout: Seconds until a call is given up.
            max_chars: Longest result in characters; a longer one is cut in the middle, says so, and is whole in a file
                of the workspace.
        """
        from captain.library.binding import BoundTool

        return BoundTool(self, workspace=workspace, timeout=timeout, max_chars=max_chars)


@overload
def tool(function: Function, /) -> Function: ...


@overload
def tool(
    *,
    needs_packages: tuple[str, ...] = (),
    needs_env: tuple[str, ...] = (),
    needs_programs: tuple[str, ...] = (),
    network: bool = False,
    side_effects: bool = False,
    idempotent: bool = False,
    approval: bool = False,
    untrusted: bool = False,
) -> Callable[[Function], Function]: ...


def tool(  # noqa: PLR0913  # each is one thing about the tool
    function: Function | None = None,
    /,
    *,
    needs_packages: tuple[str, ...] = (),
    needs_env: tuple[str, ...] = (),
    needs_programs: tuple[str, ...] = (),
    network: bool = False,
    side_effects: bool = False,
    idempotent: bool = False,
    approval: bool = False,
    untrusted: bool = False,
) -> Function | Callable[[Function], Function]:
    """Mark a typed, documented function as a tool; the function itself stays as it is.

    The first paragraph of the docstring is the tool's description, its `Args:` section describes the parameters.

    Args:
        function: The function, when the mark is written without brackets.
        needs_packages: Import names of packages that must be installed; else the tool is not offered.
        needs_env: Environment variables that must be set; else the tool is not offered.
        needs_programs: Commands that must be installed; else the tool is not offered.
        network: The tool reaches the network.
        side_effects: The tool changes something outside its workspace.
        idempotent: A call with side effects may be repeated after an interruption (see `idempotency_key`).
        approval: Each call waits for a person.
        untrusted: What it returns was written by others, such as reviews, mails or documents; what comes from the
            network is so anyway.
    """

    def mark(marked: Function) -> Function:
        needs = (tuple(needs_packages), tuple(needs_env), network, side_effects, idempotent, approval, untrusted)
        setattr(marked, _MARK, Needs(*needs, programs=tuple(needs_programs)))
        return marked

    return mark if function is None else mark(function)


def is_tool(value: object) -> bool:
    """Whether a value is a function marked by `@tool`."""
    return callable(value) and isinstance(getattr(value, _MARK, None), Needs)


def spec_of(function: Callable[..., Any], *, name: str | None = None) -> ToolSpec:
    """Read the specification of a tool from its function.

    Args:
        function: A function, marked by `@tool` or not.
        name: Another name than the function's own.

    Raises:
        ConfigError: No docstring, an untyped parameter, or `*args` / `**kwargs`.
    """
    where = f"{function.__module__}.{function.__name__}"
    documentation = inspect.getdoc(function) or ""
    if not documentation.strip():
        raise ConfigError(f"tool {where!r} has no docstring: its first paragraph tells members what the tool does")
    description = " ".join(documentation.strip().split("\n\n")[0].split())
    return ToolSpec(
        name=name or function.__name__,
        description=description,
        category=function.__module__.rpartition(".")[2],
        function=function,
        parameters=_parameters(function, where, _described_arguments(documentation)),
        needs=getattr(function, _MARK, Needs()),
        field=str(getattr(sys.modules.get(function.__module__), "FIELD", "")),
    )


def resolve_path(path: str) -> Path:
    """Where a tool may find or put a file.

    Inside a bound tool a relative path starts at the member's workspace and nothing outside that folder is reachable,
    also not by a link. In a plain Python call the path is returned as it is.

    Raises:
        ToolError: The path is empty or leads out of the workspace.
    """
    workspace = _workspace.get()
    if workspace is None:
        return Path(path)
    if not str(path).strip() or "\0" in str(path):
        raise ToolError(f"{path!r} is not a path of a file; give a path relative to the workspace")
    root = workspace.resolve()
    resolved = (root / path).resolve()
    if not resolved.is_relative_to(root):
        raise ToolError(f"{str(path)!r} is outside the workspace; give a path relative to it")
    return resolved


@contextmanager
def within(workspace: Path) -> Iterator[None]:
    """Confine `resolve_path` to a folder as long as the block runs, in this thread or task only."""
    token = _workspace.set(workspace)
    try:
        yield
    finally:
        _workspace.reset(token)


def idempotency_key() -> str | None:
    """Inside a tool: a name of this call that stays the same when the call is repeated; None outside of a run.

    A tool whose effect must happen once hands the key to whoever carries the effect out, or remembers it itself, and
    says so by `@tool(idempotent=True)`.
    """
    return _key.get()


@contextmanager
def keyed(key: str) -> Iterator[None]:
    """Let `idempotency_key` give a key as long as the block runs, in this thread or task only."""
    token = _key.set(key)
    try:
        yield
    finally:
        _key.reset(token)


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _parameters(function: Callable[..., Any], where: str, described: dict[str, str]) -> tuple[Parameter, ...]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:  # annotations are evaluated: any exception may come out of them
        raise ConfigError(f"tool {where!r} has an annotation that cannot be read: {error}") from error
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ConfigError(f"tool {where!r}: parameter {parameter.name!r} must be a plain named parameter")
        if parameter.name not in hints:
            raise ConfigError(f"tool {where!r}: parameter {parameter.name!r} has no type; write one in the signature")
        annotation, text = hints[parameter.name], described.get(parameter.name, "")
        if typing.get_origin(annotation) is typing.Annotated:
            annotation, *notes = typing.get_args(annotation)
            text = text or next((note for note in notes if isinstance(note, str)), "")
        parameters.append(Parameter(parameter.name, annotation, text or parameter.name, parameter.default))
    return tuple(parameters)


def _described_arguments(documentation: str) -> dict[str, str]:
    """The `Args:` section of a Google-style docstring: parameter -> description on one line."""
    section = re.search(r"^(?:Args|Arguments|Parameters):[ \t]*\n((?:[ \t]+.*\n?|[ \t]*\n)+)", documentation, re.M)
    described: dict[str, str] = {}
    if section is None:
        return described
    lines = [line for line in section.group(1).splitlines() if line.strip()]
    outer = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    current = ""
    for line in lines:
        start = re.match(r"(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)", line.strip())
        if start and len(line) - len(line.lstrip()) == outer:
            current = start.group(1)
            described[current] = start.group(2).strip()
        elif current:
            described[current] = f"{described[current]} {line.strip()}".strip()
    return described
