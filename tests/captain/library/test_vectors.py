"""The store of vectors: what is embedded again, what another process finds, and what a damaged index costs."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captain.errors import ConfigError, ModelError
from captain.library.chroma import ChromaCollection
from captain.library.snapshot import read_snapshot
from captain.library.vectors import VectorStore


class Embedder:
    """Counts what it embeds; a text becomes a vector of its letters."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        rows = np.array([[text.count(letter) + 0.1 for letter in "abcdefgh"] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def store(folder: Path, fingerprint: str = "one", source: str = "somewhere") -> VectorStore:
    return VectorStore(folder, kind="experts", sources=[source], fingerprint=fingerprint)


def stored(kept_by: VectorStore) -> dict[str, Any]:
    """What Chroma itself holds."""
    import chromadb

    with chromadb.PersistentClient(str(kept_by.database)) as client:
        collection = client.get_collection(kept_by.collection, embedding_function=None)
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


def test_another_embedding_has_a_collection_of_its_own(tmp_path: Path) -> None:
    embed = Embedder()
    for fingerprint in ("one", "two", "one"):
        store(tmp_path, fingerprint).vectors({"x": "aaa"}, embed)
    assert embed.seen == ["aaa", "aaa"]
    other = store(tmp_path, source="elsewhere")
    assert len({store(tmp_path).name, store(tmp_path, "two").name, other.name}) == 3


def test_other_sources_embed_only_what_no_index_has(tmp_path: Path) -> None:
    embed = Embedder()
    first = store(tmp_path).vectors({"x": "aaa", "y": "bbb"}, embed)
    more = store(tmp_path, source="more").vectors({"other": "ccc", "x": "aaa"}, embed)
    assert embed.seen == ["aaa", "bbb", "ccc"] and np.allclose(more[1], first[0])
    assert stored(store(tmp_path))["ids"] == ["x", "y"]
    assert stored(store(tmp_path, source="more"))["ids"] == ["other", "x"]


def test_a_process_that_knows_fewer_entries_leaves_the_index_alone(tmp_path: Path) -> None:
    embed = Embedder()
    more = store(tmp_path).vectors({"x": "aaa", "y": "bbb", "z": "ccc"}, embed)
    before = store(tmp_path).snapshot.read_bytes()
    fewer = store(tmp_path).vectors({"z": "ccc", "x": "aaa"}, embed)
    assert np.array_equal(fewer, more[[2, 0]]) and len(embed.seen) == 3
    assert store(tmp_path).snapshot.read_bytes() == before
    assert store(tmp_path).build({"z": "ccc", "x": "aaa"}, embed).removed == 1


def test_equal_texts_are_embedded_once(tmp_path: Path) -> None:
    embed = Embedder()
    vectors = store(tmp_path).vectors({"x": "aaa", "y": "aaa"}, embed)
    assert embed.seen == ["aaa"] and np.allclose(vectors[0], vectors[1])


