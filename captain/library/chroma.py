"""The only code that talks to Chroma: one collection of vectors, in a folder of its own or on a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix, Vector

_BATCH = 1000
_TOLERANCE = 1e-4
_SERVER_SECONDS = 10


@dataclass(frozen=True)
class Stored:
    """One entry as Chroma has it."""

    hash: str
    vector: Vector


class ChromaCollection:
    """An open collection."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection

    @property
    def fingerprint(self) -> str:
        """What decided the vectors in it."""
        return str((self._collection.metadata or {}).get("fingerprint", "nothing known"))

    def count(self) -> int:
        """How many entries it says it has."""
        return int(self._collection.count())

    def hashes(self) -> dict[str, str]:
        """Id -> hash of the text."""
        found = self._collection.get(include=["metadatas"])
        return {
            entry: str((metadata or {}).get("hash", ""))
            for entry, metadata in zip(found["ids"], found["metadatas"], strict=True)
        }

    def read(self, entries: Sequence[str]) -> dict[str, Stored]:
        """The entries that are there and whose vectors are what was stored."""
        found: dict[str, Stored] = {}
        for part in _parts(entries):
            rows = self._collection.get(ids=part, include=["metadatas", "embeddings"])
            for entry, metadata, vector in zip(rows["ids"], rows["metadatas"], rows["embeddings"], strict=True):
                if abs(_checksum(vector) - float(metadata.get("check", "nan"))) <= _TOLERANCE:
                    found[entry] = Stored(str(metadata.get("hash", "")), vector)
        return found

    def write(self, texts: Mapping[str, str], hashes: Mapping[str, str], vectors: Matrix) -> None:
        """Add or replace entries; the vectors stand in the order of the texts."""
        places = {entry: row for row, entry in enumerate(texts)}
        for part in _parts(list(texts)):
            rows = vectors[[places[entry] for entry in part]]
            self._collection.upsert(
                ids=part,
                embeddings=rows,
                documents=[texts[entry] for entry in part],
                metadatas=[
                    {"hash": hashes[entry], "check": _checksum(row)} for entry, row in zip(part, rows, strict=True)
                ],
            )

    def delete(self, entries: Sequence[str]) -> None:
        """Remove entries."""
        for part in _parts(entries):
            self._collection.delete(ids=part)


@contextmanager
def open_folder(folder: Path, name: str, fingerprint: str) -> Iterator[ChromaCollection]:
    """The collection in a folder, made when it is missing; one process at a time, for two writers lose vectors."""
    import chromadb
    from chromadb.config import Settings

    client: Any = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    with client:
        yield _collection(client, name, fingerprint)


@contextmanager
def open_server(url: str, name: str, fingerprint: str, *, anew: bool = False) -> Iterator[ChromaCollection]:
    """The collection on a server, made when it is missing.

    Args:
        url: The server's address.
        name: The collection's name.
        fingerprint: What decides the vectors.
        anew: Remove what is there first.

    Raises:
        OSError: The server does not answer.
    """
    import chromadb
    import httpx
    from chromadb.config import Settings

    parts = urlsplit(url)
    try:
        # Chroma's own client waits without end for a server that hangs.
        httpx.get(f"{url.rstrip('/')}/api/v2/heartbeat", timeout=_SERVER_SECONDS).raise_for_status()
        client: Any = chromadb.HttpClient(
            host=url.rstrip("/"), ssl=parts.scheme == "https", settings=Settings(anonymized_telemetry=False)
        )
    except (httpx.HTTPError, ValueError) as error:  # Chroma makes a ValueError of a refused connection
        raise OSError(f"the Chroma server {url!r} does not answer ({error})") from error
    with client:
        if anew and name in {collection.name for collection in client.list_collections()}:
            client.delete_collection(name)
        yield _collection(client, name, fingerprint)


def _collection(client: Any, name: str, fingerprint: str) -> ChromaCollection:
    from chromadb.errors import NotFoundError

    try:
        return ChromaCollection(client.get_collection(name, embedding_function=None))
    except NotFoundError:
        # Not "get or create" at once, which would replace the fingerprint of a collection that is there.
        collection = client.get_or_create_collection(
            name,
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine"}},
            metadata={"fingerprint": fingerprint},
        )
        return ChromaCollection(collection)


def _checksum(vector: Any) -> float:
    """A number that tells a vector from others, and from one whose parts were lost or mixed up."""
    import numpy as np

    values = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(values)) or 1.0
    return float(values @ np.sin(np.arange(1, len(values) + 1)) / length)


def _parts(entries: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(entries), _BATCH):
        yield list(entries[start : start + _BATCH])
