"""The search over one kind of entries: built when it is first needed, safe to use from many tasks at once."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from captain.embeddings.embedding import Embedding
from captain.errors import ConfigError
from captain.library.hits import Hit, Rules, Standing
from captain.library.ranking import Entry, Ranking
from captain.library.vectors import VectorStore

if TYPE_CHECKING:
    from captain.embeddings.embedding import Vector

Item = TypeVar("Item")

_REMEMBERED = 1024


@dataclass(frozen=True)
class KindReport:
    """What was done to the index of one kind of entries.

    Attributes:
        kind: `experts` or `tools`.
        entries: How many it has now.
        embedded: How many texts were embedded.
        reused: How many entries were there already, or had their vectors at hand.
        removed: How many were taken out.
        seconds: Wall clock.
        audited: All vectors were read back and are right.
    """

    kind: str
    entries: int
    embedded: int
    reused: int
    removed: int
    seconds: float
    audited: bool


@dataclass(frozen=True)
class IndexReport:
    """What was done to the index, kind by kind.

    Attributes:
        kinds: The experts' part and the tools' part.
        fingerprint: What decides the vectors.
        place: The folder or the server that keeps them.
    """

    kinds: tuple[KindReport, ...]
    fingerprint: str
    place: str

    @property
    def audited(self) -> bool:
        """All vectors of all kinds are right."""
        return all(kind.audited for kind in self.kinds)


class QueryEmbedder:
    """Embeds queries and remembers them; those that wait at the same time are embedded in one batch, each once."""

    def __init__(self, embedding: Callable[[], Embedding]) -> None:
        self._embedding = embedding
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    async def embed(self, text: str) -> Vector:
        """The vector of a query; the event loop is free meanwhile."""
        known = self._known.get(text)
        if known is not None:
            return known
        self._waiting[text] = None
        return await asyncio.to_thread(self._embed, text)

    def _embed(self, text: str) -> Vector:
        with self._lock:
            if text not in self._known:
                batch = [text]
                while self._waiting:
                    waiting, _ = self._waiting.popitem(last=False)
                    if waiting != text and waiting not in self._known:
                        batch.append(waiting)
                self._known.update(zip(batch, self._embedding().encode(batch, query=True), strict=True))
            self._known.move_to_end(text)
            found = self._known[text]
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return found


class Index(Generic[Item]):
    """Entries that are searched by meaning and words."""

    def __init__(
        self,
        kind: str,
        *,
        folder: Path,
        sources: Sequence[str],
        embedding: Callable[[], Embedding],
        queries: QueryEmbedder,
        describe: Callable[[Item], Entry],
        url: str | None = None,
    ) -> None:
        """
        Args:
            kind: `experts` or `tools`.
            folder: Where the index is kept.
            sources: Where the entries come from.
            embedding: Gives the embedding when it is first needed.
            queries: Embeds queries.
            describe: What a search knows of an entry.
            url: A Chroma server that keeps the vectors.
        """
        self._kind = kind
        self._folder = folder
        self._sources = sources
        self._embedding = embedding
        self._queries = queries
        self._describe = describe
        self._url = url
        self._ranking: Ranking[Item] | None = None
        self._lock = threading.Lock()

    async def search(
        self,
        text: str,
        items: Sequence[Item],
        *,
        top_k: int,
        rules: Rules,
        record: Callable[[], Mapping[str, Standing]] | None = None,
    ) -> list[Hit[Item]]:
        """The best of the entries, best first. The event loop is not blocked by the embedding.

        Args:
            text: The query.
            items: What is searched; compared with last time's.
            top_k: How many at most.
            rules: What counts how much.
            record: Gives what the record of use makes of the entries; may block.

        Raises:
            ConfigError: The index belongs to another embedding.
        """
        if top_k < 1 or not text.strip():
            return []
        ranking = self._ranking
        if ranking is None or not _same(ranking.items, items):
            ranking = await asyncio.to_thread(self.ranking, items)
        if not ranking.items:
            return []
        vector = await self._queries.embed(text)
        length = ranking.vectors.shape[1]
        if len(vector) != length:
            raise ConfigError(
                f"the index of the {self._kind} has vectors of length {length}, {self._embedding().fingerprint()!r} "
                f"now gives {len(vector)}; run `captain library index --rebuild`"
            )
        standings = await asyncio.to_thread(record) if record is not None else None
        return ranking.search(text, vector, top_k=top_k, rules=rules, record=standings)

    def ranking(self, items: Sequence[Item]) -> Ranking[Item]:
        """The entries ready for a search; built again only when they differ from last time's. Blocks.

        Raises:
            ConfigError: The index belongs to another embedding.
        """
        with self._lock:
            if self._ranking is None or not _same(self._ranking.items, items):
                entries = [self._describe(item) for item in items]
                vectors = self._store().vectors(_texts(entries), self._embedding().encode)
                self._ranking = Ranking(items, vectors, entries)
            return self._ranking

    def build(self, items: Sequence[Item], *, rebuild: bool = False) -> KindReport:
        """Bring the index to the entries and audit it, also when nothing has changed. Blocks.

        Args:
            items: The entries.
            rebuild: Start anew.

        Raises:
            ConfigError: The index belongs to another embedding, or cannot be built.
        """
        start = time.perf_counter()
        with self._lock:
            entries = [self._describe(item) for item in items]
            built = self._store().build(_texts(entries), self._embedding().encode, rebuild=rebuild)
            self._ranking = None
        return KindReport(
            kind=self._kind,
            entries=len(entries),
            embedded=built.embedded,
            reused=len(entries) - built.embedded,
            removed=built.removed,
            seconds=time.perf_counter() - start,
            audited=built.audited,
        )

    def _store(self) -> VectorStore:
        return VectorStore(
            self._folder,
            kind=self._kind,
            sources=self._sources,
            fingerprint=self._embedding().fingerprint(),
            url=self._url,
        )


def _texts(entries: Sequence[Entry]) -> dict[str, str]:
    return {entry.key: entry.meaning for entry in entries}


def _same(before: Sequence[Item], now: Sequence[Item]) -> bool:
    return before is now or (len(before) == len(now) and all(map(operator.eq, before, now)))