def test_no_entries_need_no_index(tmp_path: Path) -> None:
    assert store(tmp_path / "index").vectors({}, Embedder()).shape[0] == 0
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("damage", ["missing", "cut", "one byte"])
def test_a_lost_snapshot_is_made_from_chroma_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    embed = Embedder()
    texts = {"x": "aaa", "y": "bbb"}
    first = store(tmp_path).vectors(texts, embed)
    snapshot = store(tmp_path).snapshot
    whole = snapshot.read_bytes()
    if damage == "missing":
        snapshot.unlink()
    elif damage == "cut":
        snapshot.write_bytes(whole[: len(whole) // 2])
    else:
        at = whole.index(first.tobytes()) + 5
        snapshot.write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
    assert np.allclose(store(tmp_path).vectors(texts, embed), first, atol=1e-6)
    assert len(embed.seen) == 2
    assert ("cannot be read" in caplog.text) == (damage != "missing")
    assert read_snapshot(snapshot) is not None


@pytest.mark.parametrize("damage", ["garbage", "lost", "wrong"])
def test_a_damaged_database_is_found_and_built_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    embed = Embedder()
    texts = {name: name * 3 for name in "abcdefgh"}
    first = store(tmp_path).vectors(texts, embed)
    if damage == "garbage":
        (store(tmp_path).database / "chroma.sqlite3").write_bytes(b"this is no database" * 100)
    else:
        spoil(store(tmp_path), damage)
    with caplog.at_level(logging.WARNING):
        built = store(tmp_path).build(texts, embed)
    assert np.allclose(built.vectors, first) and built.audited
    assert len(embed.seen) == 8, "the snapshot has the vectors"
    assert ("damaged" in caplog.text) == (damage == "garbage")
    assert stored(store(tmp_path))["ids"] == sorted(texts)
    assert store(tmp_path).build(texts, embed).embedded == 0


def spoil(kept_by: VectorStore, damage: str) -> None:
    """Changes what Chroma holds behind the back of the store."""
    import chromadb

    with chromadb.PersistentClient(str(kept_by.database)) as client:
        collection = client.get_collection(kept_by.collection, embedding_function=None)
        if damage == "lost":
            collection.delete(ids=["c"])
        else:
            collection.update(ids=["c"], embeddings=[[0.5] * 8])


def test_what_chroma_does_not_give_back_is_an_error_of_the_build_and_a_warning_of_the_search(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ChromaCollection.read
    monkeypatch.setattr(ChromaCollection, "read", lambda self, entries: read(self, list(entries)[1:]))
    texts = {"x": "aaa", "y": "bbb"}
    with pytest.raises(ConfigError, match="does not give back the vectors"):
        store(tmp_path).build(texts, Embedder())
    assert not store(tmp_path).snapshot.exists()
    with caplog.at_level(logging.WARNING):
        assert len(store(tmp_path).vectors(texts, Embedder())) == 2
    assert "keeps it in memory" in caplog.text


@pytest.mark.parametrize("part", ["snapshot", "database"])
def test_an_index_of_another_embedding_is_refused_by_name(tmp_path: Path, part: str) -> None:
    embed = Embedder()
    for fingerprint in ("one", "two"):
        store(tmp_path, fingerprint).vectors({"x": "aaa"}, embed)
    mine, other = store(tmp_path), store(tmp_path, "two")
    if part == "snapshot":
        shutil.copy(other.snapshot, mine.snapshot)
    else:
        rename(other, mine.collection)
        shutil.rmtree(mine.folder)
        shutil.copytree(other.database, mine.database)
    told = r"embedded by 'two'.*'one'.*captain library index --rebuild"
    with pytest.raises(ConfigError, match=told):
        store(tmp_path).vectors({"x": "aaa"}, embed)
    with pytest.raises(ConfigError, match=told):
        store(tmp_path).build({"x": "aaa"}, embed)
    built = store(tmp_path).build({"x": "aaa"}, embed, rebuild=True)
    assert (built.embedded, built.audited) == (1, True)
    assert len(store(tmp_path).vectors({"x": "aaa"}, embed)) == 1 and len(embed.seen) == 3


def rename(kept_by: VectorStore, name: str) -> None:
    import chromadb

    with chromadb.PersistentClient(str(kept_by.database)) as client:
        client.get_collection(kept_by.collection, embedding_function=None).modify(name=name)


def test_a_build_tells_what_it_did(tmp_path: Path) -> None:
    first = store(tmp_path).build({"x": "aaa", "y": "bbb", "z": "ccc"}, Embedder())
    assert (first.embedded, first.removed, first.audited) == (3, 0, True)
    second = store(tmp_path).build({"x": "aaa", "z": "cccc"}, Embedder())
    assert (second.embedded, second.removed, second.audited) == (1, 1, True)
    again = store(tmp_path).build({"x": "aaa", "z": "cccc"}, Embedder(), rebuild=True)
    assert (again.embedded, again.audited) == (2, True)
    nothing = store(tmp_path).build({}, Embedder())
    assert (nothing.removed, nothing.audited, len(nothing.vectors)) == (2, True, 0)


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
import json, os, signal, sys, time, zlib
import numpy as np
from pathlib import Path
from captain.library.snapshot import content_hash, read_snapshot
from captain.library.vectors import VectorStore

def embed(texts):
    numbers = [zlib.crc32(text.encode()) for text in texts]
    return np.array([[1.0, number % 997, number % 991] for number in numbers], np.float32)

def entries(own, count, version):
    return {f"{own}{number}": f"{own} {number} {version}" for number in range(count)}

def build(folder, own, count, version):
    store = VectorStore(Path(folder), kind="experts", sources=[own], fingerprint="f")
    return store, store.vectors(entries(own, count, version), embed)
"""
BUILD = """
folder, own, count, version = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
print(json.dumps([len(build(folder, own, count, version)[1]), "chromadb" in sys.modules]))
"""
KILL = """
import chromadb
folder, count, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
child = os.fork()
if not child:  # Chroma is opened in children only
    build(folder, "a", count, 0)
    os._exit(0)
os.waitpid(child, 0)
killed, versions = 0, []
for number in range(1, rounds + 1):
    child = os.fork()
    if not child:
        build(folder, "a", count, number)
        os._exit(0)
    time.sleep(0.5 * number / rounds)
    os.kill(child, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    snapshot = read_snapshot(VectorStore(Path(folder), kind="experts", sources=["a"], fingerprint="f").snapshot)
    whole = [
        version for version in range(number + 1)
        if snapshot.hashes == [content_hash(text) for text in entries("a", count, version).values()]
        and np.array_equal(snapshot.vectors, embed(list(entries("a", count, version).values())))
    ]
    versions.append(whole)
print(json.dumps([killed, versions]))
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM + program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def finish(process: subprocess.Popen[str]) -> Any:
    output, _ = process.communicate(timeout=100)
    return json.loads(output)


def audit(folder: Path, own: str, count: int, version: int) -> int:
    """Builds once more in this process; how many texts had to be embedded for it."""
    made: dict[str, Any] = {}
    exec(PROGRAM, made)
    texts = made["entries"](own, count, version)
    built = VectorStore(folder, kind="experts", sources=[own], fingerprint="f").build(texts, made["embed"])
    assert built.audited and np.array_equal(built.vectors, made["embed"](list(texts.values())))
    return built.embedded


def test_processes_do_not_lose_each_others_vectors(tmp_path: Path) -> None:
    for version in (1, 2):  # at first nothing is there, then all has changed
        running = [start(BUILD, tmp_path, own, 300, version) for own in ("a", "b", "a")]
        assert [finish(process)[0] for process in running] == [300] * 3
        assert [audit(tmp_path, own, 300, version) for own in ("a", "b")] == [0, 0]
        assert len(stored(store(tmp_path, "f", "a"))["ids"]) == len(stored(store(tmp_path, "f", "b"))["ids"]) == 300


def test_a_killed_writer_leaves_the_old_or_the_new_index(tmp_path: Path) -> None:
    killed, versions = finish(start(KILL, tmp_path, 300, 10))
    assert killed >= 1
    assert all(len(whole) == 1 for whole in versions), versions
    assert versions == sorted(versions)
    audit(tmp_path, "a", 300, 11)
    folder = store(tmp_path, "f", "a").folder
    assert not list(folder.glob("*.part")) and len(list(folder.glob("chroma-*"))) == 1


def test_an_unchanged_library_is_opened_without_chroma(tmp_path: Path) -> None:
    assert [finish(start(BUILD, tmp_path, "a", 200, 1)) for _ in range(2)] == [[200, True], [200, False]]
