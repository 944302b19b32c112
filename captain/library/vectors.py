"""The vectors of a library's entries: kept in Chroma, written by one process at a time, read from a snapshot.

Chroma is opened only to change something: two writers lose vectors in silence, and a reader does not see what another
process wrote. After each change all vectors are read back and compared, and then the snapshot, one file, is replaced.
It is what searches read; so they see a complete old or a complete new index whatever happens to a writer, and an
unchanged library is open in milliseconds without importing Chroma at all.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from captain.errors import ConfigError
from captain.library.building import Built, Embed, EmbeddingFailed, Job
from captain.library.chroma import ChromaCollection, open_folder, open_server
from captain.library.snapshot import PART, Snapshot, content_hash, read_snapshot, write_snapshot

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix

_logger = logging.getLogger(__name__)
_LOCK_SECONDS = 600
_SNAPSHOT = "vectors.npz"


class VectorStore:
    """One collection: the vectors of one kind of entries, of one set of sources, by one embedding."""

    def __init__(
        self, folder: Path, *, kind: str, sources: Sequence[str], fingerprint: str, url: str | None = None
    ) -> None:
        """
        Args:
            folder: The folder of all indexes; made when it is missing.
            kind: `experts` or `tools`.
            sources: Where the entries come from; other sources have a collection of their own.
            fingerprint: What decides the vectors; another embedding has a collection of its own.
            url: A Chroma server that keeps the collection. The lock then binds only those who share the folder; what
                others on the server do is found by the audit, after the fact.
        """
        self.fingerprint = fingerprint
        self.url = url
        self._family = f"{kind}-{content_hash(fingerprint)[:12]}"
        self.name = f"{self._family}-{content_hash(chr(10).join(sources))[:8]}"
        self.folder = folder / self.name
        # Users of one server must not delete each other's entries.
        self.collection = self.name if url is None else f"{self.name}-{content_hash(str(folder.resolve()))[:8]}"

    def vectors(self, texts: Mapping[str, str], embed: Embed) -> Matrix:
        """The vectors of all entries, in their order; only new and changed entries are embedded. Blocks.

        Where the folder cannot be written, or Chroma fails twice, they are kept in memory, and a warning says so.

        Args:
            texts: Id -> text that is embedded.
            embed: Texts -> array (texts, length).

        Raises:
            ConfigError: The index belongs to another embedding.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, 0), np.float32)
        job = Job(texts, embed)
        current = self._current(job)
        if current is not None:
            return current
        try:
            return self._locked(job, rebuild=False, audit=False).vectors
        except (OSError, TimeoutError) as error:
            _logger.warning("the index in %s cannot be used (%s); this run keeps it in memory", self.folder, error)
            self._learn_from_snapshots(job)
            return self._in_memory(job)

    def build(self, texts: Mapping[str, str], embed: Embed, *, rebuild: bool = False) -> Built:
        """Bring the collection to the entries and audit it, also when nothing has changed. Blocks.

        Args:
            texts: Id -> text that is embedded.
            embed: Texts -> array (texts, length).
            rebuild: Start anew, also over an index that belongs to another embedding.

        Raises:
            ConfigError: The index belongs to another embedding, cannot be written, or fails its audit twice.
        """
        job = Job(texts, embed)
        if not texts and not self.folder.exists():
            return job.built(audited=True)
        try:
            return self._locked(job, rebuild=rebuild, audit=True)
        except (OSError, TimeoutError) as error:
            raise ConfigError(
                f"the index in {str(self.folder)!r} cannot be built: {error}; free the folder, or choose another one "
                "with library.user_dir"
            ) from error

    @property
    def snapshot(self) -> Path:
        """The file that searches read."""
        return self.folder / _SNAPSHOT

    @property
    def database(self) -> Path:
        """Chroma's folder: the newest, when a damaged one was left behind."""
        return max(self.folder.glob("chroma-*"), key=_number, default=self.folder / "chroma-1")

    def _current(self, job: Job) -> Matrix | None:
        """The vectors from the snapshot when it holds all entries.

        Raises:
            ConfigError: It belongs to another embedding.
        """
        snapshot = read_snapshot(self.snapshot)
        if snapshot is None:
            return None
        self._check(snapshot.fingerprint, self.snapshot)
        return snapshot.rows(job.hashes)

    def _check(self, fingerprint: str, where: object) -> None:
        if fingerprint != self.fingerprint:
            raise ConfigError(
                f"the index {str(where)!r} was embedded by {fingerprint!r}, the configured embedding is "
                f"{self.fingerprint!r}; run `captain library index --rebuild`"
            )

    def _locked(self, job: Job, *, rebuild: bool, audit: bool) -> Built:
        from filelock import FileLock

        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "lock", timeout=_LOCK_SECONDS):
            if not rebuild:
                current = self._current(job)  # another process may have done it meanwhile
                if current is not None and not audit:
                    return Built(current, audited=True)
                self._learn_from_snapshots(job)
            self._clean_up()
            try:
                built = self._synchronised(job, rebuild=rebuild)
            except EmbeddingFailed as failed:  # which says nothing about the database
                raise failed.reason from failed
            if built.audited:
                snapshot = Snapshot(self.fingerprint, list(job.texts), list(job.hashes.values()), built.vectors)
                write_snapshot(self.snapshot, snapshot)
            return built

    def _learn_from_snapshots(self, job: Job) -> None:
        """Take over what the same embedding made for other sources."""
        for path in self.folder.parent.glob(f"{self._family}-*/{_SNAPSHOT}"):
            if all(hashed in job.known for hashed in job.hashes.values()):
                return
            snapshot = read_snapshot(path)
            if snapshot is not None and snapshot.fingerprint == self.fingerprint:
                job.learn(snapshot.by_hash)

    def _synchronised(self, job: Job, *, rebuild: bool) -> Built:
        if not rebuild:
            try:
                if self._update(job, self._open()):
                    return job.built(audited=True)
                reason = "the audit found lost or wrong vectors"
            except (OSError, ConfigError, EmbeddingFailed):
                raise
            except Exception as error:  # a damaged database shows itself in many types of exception
                reason = f"{type(error).__name__}: {error}"
            _logger.warning("the index in %s is damaged (%s) and is built again", self.folder, reason)
        try:
            if self._update(job, self._open_anew()):
                return job.built(audited=True)
        except (OSError, ConfigError, EmbeddingFailed):
            raise
        except Exception as error:
            raise OSError(f"Chroma: {error}") from error
        raise OSError("Chroma does not give back the vectors that it was given")

    def _update(self, job: Job, opened: AbstractContextManager[ChromaCollection]) -> bool:
        """Bring an opened collection to the entries; whether the audit found all of them."""
        with opened as collection:
            self._check(collection.fingerprint, self.url or self.database)
            before = collection.hashes()
            gone = [entry for entry in before if entry not in job.hashes]
            job.removed += len(gone)
            collection.delete(gone)
            stored = collection.read([entry for entry in before if job.hashes.get(entry) == before[entry]])
            job.learn({kept.hash: kept.vector for kept in stored.values() if kept.hash not in job.known})
            written = set(stored)
            written |= _write(collection, job, written)
            for _ in job.embed_missing():
                written |= _write(collection, job, written)
            return _audit(collection, job)

    def _open(self) -> AbstractContextManager[ChromaCollection]:
        if self.url is not None:
            return open_server(self.url, self.collection, self.fingerprint)
        return open_folder(self.database, self.collection, self.fingerprint)

    @contextmanager
    def _open_anew(self) -> Iterator[ChromaCollection]:
        if self.url is not None:
            with open_server(self.url, self.collection, self.fingerprint, anew=True) as collection:
                yield collection
            return
        # Within a process Chroma never lets go of a path that it failed to open, so the new database gets another one.
        damaged = self.database
        fresh = damaged.with_name(f"chroma-{_number(damaged) + 1}")
        fresh.mkdir()
        with open_folder(fresh, self.collection, self.fingerprint) as collection:
            yield collection
        shutil.rmtree(damaged, ignore_errors=True)

    def _clean_up(self) -> None:
        """Remove what killed writers left behind."""
        for part in self.folder.glob(f"*{PART}"):
            part.unlink(missing_ok=True)
        newest = self.database
        for database in self.folder.glob("chroma-*"):
            if database != newest:
                shutil.rmtree(database, ignore_errors=True)

    def _in_memory(self, job: Job) -> Matrix:
        try:
            for _ in job.embed_missing():
                pass
        except EmbeddingFailed as failed:
            raise failed.reason from failed
        return job.vectors()


def _write(collection: ChromaCollection, job: Job, written: set[str]) -> set[str]:
    """Write the entries whose vectors are at hand; returns their ids."""
    ready = [entry for entry, hashed in job.hashes.items() if entry not in written and hashed in job.known]
    if ready:
        collection.write({entry: job.texts[entry] for entry in ready}, job.hashes, job.vectors(ready))
    return set(ready)


def _audit(collection: ChromaCollection, job: Job) -> bool:
    """Whether the collection holds exactly the entries, each with its text's hash and its vector."""
    import numpy as np

    if collection.count() != len(job.texts):
        return False
    found = collection.read(list(job.texts))
    if len(found) != len(job.texts) or any(kept.hash != job.hashes[entry] for entry, kept in found.items()):
        return False
    rows = np.array([found[entry].vector for entry in job.texts], np.float32).reshape(job.vectors().shape)
    return bool(np.allclose(rows, job.vectors(), rtol=1e-3, atol=1e-4))


def _number(database: Path) -> int:
    digits = database.name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
