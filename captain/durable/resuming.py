"""A run of an earlier process, read back so that it can go on or be replayed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from captain.config import CaptainConfig, ModelSpec
from captain.durable.reading import Entry, JournalText, read_journal
from captain.errors import ConfigError
from captain.journal import CONFIG, RESULT, yaml_of

# What reading data of another shape than was written ends in; `ValidationError` is a `ValueError`.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
TASK, MODELS = "task", "models"


@dataclass(frozen=True)
class RecordedRun:
    """What a run's folder says about it."""

    folder: Path
    config: CaptainConfig
    """The settings of the run, with the models that were really used."""
    task: str
    files: tuple[str, ...]
    """Paths of the files that came with the task."""
    output_type: type[Any] | None
    members: tuple[str, ...]
    """Names of the user's own agents."""
    journal: JournalText
    result: Mapping[str, Any]
    changes: tuple[str, ...]
    """What differs now from when it was recorded; one line each."""

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do."""
        return self.result.get("status") in ("solved", "unverified")


def read_run(folder: str | Path, overrides: Sequence[str] = ()) -> RecordedRun:
    """Reads the folder of a run.

    Args:
        folder: The run's folder.
        overrides: Settings to change (`limits.calls=50`); each difference is told.

    Raises:
        ConfigError: It is no folder of a solve, or something in it is damaged.
    """
    path = Path(folder).expanduser().resolve()
    journal = read_journal(path)
    entry = next((entry for entry in journal.entries if entry["kind"] == TASK), None)
    if entry is None:
        raise ConfigError(f"{str(path)!r} holds no task: the run ended before it began, or is no solve; start it anew")
    task = entry.get("task")
    if not isinstance(task, str) or not task.strip():
        raise ConfigError(f"the journal's line {TASK!r} is damaged: it holds no task")
    stored = _read_config(path)
    changes = list(_code_changes(entry))
    if entry.get("config") != digest_of(stored):
        changes.append(f"{CONFIG} was changed since the recording")
    config = _with_models(stored, journal.entries)
    if overrides:
        config, told = _changed(config, overrides)
        changes += told
    return RecordedRun(
        folder=path,
        config=config,
        task=task,
        files=_texts(entry, "files"),
        output_type=_type_at(entry.get("output_type")),
        members=_texts(entry, "members"),
        journal=journal,
        result=_read_result(path),
        changes=tuple(changes),
    )


def describe_task(
    task: str, files: Sequence[str | Path], output_type: type[Any] | None, members: Sequence[str]
) -> dict[str, Any]:
    """What a run writes down about its task, enough to go on in another process."""
    return {
        "task": task,
        "files": [str(Path(file).expanduser().resolve()) for file in files],
        "output_type": None if output_type is None else f"{output_type.__module__}:{output_type.__qualname__}",
        "members": list(members),
        "version": version("captain-agents"),
        "code": code_digest(),
    }


def digest_of(config: CaptainConfig) -> str:
    """A hash of a configuration."""
    return hashlib.sha256(yaml_of(config).encode()).hexdigest()


@lru_cache(maxsize=1)
def code_digest() -> str:
    """A hash of the framework's own source and prompts."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.md")]):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _texts(entry: Entry, name: str) -> tuple[str, ...]:
    values = entry.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ConfigError(f"the journal's line {TASK!r} is damaged: {name} is no list of texts")
    return tuple(values)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _read_config(folder: Path) -> CaptainConfig:
    import yaml

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is there
        data = yaml.load((folder / CONFIG).read_text(encoding="utf-8"), Loader=loader)
        return CaptainConfig.model_validate(data)
    except OSError as error:
        raise ConfigError(f"{folder / CONFIG}: cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, *_UNREADABLE) as error:
        raise ConfigError(f"{folder / CONFIG}: not a configuration: {_first_line(error)}") from error


def _read_result(folder: Path) -> Mapping[str, Any]:
    try:
        value = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _code_changes(entry: Entry) -> list[str]:
    if entry.get("code") == code_digest():
        return []
    recorded, now = entry.get("version"), version("captain-agents")
    versions = f" (version {recorded} then, {now} now)" if recorded != now else ""
    return [f"the framework's code differs from the recording{versions}"]


def _with_models(config: CaptainConfig, entries: Sequence[Entry]) -> CaptainConfig:
    """The configuration with the models that `auto` had taken."""
    entry = next((entry for entry in entries if entry["kind"] == MODELS), None)
    if entry is None:
        return config
    try:
        roles = {role: ModelSpec.model_validate(spec) for role, spec in entry["roles"].items()}
        data = config.model_dump() | {"model": roles["expert"], "roles": roles}
        return CaptainConfig.model_validate(data)
    except _UNREADABLE as error:
        raise ConfigError(f"the journal's line {MODELS!r} is damaged: {_first_line(error)}") from error


def _changed(config: CaptainConfig, overrides: Sequence[str]) -> tuple[CaptainConfig, list[str]]:
    import yaml

    data = config.model_dump(mode="json")
    for override in overrides:
        key, equals, text = override.partition("=")
        *parents, name = key.split(".")
        node: Any = data
        for parent in parents:
            node = node.get(parent) if isinstance(node, dict) else None
        if not equals or not isinstance(node, dict) or name not in node:
            raise ConfigError(f"{override!r} is no setting of a run; give KEY=VALUE, such as limits.calls=50")
        try:
            node[name] = yaml.safe_load(text)
        except (yaml.YAMLError, *_UNREADABLE) as error:
            raise ConfigError(f"{override!r}: the value is not valid YAML: {_first_line(error)}") from error
    try:
        return CaptainConfig.model_validate(data), [f"changed for this resume: {override}" for override in overrides]
    except ValidationError as error:
        raise ConfigError(f"{', '.join(overrides)}: {error.errors()[0]['msg']}") from error


def _type_at(path: Any) -> type[Any] | None:
    if path is None:
        return None
    module, _, name = str(path).partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, *_UNREADABLE) as error:
        raise ConfigError(f"the type {path!r} of the answer cannot be imported here: {error}") from error
    return found if isinstance(found, type) else None
