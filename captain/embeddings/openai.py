"""Any endpoint with OpenAI's `/embeddings`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from captain.config import EmbeddingConfig, WeightsConfig
from captain.embeddings.embedding import Embedding
from captain.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix

_DEFAULT = "text-embedding-3-small"
_KEY = "OPENAI_API_KEY"


class OpenAIEmbedding(Embedding):
    """OpenAI itself, or a compatible server at `base_url`; the key is read from the environment when it is needed."""

    provider = "openai"
    _client: Any = None

    def __init__(self, config: EmbeddingConfig, weights: WeightsConfig) -> None:
        super().__init__(config, weights)
        self._key()

    def fingerprint(self) -> str:
        """Provider, endpoint, model, length and instruction."""
        config = self.config
        parts = [config.base_url or "openai", config.model or _DEFAULT, f"dimensions={config.dimensions}"]
        return "|".join([self.provider, *parts, f"instruction={config.instruction}"])

    def _key(self) -> str:
        variable = self.config.api_key_env or (None if self.config.base_url else _KEY)
        if variable is None:
            return "none"
        key = os.environ.get(variable)
        if not key:
            raise ConfigError(f"embedding=openai needs a key: set the environment variable {variable!r}")
        return key

    def _encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        import numpy as np
        import openai

        if self._client is None:
            self._client = openai.OpenAI(api_key=self._key(), base_url=self.config.base_url, max_retries=4)
        if query and self.config.instruction:
            texts = [f"{self.config.instruction}{text}" for text in texts]
        name = self.config.model or _DEFAULT
        # Endpoints refuse an empty text; a blank one is accepted everywhere.
        written = [text if text.strip() else " " for text in texts]
        try:
            reply = self._client.embeddings.create(model=name, input=written, encoding_format="float")
        except openai.OpenAIError as error:
            where = self.config.base_url or "api.openai.com"
            raise ModelError(f"embedding model {name!r} at {where} failed: {error}") from error
        rows = sorted(reply.data, key=lambda row: row.index)
        if len(rows) != len(texts):
            raise ModelError(f"embedding model {name!r} returned {len(rows)} vectors for {len(texts)} texts")
        return np.array([row.embedding for row in rows], np.float32)
