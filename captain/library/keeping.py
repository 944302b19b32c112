"""The user's folder of experts: written ones are kept there, and the user's own are put there."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from captain.errors import ConfigError
from captain.library.likeness import SAME_WORDS, shared_words
from captain.library.profiles import AgentProfile, Origin, write_profile

if TYPE_CHECKING:
    from captain.library.library import Library

FOLDERS: dict[Origin, str] = {"user": "own", "written": "experts"}
"""Folders below the user's, by the origin of the experts in them."""

_COMPARED = 5
_LOCK_SECONDS = 120


@dataclass(frozen=True)
class Kept:
    """What became of an expert that was to be kept."""

    profile: AgentProfile
    """The stored one; when it was refused, the one that does the same already."""
    refused: bool = False


class Keeper:
    """Changes the user's folder; one change at a time, also across processes, and never a packaged expert."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._changing = threading.Lock()

    def keep(self, profile: AgentProfile) -> Kept:
        """Store a written expert, under a free name when another one has its own. Blocks.

        Raises:
            ConfigError: The folder cannot be written.
        """
        profile = AgentProfile.model_validate({**profile.model_dump(), "origin": "written"})
        with self._change(f"the expert {profile.name!r} cannot be kept"):
            alike = self.alike(profile)
            if alike is not None:
                return Kept(alike, refused=True)
            profile = profile.model_copy(update={"name": self._free_name(profile.name)})
            write_profile(self.folder("written"), profile)
        return Kept(profile)

    def add(self, profiles: Sequence[AgentProfile]) -> None:
        """Store experts of the user's own. All or none are stored. Blocks.

        Raises:
            ConfigError: One has the name of an expert that is there, or does the same; it is named.
        """
        with self._change("the experts cannot be added"):
            known = {expert.name.casefold() for expert in self._library.experts()}
            for profile in profiles:
                if profile.name.casefold() in known:
                    raise ConfigError(f"the library has an expert {profile.name!r} already; choose another name")
                alike = self.alike(profile)
                if alike is not None:
                    raise ConfigError(
                        f"the expert {profile.name!r} does what {alike.name!r} of the library does already; "
                        "say in its description what it alone can do, or leave it out"
                    )
            for profile in profiles:
                write_profile(self.folder("user"), profile.model_copy(update={"origin": "user"}))

    def promote(self, name: str) -> AgentProfile:
        """Make a written expert the user's own, which counts as much as one that the user wrote. Blocks.

        Raises:
            ConfigError: There is none of that name, or it was not written by a model.
        """
        with self._change(f"the expert {name!r} cannot be promoted"):
            profile = self._library.expert(name)
            if profile.origin != "written":
                owner = "packaged with a library" if profile.origin == "packaged" else "your own already"
                raise ConfigError(f"the expert {name!r} is {owner}; only written experts are promoted")
            promoted = profile.model_copy(update={"origin": "user"})
            write_profile(self.folder("user"), promoted)
            self._path(profile).unlink(missing_ok=True)
        return promoted

    def forget(self, name: str) -> Path:
        """Remove an expert from the user's folder and give the file that is gone. Blocks.

        Raises:
            ConfigError: There is none of that name, or it does not lie in the user's folder.
        """
        with self._change(f"the expert {name!r} cannot be forgotten"):
            path = self.place(name)
            path.unlink()
        return path

    def rewrite(self, name: str, text: str) -> None:
        """Put another text into the file of an expert of the user's folder. Blocks.

        Raises:
            ConfigError: It does not lie there.
        """
        with self._change(f"the expert {name!r} cannot be changed"):
            path = self.place(name)
            part = path.with_name(f".{path.name}.part")
            part.write_text(text, encoding="utf-8")
            part.replace(path)

    def place(self, name: str) -> Path:
        """The file of an expert of the user's folder.

        Raises:
            ConfigError: There is none of that name, or it does not lie there.
        """
        profile = self._library.expert(name)
        if profile.origin == "packaged":
            raise ConfigError(
                f"the expert {name!r} is packaged with a library and stays as it is; "
                "write one of your own under another name, or leave its library out of library.profiles"
            )
        path = self._path(profile)
        if not path.is_file():
            raise ConfigError(f"the expert {name!r} lies in a source of library.profiles; change its file there")
        return path

    def folder(self, origin: Origin) -> Path:
        """Where experts of an origin (`user` or `written`) lie."""
        return self._library.folder / FOLDERS[origin]

    def alike(self, profile: AgentProfile) -> AgentProfile | None:
        """The expert that is described as a new one is, by meaning or by words; None when there is none. Blocks."""
        for expert in self._library.experts():
            if shared_words(expert.brief(), profile.brief()) >= SAME_WORDS:
                return expert
        near = self._library.nearest(profile.meaning(), _COMPARED)
        vectors = self._library.embedding().encode([profile.brief(), *(known.brief() for known in near)])
        cosines = [float(row @ vectors[0]) for row in vectors[1:]]
        best = max(zip(cosines, range(len(near)), strict=True), default=None)
        return near[best[1]] if best is not None and best[0] > self._library.config.library.same_meaning else None

    def _path(self, profile: AgentProfile) -> Path:
        return self.folder(profile.origin) / f"{profile.name}.yaml"

    def _free_name(self, name: str) -> str:
        """The name, or with a number when another expert has it."""
        known = {profile.name.casefold() for profile in self._library.experts()}
        free, number = name, 2
        while free.casefold() in known:
            free, number = f"{name[:60]}_{number}", number + 1
        return free

    @contextmanager
    def _change(self, failure: str) -> Iterator[None]:
        """One change at a time, on what the folder holds now: other processes may have changed it meanwhile."""
        from filelock import FileLock, Timeout

        remedy = "set library.user_dir to a folder that can be written"
        lock = FileLock(self._library.folder / "experts.lock", timeout=_LOCK_SECONDS)
        with self._changing:
            try:
                self._library.folder.mkdir(parents=True, exist_ok=True)
                lock.acquire()
            except Timeout:
                raise ConfigError(f"{failure}: another process holds {lock.lock_file!r}; stop it or wait") from None
            except OSError as error:
                place = str(self._library.folder)
                raise ConfigError(f"{failure} in {place!r}: {error.strerror or error}; {remedy}") from error
            try:
                self._library.reload()
                yield
            except OSError as error:
                raise ConfigError(f"{failure}: {error.strerror or error}; {remedy}") from error
            finally:
                self._library.reload()
                lock.release()
