"""What a server says about its tools. All of it is untrusted: checked, cut, and without control characters."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from captain.tools import Parameter

if TYPE_CHECKING:
    from mcp.types import Tool

LONGEST_NAME, LONGEST_TEXT, LONGEST_SCHEMA = 64, 600, 16_000
_MOST_PARAMETERS = 64
_JOINERS = "\u200c\u200d"
"""Invisible characters that writing systems need."""
_WORDS = ("title", "description", "$comment")
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict[str, Any]}


class Announced(BaseModel):
    """A tool as its server announces it, in a form that may be shown to models and kept as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    """The name at the server, to call it by."""
    name: str
    """The same with letters, digits, `_` and `-` only."""
    description: str
    properties: dict[str, Any] = {}
    required: tuple[str, ...] = ()
    definitions: dict[str, Any] = {}
    read_only: bool = False
    fault: str = ""
    """Why it cannot be offered."""

    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments, as far as types can be read from the schema."""
        return tuple(
            Parameter(
                name,
                _annotation(schema, self.definitions),
                str(schema.get("description") or name),
                **({} if name in self.required else {"default": schema.get("default")}),
            )
            for name, schema in self.properties.items()
        )


def read_tool(raw: Tool) -> Announced:
    """Reads what a server says about one tool; a tool that cannot be offered has a fault."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", raw.name)[:LONGEST_NAME]
    description = plain_text(raw.description or raw.title or name, LONGEST_TEXT, lines=False)
    read_only = bool(raw.annotations and raw.annotations.readOnlyHint)
    fault = "its name is empty or too long" if not 0 < len(raw.name) <= 2 * LONGEST_NAME else _fault(raw.inputSchema)
    if fault:
        return Announced(tool=raw.name[:200], name=name or "_", description=description, fault=fault)
    schema = _cleaned(raw.inputSchema)
    return Announced(
        tool=raw.name,
        name=name,
        description=description,
        properties=schema.get("properties", {}),
        required=tuple(schema.get("required", ())),
        definitions={key: schema[key] for key in ("$defs", "definitions") if key in schema},
        read_only=read_only,
    )


def plain_text(text: str, limit: int, *, lines: bool) -> str:
    """A text without control and invisible characters, cut in length; `lines` keeps line ends and tabs."""
    kept = "\n\t" if lines else ""
    wanted = (
        letter if letter in kept or letter in _JOINERS else " " if letter in "\n\t\r" else _seen(letter)
        for letter in text[: 4 * limit]
    )
    cleaned = "".join(wanted)
    cleaned = cleaned if lines else " ".join(cleaned.split())
    return cleaned if len(cleaned) <= limit else f"{cleaned[: limit - 4]} ..."


def _seen(letter: str) -> str:
    return "" if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn") else letter


def _fault(schema: Mapping[str, Any]) -> str:
    """What is wrong with the schema of a tool's arguments; empty when nothing is."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    try:
        size = len(json.dumps(schema, ensure_ascii=False))
        if size > LONGEST_SCHEMA:
            return f"its schema is too long ({size} characters)"
        if schema.get("type") != "object":
            return "its schema is no object of named arguments"
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
        return _fault_in_names(schema) or _fault_in_texts(schema)
    except SchemaError as error:
        return f"its schema is no JSON schema: {plain_text(error.message, 120, lines=False)}"
    except (RecursionError, TypeError, ValueError) as error:
        return f"its schema cannot be read: {type(error).__name__}"


def _fault_in_names(schema: Mapping[str, Any]) -> str:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    odd = [name for name in properties if not re.fullmatch(r"[\w.$-]{1,64}", name)]
    if odd or len(properties) > _MOST_PARAMETERS:
        return "an argument has an odd name" if odd else f"it has {len(properties)} arguments"
    lost = [name for name in required if name not in properties]
    return f"it requires {plain_text(lost[0], 64, lines=False)!r}, which it does not describe" if lost else ""


def _fault_in_texts(node: Any, key: str = "") -> str:
    """Looks for hidden characters in values that have to be sent as they are, and for references to elsewhere."""
    if isinstance(node, str):
        if key == "$ref" and not node.startswith("#/"):
            return "its schema refers to another document"
        hidden = key not in _WORDS and plain_text(node, LONGEST_SCHEMA, lines=True) != node
        return "its schema has hidden characters" if hidden else ""
    if isinstance(node, Mapping):
        faults = (_fault_in_texts(name, "name") or _fault_in_texts(inner, name) for name, inner in node.items())
        return next((fault for fault in faults if fault), "")
    if isinstance(node, list):
        return next((fault for inner in node if (fault := _fault_in_texts(inner, key))), "")
    return ""


def _cleaned(node: Any, *, names: bool = False) -> Any:
    """The schema with short plain descriptions and without titles; `names`: the keys are names of arguments."""
    if isinstance(node, list):
        return [_cleaned(inner) for inner in node]
    if not isinstance(node, Mapping):
        return node
    cleaned: dict[str, Any] = {}
    for key, inner in node.items():
        if not names and key in _WORDS and isinstance(inner, str):
            if key == "description":
                cleaned[key] = plain_text(inner, LONGEST_TEXT // 2, lines=False)
            continue
        cleaned[key] = _cleaned(inner, names=not names and key in ("properties", "$defs", "definitions"))
    return cleaned


def _annotation(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> Any:
    """The Python type that a model's argument is brought into; Any where the schema does not tell plainly."""
    if not isinstance(schema, Mapping) or depth > 4:
        return Any
    if "$ref" in schema:
        group, _, name = str(schema["$ref"]).removeprefix("#/").partition("/")
        return _annotation(definitions.get(group, {}).get(name), definitions, depth + 1)
    enum = schema.get("enum")
    if isinstance(enum, list) and enum and all(isinstance(value, str | int | bool) for value in enum):
        return Literal[tuple(enum)]
    options, kind = schema.get("anyOf"), schema.get("type")
    if isinstance(options, list) and len(options) == 2 and {"type": "null"} in options:
        inner = next(option for option in options if option != {"type": "null"})
        return _annotation(inner, definitions, depth + 1) | None
    if isinstance(kind, list) and len(kind) == 2 and "null" in kind:
        inner = next(name for name in kind if name != "null")
        return _annotation({**schema, "type": inner}, definitions, depth + 1) | None
    if kind == "array":
        item: Any = _annotation(schema.get("items"), definitions, depth + 1)
        return list[item]
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any
