"""The search over one kind of entries: built when it is first needed, safe to use from many tasks at once."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from captain.embeddings.embedding import Embedding
from captain.library.ranking import Hit, Ranking
from captain.library.vectors import VectorStore

if TYPE_CHECKING:
    from captain.embeddings.embedding import Vector

Item = TypeVar("Item")

_REMEMBERED = 1024


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
        describe: Callable[[Item], tuple[str, str, str]],
    ) -> None:
        """
        Args:
            kind: `experts` or `tools`.
            folder: Where the index is kept.
            sources: Where the entries come from.
            embedding: Gives the embedding when it is first needed.
            queries: Embeds queries.
            describe: Entry -> (id, text for the meaning, text for the words).
        """
        self._kind = kind
        self._folder = folder
        self._sources = sources
        self._embedding = embedding
        self._queries = queries
        self._describe = describe
        self._ranking: Ranking[Item] | None = None
        self._lock = threading.Lock()

    async def search(self, text: str, items: Sequence[Item], *, top_k: int, threshold: float) -> list[Hit[Item]]:
        """The best of the entries, best first. The event loop is not blocked by the embedding."""
        if top_k < 1 or not text.strip():
            return []
        ranking = self._ranking
        if ranking is None or ranking.items != tuple(items):
            ranking = await asyncio.to_thread(self.ranking, items)
        vector = await self._queries.embed(text)
        return ranking.search(text, vector, top_k=top_k, threshold=threshold)

    def ranking(self, items: Sequence[Item]) -> Ranking[Item]:
        """The entries ready for a search; built again only when they differ from last time's. Blocks."""
        with self._lock:
            if self._ranking is None or self._ranking.items != tuple(items):
                described = [self._describe(item) for item in items]
                embedding = self._embedding()
                store = VectorStore(
                    self._folder, kind=self._kind, sources=self._sources, fingerprint=embedding.fingerprint()
                )
                vectors = store.vectors({name: meaning for name, meaning, _ in described}, embedding.encode)
                self._ranking = Ranking(items, vectors, [words for _, _, words in described])
            return self._ranking
