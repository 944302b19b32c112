"""From YAML and overrides to a checked configuration: the only code that speaks to Hydra.

Hydra composes the packaged `captain_configs` (and a folder of the user), the schema in `captain.config` checks the
result. Every mistake becomes one `ConfigError` line that names the value and the nearest name that exists.
"""

from __future__ import annotations

import shlex
import threading
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from captain.config import CaptainConfig
from captain.diagnosis import describe_errors, is_setting, listed, setting_paths, unknown_name
from captain.errors import ConfigError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

CONFIG_PACKAGE = "captain_configs"
GROUPS = ("model", "embedding", "scenario")

_lock = threading.RLock()


@dataclass(frozen=True)
class Composed:
    """A composed configuration: the Captain's part, and what a scenario added."""

    captain: CaptainConfig
    scenario: dict[str, Any] | None = None
    """The node `scenario` that a file in `configs/scenario/` declares; None when no scenario was chosen."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The other root keys that the scenario's file declares."""
    scenario_name: str | None = None
    """The name of the scenario's file."""


def load_config(
    overrides: Sequence[str] = (), *, config_dir: Path | None = None, scenario_required: bool = False
) -> Composed:
    """Composes the packaged configuration with overrides in Hydra's grammar.

    Args:
        overrides: `key=value` texts such as `model=embedded_small` or `team.max_turns=6`.
        config_dir: A folder with more `model/`, `embedding/` and `scenario/` files.
        scenario_required: Refuse a configuration without a scenario.

    Raises:
        ConfigError: An override, a file or a value is wrong; one line with the remedy.
    """
    files = _Files(_checked_folder(config_dir))
    with _hydra():
        parsed = [_parse(text) for text in overrides]
        name = _check_groups(parsed, files)
        if scenario_required and name is None:
            raise ConfigError(f"no scenario was given; add scenario=NAME, one of {listed(files.options('scenario'))}")
        declared = _declared(parsed, files)
        texts = [_forced(override, declared) for override in parsed]
        tree = files.compose(texts)
        captain = _build(tree, files)
    extra = {key: value for key, value in tree.items() if key not in CaptainConfig.model_fields}
    scenario = extra.pop("scenario", None)
    if name is not None and not isinstance(scenario, dict):
        raise ConfigError(f"scenario/{name}.yaml declares no `scenario:` mapping; add one with its `_target_`")
    return Composed(captain, scenario, extra, name)


def config_from(settings: CaptainConfig | Mapping[str, Any] | None) -> CaptainConfig:
    """Gives the configuration that a Python user means.

    Args:
        settings: None for the composed default, a finished configuration, or a mapping of nested values or dotted keys
            applied over the default, such as `{"model": "embedded_small", "team.max_turns": 4}`. A model or an
            embedding given as a mapping with a `provider` replaces the default's, otherwise it changes it.

    Raises:
        ConfigError: A key is unknown or a value is wrong.
    """
    if isinstance(settings, CaptainConfig):
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigError(f"a configuration is a mapping, a CaptainConfig or None, not {type(settings).__name__!r}")
    given = dict(settings or {})
    files = _Files(None)
    choices = []
    for group in ("model", "embedding"):
        # Taken out first, so that `model` may name a file and `model.base_url` change it in the same mapping.
        if isinstance(given.get(group), str):
            choices.append(f"{group}={files.checked(group, given.pop(group))}")
    wanted = _nested(given)
    unknown = [key for key, value in wanted.items() if key not in CaptainConfig.model_fields and value is not None]
    if unknown:
        raise ConfigError(unknown_name("setting", unknown[0], setting_paths(CaptainConfig)))
    with _hydra():
        tree = files.compose(choices)
        for group in ("model", "embedding"):
            if "provider" in (wanted.get(group) or {}):
                tree[group] = {}
        return _build(_merged(tree, wanted), files)


