"""The snapshot of an index: one file with all vectors, replaced whole, so that readers see an old or a new index."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix, Vector

PART = ".part"
"""Ending of files that are being written."""
_logger = logging.getLogger(__name__)


def content_hash(text: str) -> str:
    """What tells whether an entry must be embedded again."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class Snapshot:
    """Vectors with what they belong to.

    Attributes:
        fingerprint: What decided the vectors.
        entries: Ids.
        hashes: Hash of each entry's text.
        vectors: Array (entries, length).
    """

    fingerprint: str
    entries: list[str]
    hashes: list[str]
    vectors: Matrix

    def rows(self, wanted: Mapping[str, str]) -> Matrix | None:
        """The vectors of these entries (id -> hash) in their order; nothing when one is missing.

        Entries that are not asked for do no harm: another process may know of more, such as an expert it has just kept.
        """
        places = {key: row for row, key in enumerate(zip(self.entries, self.hashes, strict=True))}
        if any(key not in places for key in wanted.items()):
            return None
        if list(places) == list(wanted.items()):
            return self.vectors
        found: Matrix = self.vectors[[places[key] for key in wanted.items()]]
        return found

    @cached_property
    def by_hash(self) -> dict[str, Vector]:
        """Hash of a text -> its vector."""
        return dict(zip(self.hashes, self.vectors, strict=True))


def read_snapshot(path: Path) -> Snapshot | None:
    """The snapshot in a file; nothing when it is missing or damaged (checksums are checked)."""
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            vectors = stored["vectors"]
            snapshot = Snapshot(
                str(stored["fingerprint"]), stored["entries"].tolist(), stored["hashes"].tolist(), vectors
            )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _logger.warning("the snapshot %s cannot be read (%s)", path, error)
        return None
    whole = vectors.ndim == 2 and len(snapshot.entries) == len(snapshot.hashes) == len(vectors)
    return snapshot if whole else None


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot whole or not at all.

    Raises:
        OSError: The folder cannot be written.
    """
    import numpy as np

    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=PART)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(
                file,
                fingerprint=np.array(snapshot.fingerprint),
                entries=np.array(snapshot.entries),
                hashes=np.array(snapshot.hashes),
                vectors=snapshot.vectors,
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
