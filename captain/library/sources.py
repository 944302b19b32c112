"""Folders whose members can be seated, such as a trained run (`library.sources`).

    RUN_DIR/
      members.yaml        domain: ..., profiles: [...], as in every library
      profiles/*.yaml     instead of it, when there are many
      ...                 whatever the members are made from

The profiles are ordinary ones, or of the kind `factory`: these find their data below `SeatContext.source`, which is
this folder. Like all files of the user's they have the origin `user`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from captain.config import LibraryConfig
from captain.errors import ConfigError
from captain.library.factories import check_factories
from captain.library.profile_files import entries_in
from captain.library.profiles import FoundProfile, check_names, find_profiles, read_profile

MEMBERS = "members.yaml"
PROFILES = "profiles"


def find_members(folders: Iterable[str]) -> list[FoundProfile]:
    """Reads the members of all folders, in order.

    Raises:
        ConfigError: A folder is missing or has no members, or a profile is wrong.
    """
    found: list[FoundProfile] = []
    for given in folders:
        folder = Path(given).expanduser()
        if not folder.is_dir():
            place = "" if folder.is_absolute() else f" ({str(folder.absolute())!r})"
            raise ConfigError(
                f"library.sources: the folder {given!r}{place} does not exist; give a folder with a {MEMBERS}"
            )
        paths = [folder / MEMBERS] if (folder / MEMBERS).is_file() else sorted((folder / PROFILES).glob("*.yaml"))
        entries = [entry for path in paths for entry in entries_in(path)]
        if not entries:
            raise ConfigError(f"library.sources: {given!r} has no members; expected {MEMBERS} or {PROFILES}/*.yaml")
        found += [read_profile(entry, "user", str(folder.resolve())) for entry in entries]
    return found


def find_configured(settings: LibraryConfig) -> list[FoundProfile]:
    """All profiles that a configuration names: those of `profiles`, the members of `sources`, then those of `foreign`.

    A stranger's profile stays one whatever its file says, and brings no function with it.

    Raises:
        ConfigError: A profile is wrong, two have one name, a factory is not allowed, or a binding fits no parameter.
    """
    found = [*find_profiles(settings.profiles), *find_members(settings.sources)]
    found += [_foreign(one) for one in (find_profiles(settings.foreign) if settings.foreign else [])]
    check_names(found)
    check_factories(found, settings.factories, settings.bindings)
    return found


def _foreign(found: FoundProfile) -> FoundProfile:
    profile = found.profile
    if profile.factory is not None:
        raise ConfigError(
            f"{found.where}: the profile {profile.name!r} comes from a stranger and may not name a factory"
        )
    return replace(found, profile=profile.model_copy(update={"origin": "foreign"}))
