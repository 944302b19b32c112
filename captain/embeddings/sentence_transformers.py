"""Any model of the sentence-transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.embeddings.embedding import Embedding, folder_print
from captain.errors import ConfigError

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix

_DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"


class SentenceTransformersEmbedding(Embedding):
    """A model by its name on the hub or by its folder; prompts that it declares for queries are used."""

    provider = "sentence_transformers"
    _model: Any = None

    def fingerprint(self) -> str:
        """Provider, model (its files, when it is a folder), length, instruction and cut."""
        config, name = self.config, self.config.model or _DEFAULT
        files = folder_print(Path(name)) if Path(name).is_dir() else "hub"
        parts = [name, files, f"dimensions={config.dimensions}", f"instruction={config.instruction}"]
        return "|".join([self.provider, *parts, f"tokens={config.max_tokens}"])

    def _load(self) -> Any:
        from sentence_transformers import SentenceTransformer

        name = self.config.model or _DEFAULT
        try:
            model = SentenceTransformer(name)
        except Exception as error:  # the libraries below raise what they like
            raise ConfigError(f"embedding model {name!r} cannot be loaded: {_first_line(error)}") from error
        longest = model.max_seq_length or self.config.max_tokens
        model.max_seq_length = min(longest, self.config.max_tokens)
        return model

    def _encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        if self._model is None:
            self._model = self._load()
        options: dict[str, Any] = {
            "batch_size": self.config.batch_size,
            "show_progress_bar": False,
            "convert_to_numpy": True,
        }
        if not query:
            encoded: Matrix = self._model.encode_document(list(texts), **options)
            return encoded
        if self.config.instruction is not None:
            options["prompt"] = self.config.instruction
        encoded = self._model.encode_query(list(texts), **options)
        return encoded


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
