"""Faults of tool modules, function by function."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from captain.errors import ConfigError
from captain.library.lint_kinds import Fault
from captain.library.lint_texts import text_faults
from captain.library.loading import modules_in
from captain.library.spelling import did_you_mean, neighbours
from captain.tools import is_tool, spec_of

_NOT_PLAIN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


@dataclass
class ToolFaults:
    """What the modules hold: the names of tools, the broken ones included, and the faults."""

    names: dict[str, str] = field(default_factory=dict)
    """Name -> where it is defined."""
    faults: list[Fault] = field(default_factory=list)


def lint_modules(modules: Iterable[str]) -> ToolFaults:
    """Looks at all tools of modules, by their dotted names; also at those that follow a broken one."""
    found = ToolFaults()
    given = list(modules)
    for name in dict.fromkeys(module for package in given for module in modules_in(package)):
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:  # a module of the user's may raise anything
            found.faults.append(Fault("tool-import", _place_of(name, error), name, _reason(name, error)))
            continue
        marked = [value for value in vars(module).values() if is_tool(value) and value.__module__ == name]
        if not marked and name in given and modules_in(name) == [name]:
            found.faults.append(Fault("no-tools", f"{module.__file__ or name}:1", name, "it marks no function"))
        for function in marked:
            _look_at(function, module, found)
    return found


def _look_at(function: Callable[..., Any], module: ModuleType, found: ToolFaults) -> None:
    name = function.__name__
    where = _line_of(function, module)
    other = found.names.setdefault(name, where)
    if other != where:
        found.faults.append(Fault("tool-name-clash", where, name, f"a tool of that name also stands at {other}"))
    found.faults += [Fault(kind, where, name, message) for kind, message in _faults_of(function)]


def _faults_of(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    documentation = inspect.getdoc(function) or ""
    if not documentation.strip():
        yield "tool-undocumented", "it has no docstring"
    for fault in text_faults(documentation):
        yield fault.kind, f"in its docstring: {fault.quote!r}"
    untyped = list(_untyped(function))
    for message in untyped:
        yield "tool-untyped", message
    if untyped or not documentation.strip():
        return
    try:
        spec = spec_of(function)
    except ConfigError as error:
        yield "tool-untyped", str(error)
        return
    for parameter in spec.parameters:
        if parameter.description == parameter.name:
            yield "tool-parameter", f"its parameter {parameter.name!r} is not described"


def _untyped(function: Callable[..., Any]) -> Iterator[str]:
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:  # annotations are evaluated: any exception may come out of them
        yield f"it has an annotation that cannot be read: {error}"
        return
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _NOT_PLAIN:
            yield f"its parameter {parameter.name!r} is no plain named parameter"
        elif parameter.name not in hints:
            yield f"its parameter {parameter.name!r} has no type"


def _line_of(function: Callable[..., Any], module: ModuleType) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{module.__file__ or module.__name__}:{code.co_firstlineno if code is not None else 1}"


def _place_of(name: str, error: BaseException) -> str:
    """The line of the module at which its import failed; the setting when there is no such module."""
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # looking inside a package imports it
        spec = None
    if spec is None or spec.origin is None:
        return "tools.modules"
    line = 1
    if isinstance(error, SyntaxError) and error.filename == spec.origin:
        line = error.lineno or 1
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == spec.origin:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{spec.origin}:{line}"


def _reason(name: str, error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        if name == error.name or name.startswith(f"{error.name}."):
            return f"there is no module {name!r}{did_you_mean(name, neighbours(name))}"
        return f"it needs the package {error.name!r}, which is not installed"
    return f"it fails at its import: {type(error).__name__}: {error}"
