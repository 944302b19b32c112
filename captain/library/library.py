"""The library: experts and tools, by name and by meaning, and the place where written experts are kept."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from captain.config import CaptainConfig
from captain.embeddings import Embedding, build_embedding
from captain.errors import ConfigError
from captain.library.hits import Hit, Rules
from captain.library.index import Index, IndexReport, QueryEmbedder
from captain.library.keeping import FOLDERS, Keeper, Kept
from captain.library.loading import load_tools
from captain.library.parts import merged, parts_of
from captain.library.profiles import AgentProfile, find_kept
from captain.library.ranking import Entry
from captain.library.sources import find_configured
from captain.library.spelling import did_you_mean
from captain.library.use import UseRecord
from captain.mcp_servers.toolbox import Toolbox
from captain.tools import ToolSpec

_logger = logging.getLogger(__name__)

_POOL = 4
"""How many times more tools are looked for by each sentence of a need than are offered in the end."""


class Library:
    """Experts and tools of a configuration. Nothing is read before it is asked for; safe for concurrent use.

    Experts come from the sources of the configuration and from the user's folder, where `keep` puts written ones.
    """

    def __init__(self, config: CaptainConfig) -> None:
        self.config = config
        self._embedding_lock = threading.Lock()
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
        """All tools of the configured modules, also those that miss something here, and those of listed servers.

        Raises:
            ConfigError: A module or a tool is wrong.
        """
        return list(self._all_tools().values())

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
        known = self._all_tools()
        if name not in known:
            raise ConfigError(f"the library has no tool {name!r}{did_you_mean(name, known)}")
        return known[name]

    def named_tools(self, names: Sequence[str]) -> list[ToolSpec]:
        """The tools that a profile names, as far as they can work here.

        Raises:
            ConfigError: There is no such tool, and no server that could not be used and might have had it.
        """
        wanted = [name for name in names if name in self._all_tools() or not self.servers.faults]
        return [tool for tool in map(self.tool, wanted) if not tool.missing()]

    async def list_servers(self) -> dict[str, Any]:
        """Ask the configured MCP servers for their tools, unless they were heard before; one that fails is left out.

        Returns:
            What is known of all of them, as JSON; `servers.adopt` takes it instead of asking.
        """
        return await self.servers.list() if self.config.tools.enabled and self.servers.settings else {}

    async def search_experts(self, text: str, top_k: int | None = None) -> list[Hit[AgentProfile]]:
        """The experts that fit a text, best first; none when nothing is near enough.

        Args:
            text: A role or a need, in words.
            top_k: How many at most; the configured number when absent.
        """
        settings = self.config.library
        wanted = settings.top_k if top_k is None else top_k
        record = self._uses.standings if settings.rank_by_use else None
        rules = self.expert_rules()
        return await self._expert_index.search(text, self.experts(), top_k=wanted, rules=rules, record=record)

    def expert_rules(self) -> Rules:
        """How the configuration wants experts to be scored and chosen."""
        settings = self.config.library
        return Rules(
            threshold=settings.threshold,
            lexical_share=settings.lexical_share,
            domain_share=settings.domain_share,
            spread=settings.spread,
            diversity=settings.diversity,
        )

    async def survey_experts(
        self, texts: Sequence[str], *, rules: Sequence[Rules], top_k: int
    ) -> list[list[list[Hit[AgentProfile]]]]:
        """Search with many texts under several rules; each text is embedded once, and the record of use is left out.

        Args:
            texts: Roles or needs, in words.
            rules: Ways of scoring.
            top_k: How many hits at most for each text.

        Returns:
            For each of the rules, in order, the hits of each text, in order.
        """

        def survey() -> list[list[list[Hit[AgentProfile]]]]:
            vectors = self.embedding().encode(list(texts), query=True)
            ranking = self._expert_index.ranking(self.experts())
            pairs = list(zip(texts, vectors, strict=True))
            return [[ranking.search(text, vector, top_k=top_k, rules=one) for text, vector in pairs] for one in rules]

        return await asyncio.to_thread(survey)

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
        rules = Rules(
            threshold=settings.threshold,
            lexical_share=self.config.library.lexical_share,
            domain_share=settings.field_share,
            domain_words=0.0,
            diversity=self.config.library.diversity,
        )
        await self.list_servers()
        usable = self._usable()
        searches = (self._tool_index.search(part, usable, top_k=wanted * _POOL, rules=rules) for part in parts_of(text))
        found = await asyncio.gather(*searches)
        return merged(found, group=lambda tool: tool.category, spread=settings.spread, top_k=wanted)

    def index(self, rebuild: bool = False) -> IndexReport:
        """Bring the index to the experts and to the tools that can work here, and audit it. Blocks.

        Args:
            rebuild: Start anew, also over an index that belongs to another embedding.

        Raises:
            ConfigError: The index belongs to another embedding, or cannot be built.
        """
        kinds = (
            self._expert_index.build(self.experts(), rebuild=rebuild),
            self._tool_index.build(self._usable(), rebuild=rebuild),
        )
        place = self.config.library.chroma_url or str(self.folder / "index")
        return IndexReport(kinds, fingerprint=self.embedding().fingerprint(), place=place)

    def record(
        self,
        expert: str,
        *,
        key: str,
        scenario: str | None,
        run: str,
        outcome: float | None,
        calls: int,
        tokens: int,
    ) -> None:
        """Write down one use of an expert, unless `library.use_record` is off. Blocks, for milliseconds as a rule.

        A failure costs a warning, never the run.

        Args:
            expert: Its name.
            key: What tells the uses of a run apart, such as the subtask and attempt; the same use counts once.
            scenario: The scenario's name; nothing for a task that was simply solved.
            run: The run's id.
            outcome: 1 for accepted work, 0 for work that was not, nothing while that is unknown.
            calls: Its model calls.
            tokens: Their prompt and completion tokens.
        """
        if self.config.library.use_record:
            self._uses.add(expert, key=key, scenario=scenario, run=run, outcome=outcome, calls=calls, tokens=tokens)

    def stats(self) -> dict[str, Any]:
        """How many experts and tools there are, and how often each expert was seated, by scenario (`-`: none). Blocks.

        Returns:
            `experts`, `tools`: integers. `selections`: expert -> scenario -> integer. `uses`: expert -> scenario ->
            `judged`, `successes`, `calls` and `mean_tokens`.
        """
        uses = self._uses.stats()
        return {
            "experts": len(self.experts()),
            "tools": len(self.tools()),
            "selections": {
                expert: {scenario: of.selections for scenario, of in scenarios.items()}
                for expert, scenarios in uses.items()
            },
            "uses": {
                expert: {scenario: of.summary() for scenario, of in scenarios.items()}
                for expert, scenarios in uses.items()
            },
        }

    async def keep(self, profile: AgentProfile) -> Kept:
        """Store a written expert in the user's library, where every later run finds it.

        Returns:
            The stored profile (under a free name, when another expert has its own); or, as refused, the one that is
            there already and does the same by its description.

        Raises:
            ConfigError: The folder cannot be written.
        """
        return await asyncio.to_thread(self._keep, profile)

    async def alike(self, profile: AgentProfile) -> AgentProfile | None:
        """The expert that is described as a new one is; None when there is none."""
        return await asyncio.to_thread(self.keeper.alike, profile)

    async def likeness(self, text: str, other: str) -> float:
        """How near two texts are in meaning: their cosine."""
        first, second = await asyncio.to_thread(self.embedding().encode, [text, other])
        return float(first @ second)

    def _keep(self, profile: AgentProfile) -> Kept:
        kept = self.keeper.keep(profile)
        self._expert_index.ranking(self.experts())
        return replace(kept, profile=self.expert(kept.profile.name))

    @cached_property
    def keeper(self) -> Keeper:
        """Changes the user's folder of experts."""
        return Keeper(self)

    def forget(self, name: str) -> Path:
        """Remove an expert of the user's folder and its record of use; give the file that is gone. Blocks.

        Raises:
            ConfigError: There is none of that name, or it does not lie in the user's folder.
        """
        path = self.keeper.forget(name)
        self._uses.forget(name)
        return path

    def reload(self) -> None:
        """Read the experts anew when they are next asked for."""
        self.__dict__.pop("_read", None)

    def nearest(self, text: str, count: int) -> list[AgentProfile]:
        """The experts nearest in meaning, nearest first, however far they are. Blocks."""
        return self._expert_index.ranking(self.experts()).nearest(self.embedding().encode([text])[0], count)

    @cached_property
    def _read(self) -> dict[str, AgentProfile]:
        experts = {found.profile.name: found.profile for found in find_configured(self.config.library)}
        for origin in FOLDERS:
            taken = {name.casefold() for name in experts}
            for kept in find_kept(self.keeper.folder(origin), origin):
                if kept.profile.name.casefold() in taken:
                    # A name that a newer library took must not stop every run.
                    _logger.warning("%s: left out, the library has another expert of that name", kept.where)
                else:
                    experts[kept.profile.name] = kept.profile
        return experts

    @cached_property
    def _tools(self) -> dict[str, ToolSpec]:
        modules = self.config.tools.modules if self.config.tools.enabled else []
        return {spec.name: spec for spec in load_tools(modules)}

    @cached_property
    def _uses(self) -> UseRecord:
        return UseRecord(self.folder)

    @cached_property
    def servers(self) -> Toolbox:
        """The configured MCP servers, and what is known of their tools."""
        return Toolbox(self.config.tools.mcp)

    def _all_tools(self) -> dict[str, ToolSpec]:
        return {**self._tools, **self.servers.tools(self._tools)}

    @cached_property
    def _working(self) -> list[ToolSpec]:
        return [spec for spec in self._tools.values() if not spec.missing()]

    def _usable(self) -> list[ToolSpec]:
        return [*self._working, *(s for s in self.servers.tools(self._tools).values() if not s.missing())]

    @cached_property
    def _expert_index(self) -> Index[AgentProfile]:
        return Index(
            "experts",
            folder=self.folder / "index",
            sources=[_absolute(source) for source in (*self.config.library.profiles, *self.config.library.sources)],
            embedding=self.embedding,
            queries=self._queries,
            describe=_describe_expert,
            url=self.config.library.chroma_url,
        )

    @cached_property
    def _tool_index(self) -> Index[ToolSpec]:
        return Index(
            "tools",
            folder=self.folder / "index",
            sources=[*self.config.tools.modules, *(f"mcp:{name}" for name in self.config.tools.mcp)],
            embedding=self.embedding,
            queries=self._queries,
            describe=_describe_tool,
            url=self.config.library.chroma_url,
        )


def _describe_expert(profile: AgentProfile) -> Entry:
    # Written experts have nothing in common but that they were written: each is a field of its own.
    domain = f"written: {profile.name}" if profile.origin == "written" else profile.domain
    return Entry(profile.name, profile.meaning(), profile.words(), domain)


def _describe_tool(spec: ToolSpec) -> Entry:
    name = spec.name.replace("_", " ")
    words = " ".join([name, spec.category, spec.description, *(parameter.description for parameter in spec.parameters)])
    return Entry(spec.name, f"{name}: {spec.description}", words, spec.field or spec.category)


def _absolute(source: str) -> str:
    """The same text for a folder whatever the working directory is; packages stay as they are."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source
