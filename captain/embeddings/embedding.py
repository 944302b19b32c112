"""What every embedding is: Chroma's contract of an embedding function, batching, and a fingerprint.

The classes fulfil the contract by their methods instead of deriving from Chroma's class, because importing Chroma takes
a second that a search in an unchanged library does not need.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from captain.config import EmbeddingConfig, WeightsConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Vector = NDArray[np.float32]


class Embedding(ABC):
    """Texts to vectors of length 1; queries and documents may be embedded differently. Safe to call from any thread."""

    provider: str

    def __init__(self, config: EmbeddingConfig, weights: WeightsConfig) -> None:
        self.config = config
        self.weights = weights
        self._lock = threading.Lock()

    @abstractmethod
    def fingerprint(self) -> str:
        """Everything that decides what the vectors are: provider, model, weights, length, instruction."""

    @abstractmethod
    def _encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """One batch: an array (texts, length), not necessarily of length 1. Called under a lock."""

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Matrix:
        """Embed texts.

        Args:
            texts: Any number of texts; an empty one is allowed.
            query: They are queries, not documents.

        Returns:
            float32 array (texts, length), rows of length 1 (or 0 for a text in which the model finds nothing).
        """
        import numpy as np

        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        rows: list[Vector] = [np.zeros(0, np.float32)] * len(texts)
        for start in range(0, len(order), self.config.batch_size):
            batch = order[start : start + self.config.batch_size]
            with self._lock:
                encoded = self._encode([texts[index] for index in batch], query=query)
            for index, row in zip(batch, _normalised(encoded, self.config.dimensions), strict=True):
                rows[index] = row
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)

    def __call__(self, input: Sequence[str]) -> list[Vector]:
        """Embed documents (Chroma's contract)."""
        return list(self.encode(input))

    def embed_query(self, input: Sequence[str]) -> list[Vector]:
        """Embed queries (Chroma's contract)."""
        return list(self.encode(input, query=True))

    @classmethod
    def name(cls) -> str:
        """The name under which Chroma stores the embedding of a collection."""
        return f"captain-{cls.provider}"

    def get_config(self) -> dict[str, Any]:
        """What `build_from_config` needs, as JSON; it holds no key."""
        return {"embedding": self.config.model_dump(), "weights": self.weights.model_dump()}

    @classmethod
    def build_from_config(cls, config: dict[str, Any]) -> Self:
        """The embedding again, from what `get_config` returned."""
        return cls(EmbeddingConfig(**config["embedding"]), WeightsConfig(**config["weights"]))

    def default_space(self) -> Literal["cosine"]:
        """The distance that fits the vectors."""
        return "cosine"

    def supported_spaces(self) -> list[str]:
        """The distances that fit the vectors, which have length 1."""
        return ["cosine", "l2", "ip"]

    def is_legacy(self) -> bool:
        """Whether Chroma must do without name and config: never."""
        return False

    @staticmethod
    def validate_config(config: dict[str, Any]) -> None:
        """Check a stored config; pydantic names what is wrong."""
        EmbeddingConfig(**config["embedding"])

    def validate_config_update(self, old_config: dict[str, Any], new_config: dict[str, Any]) -> None:
        """Refuse to go on with a collection that was embedded otherwise."""
        if old_config["embedding"] != new_config["embedding"]:
            raise ValueError("the collection was embedded with other settings; build a new one")


def folder_print(folder: Path) -> str:
    """A short hash of the files of a model: names, sizes, and both ends of each, so that it costs no time."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*")):
        if path.suffix not in (".safetensors", ".bin", ".json", ".txt", ".model"):
            continue
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}".encode())
        with path.open("rb") as file:
            digest.update(file.read(65536))
            file.seek(max(0, size - 65536))
            digest.update(file.read())
    return digest.hexdigest()[:16]


def _normalised(matrix: Matrix, dimensions: int | None) -> Matrix:
    import numpy as np

    cut = np.asarray(matrix, np.float32)[:, :dimensions]
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    return np.asarray(cut / np.where(norms == 0, 1, norms), np.float32)
