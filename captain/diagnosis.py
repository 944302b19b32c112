"""What went wrong, in one line: the value, the place, and the nearest name that exists."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from captain.config import CaptainConfig, ModelSpec


def describe_errors(error: ValidationError, *, schema: type[BaseModel] = CaptainConfig, at: str = "") -> str:
    """Renders what pydantic found as one line: key path, value and remedy of each fault (three at most)."""
    faults = []
    for fault in error.errors(include_url=False)[:3]:
        path = ".".join(str(part) for part in (at, *_without_tag(fault["loc"])) if part != "")
        message = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if fault["type"] == "extra_forbidden":
            faults.append(unknown_name("setting", path, setting_paths(schema, at)))
        elif fault["type"] == "missing":
            faults.append(f"the setting {path!r} is missing; give it a value")
        else:
            faults.append(f"wrong value {_short(fault['input'])} for {path!r}: {message}")
    return "; ".join(faults)


def _without_tag(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The place of a fault without the kind of MCP server, which pydantic adds and no file holds."""
    return (*place[:3], *place[4:]) if place[:2] == ("tools", "mcp") else place


@cache
def setting_paths(schema: type[BaseModel], at: str = "") -> tuple[str, ...]:
    """Gives every dotted path of a schema, below `at`; a free mapping ends in `.*`, one of mappings in `.**`."""
    prefix = f"{at}." if at else ""
    paths: list[str] = []
    for name, info in schema.model_fields.items():
        path = prefix + name
        paths.append(path)
        inner = typing.get_args(info.annotation)
        if typing.get_origin(info.annotation) is dict:
            free = ".*" if inner[1] is str else ".**"
            paths += [f"{path}.{key}" for key in typing.get_args(inner[0])] or [f"{path}{free}"]
            continue
        for option in (info.annotation, *inner):
            if isinstance(option, type) and issubclass(option, BaseModel):
                paths += setting_paths(option, path)
    return tuple(paths)


def is_setting(key: str) -> bool:
    """Whether `CaptainConfig` has this dotted path."""
    paths = setting_paths(CaptainConfig)
    parent = key.rpartition(".")[0]
    if key.startswith("roles.") and key.count(".") == 2:
        return parent in paths and key.rpartition(".")[2] in ModelSpec.model_fields
    free = [path.removesuffix("**") for path in paths if path.endswith(".**")]
    return key in paths or f"{parent}.*" in paths or any(key.startswith(start) for start in free)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Says that a name is unknown, with the nearest known one or else all that could be meant."""
    names = [option for option in known if not option.endswith("*")]
    same_end = [option for option in names if option.rpartition(".")[2] == name]
    close = difflib.get_close_matches(name, names, n=1) or same_end
    if close:
        return f"unknown {kind} {name!r}; did you mean {close[0]!r}?"
    return f"unknown {kind} {name!r}; known are {listed(option for option in names if '.' not in option)}"


def listed(names: Iterable[str]) -> str:
    """Joins names for a message."""
    return ", ".join(names) or "none"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
