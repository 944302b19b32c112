"""The vectors of a library's entries, kept in Chroma below the user's folder.

Chroma is opened only to change something, by one process at a time: two writers lose vectors in silence, and a reader
does not see what another process wrote. What it then holds is mirrored into one file, read whole and searched exactly;
so an unchanged library is open in milliseconds and does not import Chroma at all.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix

Embed = Callable[[Sequence[str]], "Matrix"]

_logger = logging.getLogger(__name__)
_LOCK_SECONDS = 120
_BATCH = 2000


def content_hash(text: str) -> str:
    """What tells whether an entry must be embedded again."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


class _EmbeddingFailed(Exception):
    """Keeps the failures of a model apart from those of the database."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class VectorStore:
    """One collection: the vectors of one kind of entries, of one set of sources, by one embedding."""

    def __init__(self, folder: Path, *, kind: str, sources: Sequence[str], fingerprint: str) -> None:
        """
        Args:
            folder: The folder of the index; made when it is missing.
            kind: `experts` or `tools`.
            sources: Where the entries come from; other sources have a collection of their own.
            fingerprint: What decides the vectors; another embedding has a collection of its own.
        """
        self.folder = folder
        self.fingerprint = fingerprint
        self.name = f"{kind}-{content_hash(fingerprint)[:12]}-{content_hash(chr(10).join(sources))[:8]}"

    def vectors(self, texts: Mapping[str, str], embed: Embed) -> Matrix:
        """The vectors of all entries, in their order; only new and changed entries are embedded.

        Where the folder cannot be written, or Chroma fails twice, all are embedded into memory, and a warning says so.

        Args:
            texts: Id -> text that is embedded.
            embed: Texts -> array (texts, length).
        """
        import numpy as np

        if not texts:
            return np.zeros((0, 0), np.float32)
        hashes = {entry: content_hash(text) for entry, text in texts.items()}
        mirrored = self._read_mirror(hashes)
        if mirrored is not None:
            return mirrored
        try:
            return self._synchronise(texts, hashes, embed)
        except (OSError, TimeoutError) as error:
            _logger.warning("the index in %s cannot be used (%s); this run keeps it in memory", self.folder, error)
            return embed(list(texts.values()))

    def _synchronise(self, texts: Mapping[str, str], hashes: Mapping[str, str], embed: Embed) -> Matrix:
        from filelock import FileLock

        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "index.lock", timeout=_LOCK_SECONDS):
            mirrored = self._read_mirror(hashes)  # another process may have done it meanwhile
            if mirrored is not None:
                return mirrored
            try:
                vectors = self._update_chroma(texts, hashes, embed)
            except _EmbeddingFailed as failed:  # which says nothing about the database
                raise failed.reason from failed
            except OSError:
                raise
            except Exception as error:  # a damaged database shows itself in many types of exception
                _logger.warning("the index in %s is damaged (%s) and is built again", self.folder, error)
                vectors = self._rebuilt(texts, hashes, embed)
            self._write_mirror(hashes, vectors)
            return vectors

    def _rebuilt(self, texts: Mapping[str, str], hashes: Mapping[str, str], embed: Embed) -> Matrix:
        # Within a process Chroma never lets go of a path that it failed to open, so the new database gets another one.
        damaged = self.database
        damaged.with_name(f"chroma-{_number(damaged) + 1}").mkdir()
        shutil.rmtree(damaged, ignore_errors=True)
        try:
            return self._update_chroma(texts, hashes, embed)
        except _EmbeddingFailed as failed:
            raise failed.reason from failed
        except OSError:
            raise
        except Exception as error:
            raise OSError(f"Chroma: {error}") from error

    @property
    def database(self) -> Path:
        """Chroma's folder: the newest, when a damaged one was left behind."""
        return max(self.folder.glob("chroma-*"), key=_number, default=self.folder / "chroma-1")

    def _update_chroma(self, texts: Mapping[str, str], hashes: Mapping[str, str], embed: Embed) -> Matrix:
        """Bring the collection to the entries and return its vectors in their order."""
        import chromadb
        import numpy as np
        from chromadb.config import Settings

        client: Any = chromadb.PersistentClient(str(self.database), Settings(anonymized_telemetry=False))
        with client:
            collection = client.get_or_create_collection(
                self.name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
                metadata={"fingerprint": self.fingerprint},
            )
            self._apply(collection, texts, hashes, embed)
            kept = collection.get(include=["embeddings"])
            rows: dict[str, Any] = dict(zip(kept["ids"], kept["embeddings"], strict=True))
            return np.stack([rows[entry] for entry in texts]).astype(np.float32)

    def _apply(self, collection: Any, texts: Mapping[str, str], hashes: Mapping[str, str], embed: Embed) -> None:
        known = collection.get(include=["metadatas"])
        before = {entry: metadata["hash"] for entry, metadata in zip(known["ids"], known["metadatas"], strict=True)}
        gone = [entry for entry in before if entry not in hashes]
        fresh = [entry for entry in texts if before.get(entry) != hashes[entry]]
        for start in range(0, len(gone), _BATCH):
            collection.delete(ids=gone[start : start + _BATCH])
        for start in range(0, len(fresh), _BATCH):
            part = fresh[start : start + _BATCH]
            try:
                vectors = embed([texts[entry] for entry in part])
            except Exception as error:
                raise _EmbeddingFailed(error) from error
            collection.upsert(
                ids=part,
                embeddings=vectors,
                documents=[texts[entry] for entry in part],
                metadatas=[{"hash": hashes[entry]} for entry in part],
            )

    @property
    def _mirror(self) -> Path:
        return self.folder / f"{self.name}.npz"

    def _read_mirror(self, hashes: Mapping[str, str]) -> Matrix | None:
        """The vectors from the file when it holds exactly these entries, else nothing."""
        import zipfile

        import numpy as np

        try:
            with np.load(self._mirror, allow_pickle=False) as mirror:
                keys, vectors = mirror["keys"].tolist(), mirror["vectors"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        places = {key: row for row, key in enumerate(keys)}
        wanted = [f"{entry} {hashed}" for entry, hashed in hashes.items()]
        if len(vectors) != len(wanted) or any(key not in places for key in wanted):
            return None
        found: Matrix = vectors[[places[key] for key in wanted]]
        return found

    def _write_mirror(self, hashes: Mapping[str, str], vectors: Matrix) -> None:
        import numpy as np

        keys = np.array([f"{entry} {hashed}" for entry, hashed in hashes.items()])
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".npz.part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, keys=keys, vectors=vectors)
            os.replace(temporary, self._mirror)
        finally:
            Path(temporary).unlink(missing_ok=True)


def _number(database: Path) -> int:
    digits = database.name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
