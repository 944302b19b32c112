"""One build of an index: its entries, the vectors that are at hand, and what it took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from captain.library.snapshot import content_hash

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix, Vector

Embed = Callable[[Sequence[str]], "Matrix"]

_BATCH = 2000


class EmbeddingFailed(Exception):
    """Keeps the failures of a model apart from those of the database."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True)
class Built:
    """The vectors of all entries, and what it took.

    Attributes:
        vectors: Array (entries, length), in the order of the entries.
        embedded: How many texts were embedded.
        removed: How many entries were taken out of the collection.
        audited: All vectors were read back from Chroma and are right.
    """

    vectors: Matrix
    embedded: int = 0
    removed: int = 0
    audited: bool = False


@dataclass
class Job:
    """One build: the entries, and the vectors that are at hand, by the hash of their text."""

    texts: Mapping[str, str]
    embed: Embed
    hashes: dict[str, str] = field(init=False)
    known: dict[str, Vector] = field(default_factory=dict)
    embedded: int = 0
    removed: int = 0

    def __post_init__(self) -> None:
        self.hashes = {entry: content_hash(text) for entry, text in self.texts.items()}

    def learn(self, vectors: Mapping[str, Vector]) -> None:
        """Take over vectors of texts that are wanted."""
        self.known |= {hashed: vectors[hashed] for hashed in self.hashes.values() if hashed in vectors}

    def embed_missing(self) -> Iterator[None]:
        """Embed what is not at hand, one batch at a time."""
        missing = {hashed: entry for entry, hashed in self.hashes.items() if hashed not in self.known}
        entries = [self.texts[entry] for entry in missing.values()]
        places = list(missing)
        for start in range(0, len(entries), _BATCH):
            part = entries[start : start + _BATCH]
            try:
                vectors = self.embed(part)
            except Exception as error:
                raise EmbeddingFailed(error) from error
            self.embedded += len(part)
            self.known |= dict(zip(places[start : start + _BATCH], vectors, strict=True))
            yield

    def vectors(self, entries: Sequence[str] | None = None) -> Matrix:
        """The vectors of entries, all when absent; they must be at hand."""
        import numpy as np

        names = list(self.texts) if entries is None else entries
        rows = [self.known[self.hashes[entry]] for entry in names]
        return np.stack(rows).astype(np.float32, copy=False) if rows else np.zeros((0, 0), np.float32)

    def built(self, *, audited: bool) -> Built:
        """The result; all vectors must be at hand."""
        return Built(self.vectors(), self.embedded, self.removed, audited)
