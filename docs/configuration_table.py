"""Writes the tables of settings in `configuration.md` from the schema, so that they cannot drift.

    python docs/configuration_table.py

A test compares the file with what this would write.
"""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from captain import config

PAGE = Path(__file__).with_name("configuration.md")
START, END = "<!-- settings: start -->", "<!-- settings: end -->"


def meanings(group: type[BaseModel]) -> dict[str, str]:
    """The text under each field of a class, on one line."""
    body = ast.parse(inspect.getsource(group)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(field.target, ast.Name):
            found[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return found


def groups() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every group of settings with its path, the root first."""
    yield "", config.CaptainConfig
    for name, field in config.CaptainConfig.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            yield name, field.annotation
    yield "model.price", config.Price
    yield "tools.mcp.NAME", config.StdioServer
    yield "tools.mcp.NAME", config.HttpServer


def kind(annotation: Any) -> str:
    """A type as people write it."""
    if typing.get_origin(annotation) is typing.Literal:
        return " · ".join(f"`{value}`" for value in typing.get_args(annotation))
    parts = typing.get_args(annotation)
    if type(None) in parts:
        return kind(next(part for part in parts if part is not type(None)))
    if typing.get_origin(annotation) in (list, dict):
        return "list" if typing.get_origin(annotation) is list else "mapping"
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true / false"}.get(
        annotation.__name__, "group"
    )


def default(field: FieldInfo) -> str:
    """The default as it stands in YAML."""
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, list):
        return "<br>".join(f"`{item}`" for item in value) or "`[]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "–" if value in (None, "") else f"`{value}`"


def table(path: str, group: type[BaseModel]) -> list[str]:
    """One group as a table; groups inside it have tables of their own."""
    said = meanings(group)
    lines = ["| setting | values | default | meaning |", "|---|---|---|---|"]
    for name, field in group.model_fields.items():
        values = kind(field.annotation)
        if values == "group":
            continue
        full = f"{path}.{name}" if path else name
        lines.append(f"| `{full}` | {values} | {default(field)} | {said.get(name, '').replace('|', '·')} |")
    return lines


def render() -> str:
    """All tables, between their marks."""
    lines = [START]
    for path, group in groups():
        title = f"`{path}`" if path else "Root"
        about = (inspect.getdoc(group) or "").splitlines()[0]
        lines += ["", f"### {title}", "", about if path else "Settings that belong to no group.", ""]
        lines += table(path, group)
    return "\n".join([*lines, "", END])


def page(text: str) -> str:
    """The text of the page with fresh tables."""
    before, _, rest = text.partition(START)
    return before + render() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
