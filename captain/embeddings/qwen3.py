"""Qwen3-Embedding through transformers.

What the model needs, and what is easily got wrong: the end token stays when a text is cut; padding stands on the left
and the last state is the vector; only queries carry the instruction; a shortened vector is scaled to length 1 again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.embeddings.embedding import Embedding, folder_print
from captain.errors import ConfigError

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix

_DEFAULT = "Qwen/Qwen3-Embedding-0.6B"
_INSTRUCTION = "Given a description of a need, retrieve the entry of a library that serves it"
_END = "<|endoftext|>"


class Qwen3Embedding(Embedding):
    """A Qwen3-Embedding model by its name on the hub or by its folder."""

    provider = "qwen3"
    _model: Any = None
    _tokenizer: Any = None
    _end: int = 0

    def fingerprint(self) -> str:
        """Provider, model (its files, when it is a folder), length, instruction and cut."""
        config, name = self.config, self.config.model or _DEFAULT
        files = folder_print(Path(name)) if Path(name).is_dir() else "hub"
        parts = [name, files, f"dimensions={config.dimensions}", f"instruction={self._instruction}"]
        return "|".join([self.provider, *parts, f"tokens={config.max_tokens}"])

    @property
    def _instruction(self) -> str:
        return _INSTRUCTION if self.config.instruction is None else self.config.instruction

    def _load(self) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        name = self.config.model or _DEFAULT
        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(name)
            model = AutoModel.from_pretrained(name, dtype=torch.bfloat16 if device == "cuda" else torch.float32)
        except Exception as error:  # the libraries below raise what they like
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ConfigError(f"embedding model {name!r} cannot be loaded: {reason}") from error
        self._end = self._end_token()
        self._model = model.to(device).eval()

    def _end_token(self) -> int:
        """The token that closes a text: what the tokenizer appends, else the end of text of its vocabulary."""
        bare = self._tokenizer("a", add_special_tokens=False)["input_ids"]
        closed = self._tokenizer("a")["input_ids"]
        if len(closed) > len(bare):
            return int(closed[-1])
        known = self._tokenizer.get_vocab().get(_END, self._tokenizer.eos_token_id)
        if known is None:
            raise ConfigError(f"the tokenizer of {self.config.model!r} has no end token; Qwen3-Embedding needs one")
        return int(known)

    def _encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        import torch

        if self._model is None:
            self._load()
        if query and self._instruction:
            texts = [f"Instruct: {self._instruction}\nQuery:{text}" for text in texts]
        rows = [self._tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        rows = [row[: self.config.max_tokens - 1] + [self._end] for row in rows]
        longest = max(len(row) for row in rows)
        padding = [longest - len(row) for row in rows]
        device = self._model.device
        tokens = torch.tensor([[self._end] * pad + row for pad, row in zip(padding, rows, strict=True)], device=device)
        mask = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in padding], device=device)
        with torch.inference_mode():
            states = self._model(input_ids=tokens, attention_mask=mask).last_hidden_state
        vectors: Matrix = states[:, -1].float().cpu().numpy()
        return vectors
