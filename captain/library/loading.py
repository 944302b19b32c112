"""Tools read from Python modules."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable
from types import ModuleType

from captain.errors import ConfigError
from captain.library.spelling import did_you_mean, neighbours
from captain.tools import ToolSpec, is_tool, spec_of


def load_tools(modules: Iterable[str]) -> list[ToolSpec]:
    """Import modules and collect the functions that they mark with `@tool`, in the order of their definition.

    Args:
        modules: Dotted names of modules; of a package, all modules in it are read.

    Raises:
        ConfigError: A module is missing, fails at its import or marks nothing; a tool is undocumented or untyped; two
            tools have one name.
    """
    tools: dict[str, ToolSpec] = {}
    read: set[str] = set()
    for name in dict.fromkeys(modules):
        inside = [module for module in modules_in(name) if module not in read]
        read.update(inside)
        found = [spec for module in inside for spec in _tools_in(_import(module))]
        if inside and not found:
            raise ConfigError(f"tool module {name!r} marks no function with @tool")
        for spec in found:
            earlier = tools.setdefault(spec.name, spec)
            if earlier is not spec:
                places = f"{earlier.function.__module__!r} and {spec.function.__module__!r}"
                raise ConfigError(f"two tools are named {spec.name!r}: in {places}; rename one of them")
    return list(tools.values())


def modules_in(name: str) -> list[str]:
    """A module, and when it is a package also the modules in it, by name."""
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # looking inside a package imports it, and its import then tells what is wrong
        spec = None
    if spec is None or spec.submodule_search_locations is None:
        return [name]
    return [name, *sorted(f"{name}.{found.name}" for found in pkgutil.iter_modules(spec.submodule_search_locations))]


def _tools_in(module: ModuleType) -> list[ToolSpec]:
    marked = [value for value in vars(module).values() if is_tool(value) and value.__module__ == module.__name__]
    return [spec_of(function) for function in marked]


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            hint = did_you_mean(name, neighbours(name))
            raise ConfigError(f"tool module {name!r} does not exist{hint}") from error
        raise ConfigError(f"tool module {name!r} needs the package {error.name!r}, which is not installed") from error
    except Exception as error:  # a module of the user's may raise anything
        raise ConfigError(f"tool module {name!r} fails at its import: {type(error).__name__}: {error}") from error
