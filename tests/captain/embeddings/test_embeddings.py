"""What holds for every embedding, and the providers that need no weights."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captain.config import EmbeddingConfig
from captain.embeddings import Embedding, build_embedding, register_with_chroma
from captain.errors import ConfigError, ModelError


def build(provider: str, **settings: Any) -> Embedding:
    return build_embedding(EmbeddingConfig(provider=provider, **settings))  # type: ignore[arg-type]  # names from tests


def test_vectors_have_length_one_and_keep_the_order() -> None:
    embedding = build("hash", batch_size=2)
    texts = ["a long text about primes", "b", "", "another text", "primes"]
    matrix = embedding.encode(texts)
    assert matrix.dtype == np.float32 and matrix.shape == (5, 512)
    assert np.allclose(np.linalg.norm(matrix, axis=1), [1, 1, 0, 1, 1], atol=1e-6)
    for text, row in zip(texts, matrix, strict=True):
        assert np.array_equal(embedding.encode([text])[0], row)
    assert embedding.encode([]).shape[0] == 0


def test_hashed_texts_are_near_when_they_share_words_or_parts_of_words() -> None:
    first, inflected, other = build("hash").encode(
        ["statistical analysis of tables", "statistics that analyse a table", "baking bread in winter"]
    )
    assert first @ inflected > 0.25 > first @ other + 0.1


def test_hashed_vectors_are_the_same_in_every_process() -> None:
    program = (
        "from captain.config import *; from captain.embeddings import build_embedding;"
        "print(build_embedding(EmbeddingConfig(provider='hash')).encode(['naïve 日本語 text']).argmax())"
    )
    command = [sys.executable, "-c", program]
    outputs = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert outputs == {f"{build('hash').encode(['naïve 日本語 text']).argmax()}\n"}


def test_dimensions_are_part_of_the_fingerprint() -> None:
    short = build("hash", dimensions=32)
    assert short.encode(["a"]).shape == (1, 32)
    assert short.fingerprint() != build("hash").fingerprint() == build("hash").fingerprint()


def test_chroma_stores_and_rebuilds_the_embedding(tmp_path: Path) -> None:
    import chromadb

    register_with_chroma()
    with chromadb.PersistentClient(str(tmp_path)) as client:
        collection = client.create_collection("test", embedding_function=build("hash", dimensions=64))
        collection.add(ids=["a", "b"], documents=["primes and divisors", "bread and butter"])
    with chromadb.PersistentClient(str(tmp_path)) as client:
        stored = client.get_collection("test")
        assert stored.configuration["hnsw"]["space"] == "cosine"
        assert stored.query(query_texts=["divisors of primes"], n_results=1)["ids"] == [["a"]]
        assert len(stored.get(include=["embeddings"])["embeddings"][0]) == 64
        with pytest.raises(ValueError, match="conflict"):
            client.get_collection("test", embedding_function=build("openai", base_url="http://localhost:1"))


class Handler(BaseHTTPRequestHandler):
    """An endpoint of embeddings: a text's vector is its length and 1; rows come back in reverse order."""

    requests: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({**body, "key": self.headers["Authorization"]})
        rows = [{"index": n, "embedding": [len(text), 1.0]} for n, text in enumerate(body["input"])][::-1]
        status = 404 if body["model"] == "absent" else 200
        reply = {"data": rows} if status == 200 else {"error": {"message": "no such model"}}
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    Handler.requests.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_openai_endpoint(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    settings = {"base_url": endpoint, "api_key_env": "SOME_KEY", "batch_size": 2, "instruction": "find: "}
    embedding = build("openai", model="m", **settings)
    matrix = embedding.encode(["aaa", "", "a"])
    assert np.allclose(matrix[:, 0] / matrix[:, 1], [3, 1, 1])
    embedding.encode(["b"], query=True)
    assert [request["input"] for request in Handler.requests] == [[" ", "a"], ["aaa"], ["find: b"]]
    assert {request["key"] for request in Handler.requests} == {"Bearer secret"}
    assert "secret" not in json.dumps(embedding.get_config()) + embedding.fingerprint()


def test_openai_errors_are_named(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="'absent' at http.*no such model"):
        build("openai", model="absent", base_url=endpoint).encode(["a"])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        build("openai")


def test_building_is_light() -> None:
    program = """
import sys
from captain.config import EmbeddingConfig
from captain.embeddings import build_embedding
for provider in ("minilm", "sentence_transformers", "qwen3", "hash"):
    build_embedding(EmbeddingConfig(provider=provider))
print([name for name in ("numpy", "torch", "transformers", "chromadb", "openai") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
