"""YAML files of profiles, read so that every complaint can name file and line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from captain.errors import ConfigError
from captain.library.spelling import did_you_mean

Model = TypeVar("Model", bound=BaseModel)

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_MOST_NODES = 200_000
# A value that does not fit the type it claims (`!!bool x`) ends in whatever the reader of that type raises.
_UNREADABLE = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class FoundEntry:
    """One entry of the list `profiles` in a file."""

    path: Traversable
    node: yaml.MappingNode
    values: Mapping[str, Any]
    defaults: Mapping[str, Any]
    """What the file says for all its entries."""

    def where(self, field: str | None = None) -> str:
        """`file:line` of the entry, or of one of its fields."""
        return _place(self.path, self._lines().get(field or "", self.node))

    def build(self, model: type[Model], defaults: Mapping[str, Any]) -> Model:
        """The entry as a model.

        Raises:
            ConfigError: A field is missing, unknown or wrong; the message names file, line, entry and field.
        """
        try:
            return model.model_validate({**defaults, **self.defaults, **self.values})
        except ValidationError as error:
            raise ConfigError(self._complaint(error, model)) from error

    def _lines(self) -> dict[str, yaml.Node]:
        return {key.value: key for key, _ in self.node.value}

    def _complaint(self, error: ValidationError, model: type[BaseModel]) -> str:
        # A misspelt field is the cause of the missing one that pydantic names first.
        problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        problem = problems[0]
        field = str(problem["loc"][0])
        head = f"{self.where(field)}: profile {_short(self.values.get('name', '(without a name)'))}"
        if problem["type"] == "extra_forbidden":
            return f"{head} has an unknown field {_short(field)}{did_you_mean(field, model.model_fields)}"
        if problem["type"] == "missing":
            return f"{head} lacks the field {field!r}"
        value = problem["input"]
        if field == "name" and isinstance(value, str):
            return (
                f"{head}: the name {_short(value)} must be 1 to 64 ASCII letters, digits or underscores and must not "
                "start with a digit"
            )
        place = "".join(f"[{part}]" for part in problem["loc"][1:])
        return f"{head}: field {_short(field + place)} is {_short(value)}: {_plain(problem['msg'])}"


def entries_in(path: Traversable) -> list[FoundEntry]:
    """The entries of one file.

    Raises:
        ConfigError: The file cannot be read or is not of the form `domain: …`, `profiles: [{…}, …]`.
    """
    root, values = _parse(path)
    if root is None:
        raise ConfigError(f"{path}: the file is empty; expected a list 'profiles'")
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{_place(path, root)}: expected the keys 'domain' and 'profiles', not {_short(values)}")
    nodes = {key.value: (key, value) for key, value in root.value}
    for name, (key, _) in nodes.items():
        if name not in ("domain", "profiles"):
            hint = did_you_mean(name, ("domain", "profiles"))
            raise ConfigError(
                f"{_place(path, key)}: unknown key {_short(name)}; expected 'domain' and 'profiles'{hint}"
            )
    if "profiles" not in nodes or not isinstance(nodes["profiles"][1], yaml.SequenceNode):
        node = nodes["profiles"][0] if "profiles" in nodes else root
        raise ConfigError(f"{_place(path, node)}: expected a list 'profiles'")
    defaults = {"domain": values["domain"]} if "domain" in values else {}
    entries = []
    for node, entry in zip(nodes["profiles"][1].value, values["profiles"], strict=True):
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{_place(path, node)}: a profile must be a mapping of fields, not {_short(entry)}")
        entries.append(FoundEntry(path, node, entry, defaults))
    return entries


def _parse(path: Traversable) -> tuple[yaml.Node | None, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: the file cannot be read: {error.strerror or error}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: the file is not UTF-8; save it in that encoding") from error
    try:
        loader = _LOADER(text)
        try:
            root = loader.get_single_node()
            _check_nodes(path, root, {})
            return root, None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = str(path) if mark is None else f"{path}:{mark.line + 1}"
        raise ConfigError(f"{place}: not valid YAML: {str(error.problem or error)[:200]}") from error
    except _UNREADABLE as error:
        reason = str(error).splitlines() or [type(error).__name__]
        raise ConfigError(f"{path}: not valid YAML: {reason[0][:200]}") from error


def _check_nodes(path: Traversable, node: yaml.Node | None, sizes: dict[int, int]) -> int:
    """Refuses what YAML can do and a profile has no use for; gives the size of a node with its aliases written out.

    YAML lets the second of two equal keys win in silence, knows types of its own, and with aliases a short file can
    stand for more than any memory holds.

    Args:
        path: The file.
        node: What is checked.
        sizes: Of the nodes that were checked already.
    """
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in sizes:
        return sizes[id(node)]
    if node.tag not in _PLAIN_TAGS:
        raise ConfigError(
            f"{_place(path, node)}: {_short(node.tag.rpartition(':')[2])} is no type that a profile can hold"
        )
    children = [child for pair in node.value for child in pair] if isinstance(node, yaml.MappingNode) else node.value
    if isinstance(node, yaml.MappingNode):
        _refuse_doubled_keys(path, node)
    size = 1 + sum(_check_nodes(path, child, sizes) for child in children)
    if size > _MOST_NODES:
        raise ConfigError(f"{_place(path, node)}: more than {_MOST_NODES} values stand here; split the file")
    sizes[id(node)] = size
    return size


def _refuse_doubled_keys(path: Traversable, node: yaml.MappingNode) -> None:
    seen: dict[str, int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{_place(path, key)}: a key must be a word")
        line = key.start_mark.line + 1
        if seen.setdefault(key.value, line) != line:
            raise ConfigError(f"{path}:{line}: key {_short(key.value)} stands here and in line {seen[key.value]}")


def _place(path: Traversable, node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}"


def _plain(message: str) -> str:
    return message.removeprefix("Input ").removeprefix("Value error, ")


def _short(value: Any) -> str:
    text = repr(value[:100] if isinstance(value, str) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."
