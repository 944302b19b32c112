"""Embeddings: texts to vectors, one class per provider, each usable as a Chroma embedding function."""

from __future__ import annotations

from captain.config import EmbeddingConfig, WeightsConfig
from captain.embeddings.embedding import Embedding

__all__ = ["Embedding", "build_embedding"]


def build_embedding(config: EmbeddingConfig, weights: WeightsConfig | None = None) -> Embedding:
    """The embedding that a configuration names; its weights are loaded when the first text comes.

    Args:
        config: Provider and settings.
        weights: Where weights come from (`minilm` only).

    Raises:
        ConfigError: The provider needs a setting that is missing.
    """
    weights = weights or WeightsConfig()
    if config.provider == "minilm":
        from captain.embeddings.minilm import MiniLMEmbedding

        return MiniLMEmbedding(config, weights)
    if config.provider == "sentence_transformers":
        from captain.embeddings.sentence_transformers import SentenceTransformersEmbedding

        return SentenceTransformersEmbedding(config, weights)
    if config.provider == "qwen3":
        from captain.embeddings.qwen3 import Qwen3Embedding

        return Qwen3Embedding(config, weights)
    if config.provider == "openai":
        from captain.embeddings.openai import OpenAIEmbedding

        return OpenAIEmbedding(config, weights)
    from captain.embeddings.hashing import HashEmbedding

    return HashEmbedding(config, weights)


def register_with_chroma() -> None:
    """Make the classes known to Chroma, which rebuilds the embedding of a collection from a stored name and config."""
    from chromadb.utils.embedding_functions import register_embedding_function

    from captain.embeddings.hashing import HashEmbedding
    from captain.embeddings.minilm import MiniLMEmbedding
    from captain.embeddings.openai import OpenAIEmbedding
    from captain.embeddings.qwen3 import Qwen3Embedding
    from captain.embeddings.sentence_transformers import SentenceTransformersEmbedding

    for embedding in (HashEmbedding, MiniLMEmbedding, OpenAIEmbedding, Qwen3Embedding, SentenceTransformersEmbedding):
        register_embedding_function(embedding)  # type: ignore[no-untyped-call]  # Chroma declares no types here
