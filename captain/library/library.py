"""The library: experts and tools, by name and by meaning, and the place where written experts are kept."""

from __future__ import annotations

import asyncio
import logging
import threading
from functools import cached_property
from pathlib import Path

from captain.config import CaptainConfig
from captain.embeddings import Embedding, build_embedding
from captain.errors import ConfigError
from captain.library.index import Index, QueryEmbedder
from captain.library.loading import load_tools
from captain.library.profiles import AgentProfile, find_written, load_profiles, write_profile
from captain.library.ranking import Hit
from captain.library.spelling import did_you_mean
from captain.tools import ToolSpec

_logger = logging.getLogger(__name__)

SAME_MEANING = 0.92
"""Cosine of two descriptions from which on a new expert is taken to be the old one."""

_COMPARED = 5


class Library:
    """Experts and tools of a configuration. Nothing is read before it is asked for; safe for concurrent use.

    Experts come from the sources of the configuration and from the user's folder, where `keep` puts written ones.
    """

    def __init__(self, config: CaptainConfig) -> None:
        self.config = config
        self._embedding_lock = threading.Lock()
        self._keeping = threading.Lock()
        self._built: Embedding | None = None
        self._queries = QueryEmbedder(self.embedding)

    @cached_property
    def folder(self) -> Path:
        """The user's folder: `experts/` and `index/`."""
        if self.config.library.user_dir is not None:
            return Path(self.config.library.user_dir).expanduser()
        from platformdirs import user_data_path

        return user_data_path("captain", appauthor=False)

    def embedding(self) -> Embedding:
        """What texts are embedded with."""
        with self._embedding_lock:
            if self._built is None:
                self._built = build_embedding(self.config.embedding, self.config.models)
            return self._built

    def experts(self) -> list[AgentProfile]:
        """All experts: packaged ones, the user's own, and written ones that were kept.

        Raises:
            ConfigError: A profile is wrong; file and line are named.
        """
        return list(self._read.values())

    def tools(self) -> list[ToolSpec]:
        """All tools of the configured modules, also those that miss something here.

        Raises:
            ConfigError: A module or a tool is wrong.
        """
        return list(self._tools.values())

    def expert(self, name: str) -> AgentProfile:
        """The expert of a name.

        Raises:
            ConfigError: There is none; the nearest name is given.
        """
        known = {profile.name: profile for profile in self.experts()}
        if name not in known:
            raise ConfigError(f"the library has no expert {name!r}{did_you_mean(name, known)}")
        return known[name]

    def tool(self, name: str) -> ToolSpec:
        """The tool of a name.

        Raises:
            ConfigError: There is none; the nearest name is given.
        """
        if name not in self._tools:
            raise ConfigError(f"the library has no tool {name!r}{did_you_mean(name, self._tools)}")
        return self._tools[name]

    async def search_experts(self, text: str, top_k: int | None = None) -> list[Hit[AgentProfile]]:
        """The experts that fit a text, best first; none when nothing is near enough.

        Args:
            text: A role or a need, in words.
            top_k: How many at most; the configured number when absent.
        """
        settings = self.config.library
        wanted = settings.top_k if top_k is None else top_k
        return await self._expert_index.search(text, self.experts(), top_k=wanted, threshold=settings.threshold)

    async def search_tools(self, text: str, top_k: int | None = None) -> list[Hit[ToolSpec]]:
        """The tools that fit a text and can work here, best first; none when nothing is near enough.

        Args:
            text: A need, in words.
            top_k: How many at most; the configured number when absent.
        """
        settings = self.config.tools
        wanted = settings.top_k if top_k is None else top_k
        if not settings.enabled:
            return []
        return await self._tool_index.search(text, self._usable, top_k=wanted, threshold=settings.threshold)

    async def keep(self, profile: AgentProfile) -> AgentProfile:
        """Store a written expert in the user's library, where every later run finds it.

        Returns:
            The stored profile (under a free name, when another written expert has its own), or the one that is there
            already when its description means the same.

        Raises:
            ConfigError: The name is that of a packaged expert or one of the user's, or the folder cannot be written.
        """
        return await asyncio.to_thread(self._keep, profile)

    def _keep(self, profile: AgentProfile) -> AgentProfile:
        profile = AgentProfile.model_validate({**profile.model_dump(), "origin": "written"})
        with self._keeping:
            self.__dict__.pop("_read", None)  # other processes may have kept experts meanwhile
            alike = self._alike(profile)
            if alike is not None:
                return alike
            profile = profile.model_copy(update={"name": self._free_name(profile.name)})
            write_profile(self._written_folder, profile)
            self._read[profile.name] = profile
            self._expert_index.ranking(self.experts())
        return profile

    def _alike(self, profile: AgentProfile) -> AgentProfile | None:
        """An expert that is described as a new one is."""
        embedding = self.embedding()
        vector, brief = embedding.encode([profile.meaning(), profile.brief()])
        near = self._expert_index.ranking(self.experts()).nearest(vector, _COMPARED)
        cosines = [float(row @ brief) for row in embedding.encode([known.brief() for known in near])]
        best = max(zip(cosines, range(len(near)), strict=True), default=None)
        return near[best[1]] if best is not None and best[0] > SAME_MEANING else None

    def _free_name(self, name: str) -> str:
        """The name, or with a number when another written expert has it."""
        known = {profile.name.casefold(): profile for profile in self.experts()}
        taken = known.get(name.casefold())
        if taken is not None and taken.origin != "written":
            raise ConfigError(f"the name {name!r} belongs to another expert of the library; choose another name")
        free, number = name, 2
        while free.casefold() in known:
            free, number = f"{name[:60]}_{number}", number + 1
        return free

    @property
    def _written_folder(self) -> Path:
        return self.folder / "experts"

    @cached_property
    def _read(self) -> dict[str, AgentProfile]:
        experts = {profile.name: profile for profile in load_profiles(self.config.library.profiles)}
        taken = {name.casefold() for name in experts}
        for written in find_written(self._written_folder):
            if written.profile.name.casefold() in taken:
                # A name that a newer library took must not stop every run.
                _logger.warning("%s: left out, the library has another expert of that name", written.where)
            else:
                experts[written.profile.name] = written.profile
        return experts

    @cached_property
    def _tools(self) -> dict[str, ToolSpec]:
        modules = self.config.tools.modules if self.config.tools.enabled else []
        return {spec.name: spec for spec in load_tools(modules)}

    @cached_property
    def _usable(self) -> list[ToolSpec]:
        return [spec for spec in self._tools.values() if not spec.missing()]

    @cached_property
    def _expert_index(self) -> Index[AgentProfile]:
        return Index(
            "experts",
            folder=self.folder / "index",
            sources=[_absolute(source) for source in self.config.library.profiles],
            embedding=self.embedding,
            queries=self._queries,
            describe=lambda profile: (profile.name, profile.meaning(), profile.words()),
        )

    @cached_property
    def _tool_index(self) -> Index[ToolSpec]:
        return Index(
            "tools",
            folder=self.folder / "index",
            sources=self.config.tools.modules,
            embedding=self.embedding,
            queries=self._queries,
            describe=_describe_tool,
        )


def _describe_tool(spec: ToolSpec) -> tuple[str, str, str]:
    name = spec.name.replace("_", " ")
    words = " ".join([name, spec.category, spec.description, *(parameter.description for parameter in spec.parameters)])
    return spec.name, f"{name}: {spec.description}", words


def _absolute(source: str) -> str:
    """The same text for a folder whatever the working directory is; packages stay as they are."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source
