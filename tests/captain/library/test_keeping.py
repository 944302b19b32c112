"""Keeping experts in the user's folder: by several processes at once, beside packaged ones, never over them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from captain.errors import ConfigError
from captain.library import AgentProfile, Library

Make = Callable[..., Library]
EACH = 6
KEEPING = f"""
import asyncio, sys
from captain.config import CaptainConfig, EmbeddingConfig, LibraryConfig, ModelSpec
from captain.library import AgentProfile, Library

source, user_dir, mark = sys.argv[1:]
library = Library(CaptainConfig(
    model=ModelSpec(name="none", provider="scripted"),
    embedding=EmbeddingConfig(provider="hash"),
    library=LibraryConfig(profiles=[source], user_dir=user_dir, same_meaning=0.98),
))
for number in range({EACH}):
    letter = "bcdfghjklmnp"[number]
    word, other = mark * 3 + letter * 3, letter * 3 + mark * 3
    expert = AgentProfile(
        name="botanist", title="Botanist " + word, domain="nature", instructions="Look closely.",
        description=f"Knows the plants of {{word}} island and of {{other}} valley.",
    )
    assert not asyncio.run(library.keep(expert)).refused
"""


def expert(name: str = "botanist", **fields: str) -> AgentProfile:
    described = {"title": "Botanist", "description": "Names plants, flowers and trees and tells how they grow."}
    return AgentProfile.model_validate(
        {"name": name, "domain": "nature", "instructions": "Look closely.", **described, **fields}
    )


def test_two_processes_keep_experts_of_one_name_and_lose_none(make_library: Make, tmp_path: Path) -> None:
    source, user_dir = str(tmp_path / "source" / "experts.yaml"), tmp_path / "user"
    make_library()  # writes the source
    processes = [
        subprocess.Popen([sys.executable, "-c", KEEPING, source, str(user_dir), mark], stderr=subprocess.PIPE)
        for mark in ("x", "q")
    ]
    for process in processes:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors.decode()[-2000:]
    library = make_library()
    kept = [profile for profile in library.experts() if profile.origin == "written"]
    assert len(kept) == len({profile.description for profile in kept}) == 2 * EACH
    names = {profile.name for profile in kept}
    assert names == {"botanist", *(f"botanist_{number}" for number in range(2, 2 * EACH + 1))}
    assert [path.name for path in (user_dir / "experts").iterdir() if not path.name.endswith(".yaml")] == []
    assert library.index().audited


async def test_the_same_expert_from_two_libraries_is_kept_once(make_library: Make) -> None:
    first, second = make_library(), make_library()
    assert not (await first.keep(expert())).refused
    again = await second.keep(expert("plant_expert"))
    assert again.refused and again.profile.name == "botanist" and again.profile.origin == "written"


async def test_words_show_a_duplicate_that_the_embedding_does_not(make_library: Make) -> None:
    library = make_library(same_meaning=1.5)
    shuffled = expert("plant_namer", description="Tells how plants, trees and flowers grow, and names plants.")
    assert not (await library.keep(expert())).refused
    assert (await library.keep(shuffled)).profile.name == "botanist"
    other = expert("beekeeper", title="Beekeeper", description="Keeps bees and tells when honey is ripe.")
    assert (await library.keep(other)).profile.name == "beekeeper"


async def test_what_is_promoted_counts_as_the_users_own(make_library: Make, tmp_path: Path) -> None:
    library = make_library()
    await library.keep(expert())
    assert library.keeper.promote("botanist").origin == "user"
    assert make_library().expert("botanist").origin == "user"
    assert (await library.keep(expert("plant_expert"))).profile.origin == "user", "no rewrite beside it"
    assert (await library.keep(expert(title="Mosses", description="Tells liverworts by spores."))).profile.name == (
        "botanist_2"
    )
    assert yaml.safe_load((tmp_path / "user" / "own" / "botanist.yaml").read_text())["profiles"][0]["origin"] == "user"


def test_added_experts_are_all_or_none(make_library: Make, tmp_path: Path) -> None:
    library = make_library()
    with pytest.raises(ConfigError, match="'chemist' already"):
        library.keeper.add([expert(), expert("chemist")])
    double = expert("plant_expert", description="Names plants, trees and flowers and tells how they grow.")
    library.keeper.add([expert()])
    with pytest.raises(ConfigError, match="does what 'botanist' of the library does already"):
        library.keeper.add([double])
    assert [path.name for path in (tmp_path / "user" / "own").iterdir()] == ["botanist.yaml"]


async def test_only_what_lies_in_the_users_folder_is_changed(make_library: Make) -> None:
    library = make_library()
    for change in (library.forget, library.keeper.promote, library.keeper.place):
        with pytest.raises(ConfigError, match=r"chemist.*(lies in a source|your own already)"):
            change("chemist")
        with pytest.raises(ConfigError, match="no expert 'nobody'"):
            change("nobody")


async def test_a_lock_that_is_held_for_ever_is_told(
    make_library: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("captain.library.keeping._LOCK_SECONDS", 0.1)
    library = make_library()
    (tmp_path / "user").mkdir()
    with FileLock(tmp_path / "user" / "experts.lock"), pytest.raises(ConfigError, match="another process holds"):
        await library.keep(expert())
    assert not (await library.keep(expert())).refused
