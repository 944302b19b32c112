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
        head = f"{self.where(field)}: profile {self.values.get('name', '(without a name)')!r}"
        if problem["type"] == "extra_forbidden":
            return f"{head} has an unknown field {field!r}{did_you_mean(field, model.model_fields)}"
        if problem["type"] == "missing":
            return f"{head} lacks the field {field!r}"
        value = problem["input"]
        if field == "name" and isinstance(value, str):
            return (
                f"{head}: the name {value!r} must be 1 to 64 ASCII letters, digits or underscores and must not start "
                "with a digit"
            )
        place = "".join(f"[{part}]" for part in problem["loc"][1:])
        return f"{head}: field {field + place!r} is {_short(value)}: {_plain(problem['msg'])}"


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
            raise ConfigError(f"{_place(path, key)}: unknown key {name!r}; expected 'domain' and 'profiles'{hint}")
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
            _refuse_doubled_keys(path, root)
            return root, None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = str(path) if mark is None else f"{path}:{mark.line + 1}"
        raise ConfigError(f"{place}: not valid YAML: {error.problem or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from error


def _refuse_doubled_keys(path: Traversable, node: yaml.Node | None) -> None:
    """YAML lets the second of two equal keys win in silence."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_doubled_keys(path, child)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: dict[str, int] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{_place(path, key)}: a key must be a word")
        line = key.start_mark.line + 1
        if seen.setdefault(key.value, line) != line:
            raise ConfigError(f"{path}:{line}: key {key.value!r} stands here and in line {seen[key.value]}")
        _refuse_doubled_keys(path, item)


def _place(path: Traversable, node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}"


def _plain(message: str) -> str:
    return message.removeprefix("Input ").removeprefix("Value error, ")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
