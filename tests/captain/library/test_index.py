"""The index through the library: what a build reports, what one more expert costs, and a Chroma server."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from captain.config import EmbeddingConfig
from captain.embeddings.hashing import HashEmbedding
from captain.errors import ConfigError
from captain.library import Library

Make = Callable[..., Library]
Write = Callable[[Path, dict[str, tuple[str, str]]], Path]

DIGGER = {"digger": ("Archaeologist", "Digs for pottery, dates layers of soil and describes finds.")}


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that were embedded."""
    texts: list[str] = []
    encode = HashEmbedding._encode

    def counted(self: HashEmbedding, batch: list[str], *, query: bool) -> Any:
        texts.extend([] if query else batch)
        return encode(self, batch, query=query)

    monkeypatch.setattr(HashEmbedding, "_encode", counted)
    return texts


async def test_one_more_expert_embeds_one_text(
    make_library: Make, write_experts: Write, tmp_path: Path, embedded: list[str]
) -> None:
    assert (await make_library().search_experts("primes"))[0].item.name == "number_theorist"
    assert len(embedded) == 4
    more = write_experts(tmp_path / "source" / "more.yaml", DIGGER)
    source = str(more.parent)
    assert (await make_library(profiles=[source]).search_experts("pottery finds"))[0].item.name == "digger"
    assert len(embedded) == 5 and embedded[-1].startswith("Archaeologist")
    await make_library(profiles=[source]).search_experts("soil")
    assert len(embedded) == 5


def test_a_build_reports_kind_by_kind(make_library: Make, write_experts: Write, tmp_path: Path) -> None:
    source = write_experts(tmp_path / "growing" / "experts.yaml", DIGGER)
    report = make_library(profiles=[str(source.parent)]).index()
    experts, tools = report.kinds
    assert (experts.kind, experts.entries, experts.embedded, experts.reused, experts.removed) == ("experts", 1, 1, 0, 0)
    assert (tools.kind, tools.entries, tools.embedded) == ("tools", 0, 0)
    assert report.audited and experts.seconds > 0 and report.fingerprint.startswith("hash|")
    assert report.place == str(tmp_path / "user" / "index")
    source.unlink()
    write_experts(source.with_name("other.yaml"), {"baker": ("Baker", "Bakes bread."), "dancer": ("Dancer", "Dances.")})
    experts = make_library(profiles=[str(source.parent)]).index().kinds[0]
    assert (experts.entries, experts.embedded, experts.reused, experts.removed) == (2, 2, 0, 1)
    assert make_library(profiles=[str(source.parent)]).index().kinds[0].reused == 2
    assert make_library(profiles=[str(source.parent)]).index(rebuild=True).kinds[0].embedded == 2


async def test_a_build_that_cannot_be_written_says_so(make_library: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match=r"cannot be built: .*library\.user_dir"):
        make_library(user_dir=str(tmp_path / "file" / "user")).index()


async def test_another_embedding_has_an_index_of_its_own(make_library: Make, embedded: list[str]) -> None:
    for dimensions in (512, 64, 512, 64):
        library = make_library(embedding=EmbeddingConfig(provider="hash", dimensions=dimensions))
        assert await library.search_experts("primes, divisibility and modular arithmetic")
    assert len(embedded) == 8


async def test_vectors_of_another_length_are_an_error_with_a_remedy(
    make_library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_library().search_experts("primes")
    encode = HashEmbedding.encode
    monkeypatch.setattr(
        HashEmbedding, "encode", lambda self, texts, query=False: encode(self, texts, query=query)[:, :9]
    )
    with pytest.raises(ConfigError, match="length 512.*now gives 9; run `captain library index --rebuild`"):
        await make_library().search_experts("primes")
    make_library().index(rebuild=True)
    assert await make_library(threshold=-1.0).search_experts("primes")


@pytest.fixture(scope="module")
def chroma_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1", "--port", str(port)]
    command = [*program, "--path", str(tmp_path_factory.mktemp("chroma"))]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    server.kill()
    server.wait()


async def test_a_server_keeps_the_vectors(
    make_library: Make, write_experts: Write, tmp_path: Path, embedded: list[str], chroma_url: str
) -> None:
    import chromadb

    source = str(write_experts(tmp_path / "growing" / "experts.yaml", DIGGER).parent)
    assert (await make_library(profiles=[source], chroma_url=chroma_url).search_experts("pottery"))[0].item.name
    write_experts(tmp_path / "growing" / "more.yaml", {"baker": ("Baker", "Bakes bread and cakes.")})
    library = make_library(profiles=[source], chroma_url=chroma_url)
    report = library.index()
    assert report.place == chroma_url and report.audited and len(embedded) == 2
    with chromadb.HttpClient(host=chroma_url) as client:
        (kept,) = client.list_collections()
        assert sorted(kept.get()["ids"]) == ["baker", "digger"]
        assert kept.metadata["fingerprint"] == report.fingerprint
        kept.update(ids=["baker"], embeddings=[[0.1] * 512])
        assert library.index().kinds[0].embedded == 0
        (mended,) = client.get_collection(kept.name, embedding_function=None).get(["baker"], include=["embeddings"])[
            "embeddings"
        ]
        assert mended == pytest.approx(library.embedding().encode([library.expert("baker").meaning()])[0])
    assert library.index(rebuild=True).kinds[0].embedded == 2
    assert not list((tmp_path / "user").glob("index/*/chroma-*"))


async def test_a_server_that_is_away_costs_a_warning_or_a_clear_error(
    make_library: Make, caplog: pytest.LogCaptureFixture
) -> None:
    library = make_library(chroma_url="http://127.0.0.1:9")
    with caplog.at_level(logging.WARNING):
        assert (await library.search_experts("primes"))[0].item.name == "number_theorist"
    assert "'http://127.0.0.1:9' does not answer" in caplog.text and "keeps it in memory" in caplog.text
    with pytest.raises(ConfigError, match="'http://127.0.0.1:9' does not answer"):
        library.index()
