"""Profiles of experts: what one says, and where they are read from."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_core.core_schema import ValidationInfo

from captain.config import Role
from captain.errors import ConfigError
from captain.library.parameters import FactoryParameter, check_parameter_names
from captain.library.profile_files import FoundEntry, entries_in
from captain.library.spelling import did_you_mean, neighbours

Origin = Literal["packaged", "user", "written", "foreign"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]


class Provenance(BaseModel):
    """Where a written expert comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    """The model that wrote it."""
    date: datetime
    run: str | None = None
    """The folder of the run that needed it."""


class AgentProfile(BaseModel):
    """One expert of the library."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    """Unique; ASCII letters, digits and underscores, so that every provider accepts it as the name of a speaker."""
    title: Text
    domain: Text
    description: Text
    """For others: what the expert can do."""
    instructions: Text
    """For the expert: how to work. One that a factory makes may do without."""
    tools: tuple[str, ...] = ()
    """Names of tools that the expert always gets."""
    tools_query: str | None = None
    """Words to search the tool library with; the role's description when absent."""
    role: Role = "expert"
    """Whose model speaks for the expert."""
    kind: Literal["assistant", "coder", "factory"] = "assistant"
    """`assistant` talks, and writes programs where the part is to be computed; a `coder` may compute in any part, and
    its code blocks are executed; a `factory` expert is made by a function."""
    factory: str | None = Field(default=None, validate_default=True, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """`package.module:function`, for the kind `factory`; `library.factories` says which modules are allowed."""
    parameters: dict[str, FactoryParameter] = Field(default_factory=dict)
    """What the function takes beside its context: name -> type and meaning."""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    """Tasks that the expert is right for."""
    version: int = Field(default=1, ge=1)
    origin: Origin = "packaged"
    provenance: Provenance | None = None
    """Who wrote it, when and for what; for written ones."""
    source: str | None = None
    """The package, folder or file that it was read from."""

    @model_validator(mode="before")
    @classmethod
    def _without_instructions(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("kind") == "factory" and "description" in values:
            return {"instructions": values["description"], **values}
        return values

    @field_validator("factory")
    @classmethod
    def _named_where_needed(cls, factory: str | None, info: ValidationInfo) -> str | None:
        if (factory is not None) != (info.data.get("kind") == "factory"):
            raise ValueError("the kind 'factory', and it alone, names a function as package.module:function")
        return factory

    @field_validator("parameters")
    @classmethod
    def _fit_for_a_call(cls, parameters: dict[str, FactoryParameter], info: ValidationInfo) -> Any:
        check_parameter_names(parameters)
        if parameters and info.data.get("kind") != "factory":
            raise ValueError("only the kind 'factory' takes parameters")
        return parameters

    def brief(self) -> str:
        """Title and description: who the expert is."""
        return f"{self.title}: {self.description}"

    def meaning(self) -> str:
        """The text that stands for the expert when a search compares meanings."""
        return " ".join([self.brief(), ", ".join(self.tags), *self.examples]).strip()

    def words(self) -> str:
        """The text whose words a search compares."""
        return " ".join([self.title, self.domain, self.description, *self.tags, *self.examples])


@dataclass(frozen=True)
class FoundProfile:
    """A profile and the place it was read from."""

    profile: AgentProfile
    where: str


def load_profiles(sources: Iterable[str]) -> list[AgentProfile]:
    """Read the profiles of all sources, in order.

    Args:
        sources: Dotted packages that ship `profiles/*.yaml`, folders of YAML files, or single files.

    Raises:
        ConfigError: A source is missing or empty, a profile is wrong (file, line and field are named), or two profiles
            have one name (both places are named).
    """
    return [found.profile for found in find_profiles(sources)]


def find_profiles(sources: Iterable[str]) -> list[FoundProfile]:
    """As `load_profiles`, with the place of each."""
    found: list[FoundProfile] = []
    for source in sources:
        origin, paths = source_files(source)
        place = absolute_source(source)
        entries = [entry for path in paths for entry in entries_in(path)]
        if not entries:
            raise ConfigError(
                f"library source {source!r} holds no profiles; expected YAML files with a list 'profiles'"
            )
        found += [read_profile(entry, origin, place) for entry in entries]
    check_names(found)
    return found


def find_kept(folder: Path, origin: Origin) -> list[FoundProfile]:
    """The profiles in a folder of the user's library, one file each; none when the folder is missing."""
    paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    return [read_profile(entry, origin, str(folder)) for path in paths for entry in entries_in(path)]


def write_profile(folder: Path, profile: AgentProfile) -> None:
    """Write one profile as a file of its own, whole or not at all.

    Raises:
        ConfigError: The folder cannot be written.
    """
    fields = profile.model_dump(mode="json", exclude_defaults=True, exclude={"domain", "source"}) | {
        "origin": profile.origin
    }
    text = yaml.safe_dump(
        {"domain": profile.domain, "profiles": [fields]}, allow_unicode=True, sort_keys=False, width=110
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, folder / f"{profile.name}.yaml")
        finally:
            Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(
            f"the expert {profile.name!r} cannot be kept in {str(folder)!r}: {error.strerror}; "
            "set library.user_dir to a folder that can be written, or library.keep_written=false"
        ) from error


def check_names(found: Iterable[FoundProfile]) -> None:
    """Refuse two profiles of one name, also when they differ in capitals only.

    Raises:
        ConfigError: Both places are named.
    """
    places: dict[str, FoundProfile] = {}
    for item in found:
        earlier = places.setdefault(item.profile.name.casefold(), item)
        if earlier is not item:
            packaged = " of the package" if earlier.profile.origin == "packaged" else ""
            raise ConfigError(
                f"{item.where}: the name {item.profile.name!r} is taken by the profile{packaged} at {earlier.where}; "
                "choose another name"
            )


def read_profile(entry: FoundEntry, origin: Origin, source: str) -> FoundProfile:
    """The profile of an entry.

    Raises:
        ConfigError: It is wrong; file, line and field are named.
    """
    profile = entry.build(AgentProfile, {"origin": origin})
    # A file cannot make itself more trusted than the place where it lies.
    return FoundProfile(profile.model_copy(update={"origin": origin, "source": source}), entry.where())


def absolute_source(source: str) -> str:
    """The same text for a folder whatever the working directory is; packages stay as they are."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


def source_files(source: str) -> tuple[Origin, list[Traversable]]:
    """The YAML files of a source, and whose they are.

    Raises:
        ConfigError: There is no such source.
    """
    path = Path(source).expanduser()
    package = _package_folder(source)
    if package is not None:
        return "packaged", _yaml_files(package.joinpath("profiles"))
    if path.is_dir():
        return "user", _yaml_files(path) or _yaml_files(path / "profiles")
    if path.is_file():
        return "user", [path]
    if "/" in source or source.endswith((".yaml", ".yml")):
        place = "" if path.is_absolute() else f" ({str(path.absolute())!r})"
        raise ConfigError(f"library source {source!r}{place} does not exist; give a package, a folder or a YAML file")
    hint = did_you_mean(source, neighbours(source))
    raise ConfigError(f"library source {source!r} is neither a package nor a folder or file{hint}")


def _package_folder(source: str) -> Traversable | None:
    """The folder of an importable package; a mere folder in the working directory is none."""
    if not all(part.isidentifier() for part in source.split(".")):
        return None
    try:
        found = importlib.util.find_spec(source)
    except ImportError:
        return None
    return files(source) if found is not None and found.origin is not None else None


def _yaml_files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        return []
    wanted = [item for item in folder.iterdir() if item.is_file() and item.name.endswith((".yaml", ".yml"))]
    return sorted(wanted, key=lambda item: item.name)