@dataclass(frozen=True)
class _Files:
    """The packaged configuration files and those of the user's folder."""

    folder: Path | None

    def options(self, group: str) -> list[str]:
        """Gives the names that `group=NAME` may take."""
        found = set(_yaml_names(resources.files(CONFIG_PACKAGE).joinpath(group)))
        if self.folder is not None:
            found |= set(_yaml_names(self.folder / group))
        return sorted(found)

    def checked(self, group: str, name: str) -> str:
        """Gives the name back if the group has it."""
        known = self.options(group)
        if name.removesuffix(".yaml") not in known:
            raise ConfigError(unknown_name(group, name, known))
        return name

    def compose(self, overrides: Sequence[str]) -> dict[str, Any]:
        """Composes the whole tree as plain data; runs inside `_hydra()`."""
        from hydra import compose
        from hydra.errors import HydraException
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException
        from yaml import YAMLError

        texts = list(overrides)
        if self.folder is not None:
            escaped = str(self.folder).replace('"', '\\"')
            texts.append(f'hydra.searchpath=["file://{escaped}"]')
        try:
            tree = OmegaConf.to_container(compose("config", texts), resolve=True, throw_on_missing=True)
        except (HydraException, OmegaConfBaseException, YAMLError) as error:
            raise ConfigError(_one_line(error)) from error
        return typing.cast(dict[str, Any], tree)


@contextmanager
def _hydra() -> Iterator[None]:
    """Lends Hydra's global state: whatever the program around us had set up is there again afterwards."""
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.utils import JobRuntime
    from hydra.version import VersionBase

    with _lock:
        state, host, version = GlobalHydra.instance(), GlobalHydra.instance().hydra, VersionBase.instance().getbase()
        job = JobRuntime.instance()
        job_name = job.conf.get("name")
        state.clear()
        try:
            with initialize_config_module(CONFIG_PACKAGE, job_name="captain", version_base="1.3"):
                yield
        finally:
            state.hydra = host
            GlobalHydra.set_instance(state)
            VersionBase.instance().version_base = version
            job.conf["name"] = job_name


def _checked_folder(folder: Path | None) -> Path | None:
    """Refuses a folder that is none, and files that would lose against packaged ones of the same name."""
    if folder is None:
        return None
    absolute = Path(folder).expanduser().resolve()
    if not absolute.is_dir():
        raise ConfigError(f"the config folder {str(folder)!r} does not exist; --config-dir takes a folder")
    for group in GROUPS:
        packaged = _yaml_names(resources.files(CONFIG_PACKAGE).joinpath(group))
        for name in sorted(set(_yaml_names(absolute / group)) & set(packaged)):
            raise ConfigError(f"{group}/{name}.yaml in {str(folder)!r} has the name of a packaged file; rename it")
    return absolute


def _yaml_names(folder: Any, prefix: str = "") -> list[str]:
    if not folder.is_dir():
        return []
    names = []
    for entry in folder.iterdir():
        if entry.is_dir():
            names += _yaml_names(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".yaml"):
            names.append(prefix + entry.name.removesuffix(".yaml"))
    return names


def _build(tree: Mapping[str, Any], files: _Files) -> CaptainConfig:
    """Resolves role names to specifications and checks the Captain's part of a tree."""
    data = {key: value for key, value in tree.items() if key in CaptainConfig.model_fields}
    roles = data.get("roles")
    if isinstance(roles, Mapping):
        data["roles"] = {role: _role_spec(value, files) for role, value in roles.items() if value is not None}
    try:
        return CaptainConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(describe_errors(error)) from error


def _role_spec(value: Any, files: _Files) -> Any:
    if not isinstance(value, str):
        return value
    return files.compose([f"model={files.checked('model', value)}"])["model"]


def _parse(text: str) -> Override:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(_with_free_key(text))
    except HydraException as error:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"{text!r} is no override; write KEY=VALUE") from error
        quoted = value.strip("'\"").replace("\\", "/").replace('"', '\\"')
        argument = shlex.quote(f'{key}="{quoted}"')
        remedy = f"put the value in double quotes inside the argument: {argument}"
        raise ConfigError(f"cannot read the override {text!r}; {remedy}") from error
    if override.is_sweep_override():
        raise ConfigError(f"{text!r} is a sweep, for `captain run --multirun` only; or put the value in quotes")
    if override.key_or_group.partition("/")[0].partition(".")[0] == "hydra":
        raise ConfigError(f"{text!r} sets Hydra itself, which has no effect here; --config-dir adds a folder")
    return override


