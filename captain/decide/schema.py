"""The JSON schema that an endpoint enforces, and its short form for prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

_BOUNDS = (
    "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip
_NOISE = ("title", "default", "examples", "discriminator")


@dataclass(frozen=True)
class Shape:
    """What a reply must look like."""

    name: str
    schema: dict[str, Any]
    """Every property required, no others allowed, an object at the root."""
    wrapped: bool
    """The type itself is no object: it stands under `value`."""

    def without_bounds(self) -> dict[str, Any]:
        """Gives the schema without lengths, ranges and formats, which some endpoints refuse."""
        loose: dict[str, Any] = _without(self.schema, _BOUNDS)
        return loose

    def outline(self) -> str:
        """Gives the shape in a line or two as a prompt says it: JSON with types for values."""
        return _outline(self.schema, self.schema.get("$defs", {}), depth=0)


def shape_of(adapter: TypeAdapter[Any], name: str) -> Shape:
    """Gives the shape of a type that pydantic knows."""
    schema = adapter.json_schema()
    definitions = schema.get("$defs", {})
    if "$ref" in schema:
        schema = {**definitions[_target(schema)], "$defs": definitions}
    wrapped = schema.get("type") != "object" or "properties" not in schema
    if wrapped:
        inner = {key: value for key, value in schema.items() if key != "$defs"}
        schema = {"type": "object", "properties": {"value": inner}, **({"$defs": definitions} if definitions else {})}
    return Shape(name, _strict(schema), wrapped)


def _target(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rsplit("/", 1)[-1]


def _strict(node: Any) -> Any:
    """Requires every property of every object and allows no others."""
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    strict: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            strict[key] = {name: _strict(item) for name, item in value.items()}
        elif key == "oneOf":
            strict["anyOf"] = _strict(value)
        elif key not in _NOISE:
            strict[key] = value if key in ("enum", "const") else _strict(value)
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


def _without(node: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_without(item, keys) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: {name: _without(item, keys) for name, item in value.items()}
        if key in ("properties", "$defs")
        else _without(value, keys)
        for key, value in node.items()
        if key not in keys
    }


def _outline(node: Mapping[str, Any], definitions: Mapping[str, Any], *, depth: int) -> str:
    if "$ref" in node:
        node = definitions.get(_target(node), {})
    if depth > 6:
        return "..."
    if "enum" in node or "const" in node:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return " | ".join(_outline(option, definitions, depth=depth + 1) for option in node["anyOf"])
    if "properties" in node:
        parts = [
            f'"{name}": {_outline(item, definitions, depth=depth + 1)}' for name, item in node["properties"].items()
        ]
        return "{" + ", ".join(parts) + "}"
    if node.get("type") == "array":
        return f"[{_outline(node.get('items', {}), definitions, depth=depth + 1)}, ...]"
    if node.get("type") == "object":
        inner = node.get("additionalProperties")
        return "{name: " + _outline(inner if isinstance(inner, dict) else {}, definitions, depth=depth + 1) + "}"
    kind = str(node.get("type", "any"))
    return {"boolean": "true | false"}.get(kind, kind)
