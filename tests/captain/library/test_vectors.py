"""The store of vectors: what is embedded again, what another process finds, and what a damaged index costs."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captain.errors import ModelError
from captain.library.vectors import VectorStore


class Embedder:
    """Counts what it embeds; a text becomes a vector of its letters."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        rows = np.array([[text.count(letter) + 0.1 for letter in "abcdefgh"] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def store(folder: Path, fingerprint: str = "one") -> VectorStore:
    return VectorStore(folder, kind="experts", sources=["somewhere"], fingerprint=fingerprint)


def stored(kept_by: VectorStore) -> dict[str, Any]:
    """What Chroma itself holds."""
    import chromadb

    with chromadb.PersistentClient(str(kept_by.database)) as client:
        collection = client.get_collection(kept_by.name, embedding_function=None)
        kept = collection.get(include=["metadatas", "embeddings"])
        return {"ids": sorted(kept["ids"]), "metadata": collection.metadata, "space": collection.configuration}


def test_only_changed_entries_are_embedded_and_removed_ones_deleted(tmp_path: Path) -> None:
    embed = Embedder()
    first = store(tmp_path).vectors({"x": "aaa", "y": "bbb", "z": "ccc"}, embed)
    assert embed.seen == ["aaa", "bbb", "ccc"] and first.shape == (3, 8)
    again = store(tmp_path).vectors({"x": "aaa", "y": "bbb", "z": "ccc"}, embed)
    assert len(embed.seen) == 3 and np.allclose(first, again)
    changed = store(tmp_path).vectors({"w": "ddd", "z": "ccc", "y": "bbbb"}, embed)
    assert embed.seen[3:] == ["ddd", "bbbb"]
    assert np.allclose(changed[1], first[2]) and np.allclose(changed, Embedder()(["ddd", "ccc", "bbbb"]), atol=1e-6)
    kept = stored(store(tmp_path))
    assert kept["ids"] == ["w", "y", "z"]
    assert kept["metadata"] == {"fingerprint": "one"} and kept["space"]["hnsw"]["space"] == "cosine"


def test_another_embedding_or_source_has_a_collection_of_its_own(tmp_path: Path) -> None:
    embed = Embedder()
    for fingerprint in ("one", "two", "one"):
        store(tmp_path, fingerprint).vectors({"x": "aaa"}, embed)
    assert embed.seen == ["aaa", "aaa"]
    other = VectorStore(tmp_path, kind="experts", sources=["elsewhere"], fingerprint="one")
    assert len({store(tmp_path).name, store(tmp_path, "two").name, other.name}) == 3


def test_no_entries_need_no_index(tmp_path: Path) -> None:
    assert store(tmp_path / "index").vectors({}, Embedder()).shape[0] == 0
    assert not (tmp_path / "index").exists()


def test_a_lost_mirror_is_read_from_chroma_again(tmp_path: Path) -> None:
    embed = Embedder()
    first = store(tmp_path).vectors({"x": "aaa", "y": "bbb"}, embed)
    (mirror,) = tmp_path.glob("*.npz")
    mirror.write_bytes(b"broken")
    assert np.allclose(store(tmp_path).vectors({"x": "aaa", "y": "bbb"}, embed), first)
    assert len(embed.seen) == 2


def test_a_damaged_database_is_built_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embed = Embedder()
    first = store(tmp_path).vectors({"x": "aaa"}, embed)
    (store(tmp_path).database / "chroma.sqlite3").write_bytes(b"this is no database" * 100)
    next(tmp_path.glob("*.npz")).unlink()
    with caplog.at_level(logging.WARNING):
        assert np.allclose(store(tmp_path).vectors({"x": "aaa"}, embed), first)
    assert "damaged" in caplog.text
    assert stored(store(tmp_path))["ids"] == ["x"]


@pytest.mark.parametrize("error", [ModelError("the endpoint is down"), OSError("no route"), RuntimeError("memory")])
def test_a_failing_embedding_costs_nothing_that_is_stored(tmp_path: Path, error: Exception) -> None:
    embed = Embedder()
    store(tmp_path).vectors({"x": "aaa"}, embed)

    def fail(texts: Sequence[str]) -> Any:
        raise error

    with pytest.raises(type(error), match=str(error)):
        store(tmp_path).vectors({"x": "aaa", "y": "bbb"}, fail)
    assert stored(store(tmp_path))["ids"] == ["x"]
    assert len(store(tmp_path).vectors({"x": "aaa", "y": "bbb"}, embed)) == 2
    assert embed.seen == ["aaa", "bbb"]


PROGRAM = """
import sys, json, numpy as np
from pathlib import Path
from captain.library.vectors import VectorStore
folder, own = Path(sys.argv[1]), sys.argv[2]
def embed(texts):
    return np.array([[len(text), 1.0] for text in texts], np.float32)
texts = {f"{own}{number}": "t" * (number + 1) for number in range(200)}
store = VectorStore(folder, kind="experts", sources=[own], fingerprint="f")
vectors = store.vectors(texts, embed)
print(json.dumps([len(vectors), float(abs(vectors - embed(list(texts.values()))).max())]))
"""


def test_processes_do_not_lose_each_others_vectors(tmp_path: Path) -> None:
    commands = [[sys.executable, "-c", PROGRAM, str(tmp_path), own] for own in ("a", "b", "a")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    for process in running:
        output, _ = process.communicate(timeout=100)
        count, error = json.loads(output)
        assert count == 200 and error < 1e-3
    for source in ("a", "b"):
        assert len(stored(VectorStore(tmp_path, kind="experts", sources=[source], fingerprint="f"))["ids"]) == 200


def test_an_unchanged_library_is_opened_without_chroma(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM + "print('chromadb' in sys.modules)", str(tmp_path), "a"]
    outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    assert [output[-1] for output in outputs] == ["True", "False"]
