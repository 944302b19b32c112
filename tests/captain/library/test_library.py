"""The library: search, abstention, what is offered, and keeping written experts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from captain.config import EmbeddingConfig
from captain.embeddings.hashing import HashEmbedding
from captain.errors import ConfigError, ModelError
from captain.library import AgentProfile, Library

Make = Callable[..., Library]
Write = Callable[[Path, dict[str, tuple[str, str]]], Path]


def written(name: str = "botanist", **fields: str) -> AgentProfile:
    described = {"title": "Botanist", "description": "Names plants, flowers and trees and tells how they grow."}
    return AgentProfile(name=name, domain="nature", instructions="Look closely.", **{**described, **fields})


async def test_search_finds_the_fitting_expert(make_library: Make) -> None:
    library = make_library()
    hits = await library.search_experts("Which primes divide the number? Modular arithmetic.")
    assert hits[0].item.name == "number_theorist"
    assert hits == sorted(hits, key=lambda hit: -hit.score)
    assert 0 < hits[0].lexical <= 1 and hits[0].dense <= 1
    assert hits[0].domain is not None
    assert hits[0].score == pytest.approx(0.4 * (hits[0].dense + 0.3 * hits[0].lexical) + 0.6 * hits[0].domain)


async def test_search_abstains_and_respects_top_k(make_library: Make) -> None:
    library = make_library(threshold=0.3)
    assert await library.search_experts("Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich") == []
    assert await library.search_experts("  ") == []
    everybody = make_library(threshold=-1.0, top_k=3)
    assert len(await everybody.search_experts("anything")) == 3
    assert len(await everybody.search_experts("anything", 1)) == 1
    assert await everybody.search_experts("anything", 0) == []


async def test_lookups_by_name_give_the_nearest(make_library: Make) -> None:
    library = make_library()
    assert library.expert("chemist").title == "Chemist"
    assert len(library.experts()) == 4
    with pytest.raises(ConfigError, match="no expert 'chemyst'; did you mean 'chemist'"):
        library.expert("chemyst")
    with pytest.raises(ConfigError, match="no tool 'x'"):
        library.tool("x")


async def test_tools_that_miss_something_are_not_offered(
    make_library: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "library_tools_offer.py").write_text('''
from captain.tools import tool

@tool
def read_sheet(path: str) -> str:
    """Read a sheet of a workbook."""
    return path

@tool(needs_packages=("no_such_package_here",))
def read_sheet_fast(path: str) -> str:
    """Read a sheet of a workbook fast."""
    return path
''')
    library = make_library(tools=["library_tools_offer"])
    assert {spec.name for spec in library.tools()} == {"read_sheet", "read_sheet_fast"}
    assert [hit.item.name for hit in await library.search_tools("read a sheet of the workbook")] == ["read_sheet"]
    assert library.tool("read_sheet_fast").missing()
    assert await library.search_tools("read a sheet", 0) == []


async def test_kept_expert_is_found_now_and_later(make_library: Make, tmp_path: Path) -> None:
    library = make_library()
    kept = (await library.keep(written())).profile
    assert kept.origin == "written"
    file = tmp_path / "user" / "experts" / "botanist.yaml"
    assert yaml.safe_load(file.read_text())["profiles"][0]["name"] == "botanist"
    for again in (library, make_library()):
        assert (await again.search_experts("plants, flowers and trees"))[0].item == kept
        assert again.expert("botanist") == kept
    assert [path.name for path in file.parent.iterdir()] == ["botanist.yaml"]


async def test_near_duplicate_gives_the_existing_expert(make_library: Make, tmp_path: Path) -> None:
    library = make_library()
    alike = written(
        "new_chemist", title="Chemist", description="balances reactions and computes concentrations and yields."
    )
    kept = await library.keep(alike)
    same = kept.profile
    assert kept.refused
    assert same.name == "chemist" and same.origin == "user"
    assert not (tmp_path / "user" / "experts").exists()


async def test_names_that_others_have_are_numbered(make_library: Make) -> None:
    library = make_library()
    assert (await library.keep(written("chemist"))).profile.name == "chemist_2"
    assert library.expert("chemist").origin == "user"
    mushrooms = written("chemist_2", title="Mushroom expert", description="Tells edible fungi from poisonous ones.")
    assert (await library.keep(mushrooms)).profile.name == "chemist_2_2"
    assert {"chemist", "chemist_2", "chemist_2_2"} <= {profile.name for profile in make_library().experts()}


async def test_experts_kept_by_another_process_are_seen(make_library: Make) -> None:
    first, second = make_library(), make_library()
    assert len(first.experts()) == len(second.experts())
    await first.keep(written())
    assert (await second.keep(written("plant_expert"))).profile.name == "botanist"


async def test_a_name_that_was_taken_later_does_not_stop_the_library(
    make_library: Make, write_experts: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await make_library().keep(written())
    source = write_experts(tmp_path / "new.yaml", {"botanist": ("Botany professor", "Teaches botany.")})
    with caplog.at_level(logging.WARNING):
        assert make_library(profiles=[str(source)]).expert("botanist").title == "Botany professor"
    assert "botanist.yaml" in caplog.text


async def test_folder_that_cannot_be_written(
    make_library: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    library = make_library(user_dir=str(tmp_path / "file" / "user"))
    with caplog.at_level(logging.WARNING):
        assert (await library.search_experts("primes and divisibility"))[0].item.name == "number_theorist"
    assert "keeps it in memory" in caplog.text
    with pytest.raises(ConfigError, match="library.user_dir"):
        await library.keep(written())


async def test_fifty_searches_at_once_embed_each_query_once(
    make_library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []
    encode = HashEmbedding._encode

    def counted(self: HashEmbedding, texts: list[str], *, query: bool) -> object:
        queries.extend(texts if query else [])
        return encode(self, texts, query=query)

    monkeypatch.setattr(HashEmbedding, "_encode", counted)
    library = make_library()
    texts = [f"primes {number % 5}" for number in range(50)]
    found = await asyncio.gather(*(library.search_experts(text) for text in texts))
    assert all(hits[0].item.name == "number_theorist" for hits in found)
    assert sorted(queries) == sorted(set(texts))


async def test_a_failing_query_does_not_fail_later_ones(make_library: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_library()
    await library.search_experts("warm")
    encode = HashEmbedding._encode

    def fail(self: HashEmbedding, texts: list[str], *, query: bool) -> object:
        raise ModelError("the endpoint is down")

    monkeypatch.setattr(HashEmbedding, "_encode", fail)
    found = await asyncio.gather(
        *(library.search_experts(f"primes {number}") for number in range(9)), return_exceptions=True
    )
    assert all(isinstance(result, ModelError) for result in found)
    monkeypatch.setattr(HashEmbedding, "_encode", encode)
    assert (await library.search_experts("primes 3"))[0].item.name == "number_theorist"


async def test_words_find_what_meaning_misses(make_library: Make, write_experts: Write, tmp_path: Path) -> None:
    source = write_experts(
        tmp_path / "words.yaml",
        {
            "numpy_expert": ("Array expert", "Knows every corner of the zyx417 library."),
            "translator": ("翻訳者", "日本語の文章を英語に翻訳します。"),
            "other": ("Other", "Does something else."),
        },
    )
    library = make_library(profiles=[str(source)], embedding=EmbeddingConfig(provider="hash", dimensions=8))
    assert (await library.search_experts("zyx417"))[0].item.name == "numpy_expert"
    hits = await library.search_experts("この文章を翻訳")
    assert max(hits, key=lambda hit: hit.lexical).item.name == "translator"