def _with_free_key(text: str) -> str:
    """Writes `models.paths.NAME=PATH` as a mapping: the dots of a name such as `qwen2.5` are no levels."""
    key, _, value = text.lstrip("+").partition("=")
    for parent in (path.removesuffix(".*") for path in setting_paths(CaptainConfig) if path.endswith(".*")):
        if key.startswith(f"{parent}.") and value:
            return f"++{parent}={{{key.removeprefix(f'{parent}.')}: {value}}}"
    return text


def _check_groups(overrides: Iterable[Override], files: _Files) -> str | None:
    """Checks the names chosen for groups; gives the scenario's."""
    scenario: str | None = None
    for override in overrides:
        group, name = override.key_or_group, override.value()
        if group not in GROUPS or override.is_delete() or override.package is not None:
            continue
        if isinstance(name, dict):
            raise ConfigError(f"{group}= takes the name of a file; set single values by {group}.KEY=VALUE")
        if name is not None:
            files.checked(group, str(name))
        if group == "scenario":
            scenario = None if name is None else str(name).removesuffix(".yaml")
    return scenario


def _declared(overrides: Sequence[Override], files: _Files) -> dict[str, Any]:
    """Composes with the choices of groups alone, to see which keys the files declare; runs inside `_hydra()`."""
    if all(is_setting(o.key_or_group) or o.key_or_group in GROUPS for o in overrides):
        return {}
    return files.compose([str(o.input_line) for o in overrides if o.key_or_group in GROUPS])


def _forced(override: Override, declared: Mapping[str, Any]) -> str:
    """Gives the text for Hydra: every key of the schema may be set, whether or not a file declares it."""
    key, text = override.key_or_group, str(override.input_line)
    if key in GROUPS or override.is_delete():
        return text.lstrip("+")
    if not is_setting(key):
        root = key.partition(".")[0]
        known = _leaves({k: v for k, v in declared.items() if k not in CaptainConfig.model_fields})
        adds = override.is_add() or override.is_force_add()
        if key not in known and not (adds and root in declared and root not in CaptainConfig.model_fields):
            raise ConfigError(unknown_name("setting", key, [*setting_paths(CaptainConfig), *known]))
        return text
    return "++" + text.lstrip("+")


def _leaves(tree: Mapping[str, Any], at: str = "") -> list[str]:
    paths = []
    for key, value in tree.items():
        paths.append(f"{at}{key}")
        if isinstance(value, Mapping):
            paths += _leaves(value, f"{at}{key}.")
    return paths


def _one_line(error: Exception) -> str:
    parts = [str(error), *([str(error.__cause__)] if error.__cause__ is not None else [])]
    lines = [line.strip() for part in parts for line in part.splitlines()]
    if "Config search path:" in lines:
        lines = lines[: lines.index("Config search path:")]
    kept = [line for line in lines if line and not line.startswith(("full_key:", "object_type=", "See https"))]
    return "the configuration cannot be composed: " + " ".join(kept)


def _nested(settings: Mapping[Any, Any]) -> dict[str, Any]:
    """Turns dotted keys of the first level into nested dictionaries, and settings objects into data."""
    tree: dict[str, Any] = {}
    for key, value in settings.items():
        change = _plain(value)
        for part in reversed(str(key).split(".")):
            change = {part: change}
        tree = _merged(tree, change)
    return tree


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return value


def _merged(base: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Gives `base` with `changes` on top, mappings merged and everything else replaced."""
    result = dict(base) if isinstance(base, Mapping) else {}
    for key, value in changes.items():
        result[key] = _merged(result.get(key), value) if isinstance(value, Mapping) else value
    return result
