"""The packaged experts: complete, distinct, short, and with tools that exist."""

from __future__ import annotations

import itertools
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest
import yaml

import agents_library
from captain.config import ToolsConfig
from captain.library import AgentProfile, load_profiles

PROFILES = load_profiles(["agents_library"])
each = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)


def test_the_package_yields_them() -> None:
    assert agents_library.packaged_profiles() == PROFILES


def test_numbers_and_domains() -> None:
    assert len(PROFILES) >= 40
    assert len({profile.domain for profile in PROFILES}) >= 14
    assert {"assistant", "coder"} == {profile.kind for profile in PROFILES}
    assert {profile.origin for profile in PROFILES} == {"packaged"}


def test_one_file_per_domain() -> None:
    files = sorted((Path(agents_library.__file__).parent / "profiles").glob("*.yaml"))
    domains = [yaml.safe_load(file.read_text(encoding="utf-8"))["domain"] for file in files]
    assert domains == [file.stem for file in files]


@pytest.mark.parametrize("field", ["name", "title", "description", "instructions"])
def test_unique(field: str) -> None:
    assert [value for value, count in Counter(getattr(p, field) for p in PROFILES).items() if count > 1] == []


@pytest.mark.parametrize("field", ["description", "instructions"])
def test_no_two_are_nearly_alike(field: str) -> None:
    texts = [(profile.name, getattr(profile, field)) for profile in PROFILES]
    alike = [
        (one, other)
        for (one, text), (other, other_text) in itertools.combinations(texts, 2)
        if SequenceMatcher(None, text.split(), other_text.split()).ratio() > 0.6
    ]
    assert alike == []


@each
def test_lengths(profile: AgentProfile) -> None:
    sentences = [part for part in profile.instructions.replace("?", ".").split(". ") if part.strip()]
    assert 3 <= len(sentences) <= 7
    assert len(profile.instructions.split()) <= 90
    assert 20 <= len(profile.description.split()) <= 45
    assert 2 <= len(profile.examples) <= 3
    assert 8 <= len(profile.tags) <= 15


@each
def test_description_is_apart_from_instructions(profile: AgentProfile) -> None:
    assert SequenceMatcher(None, profile.description, profile.instructions).ratio() < 0.3


def test_named_tools_exist() -> None:
    from captain.library import load_tools

    known = {spec.name for spec in load_tools(ToolsConfig().modules)}
    named = {tool for profile in PROFILES for tool in profile.tools}
    assert named - known == set()
    assert len(named) >= 15


@each
def test_tools_are_few_and_named_once(profile: AgentProfile) -> None:
    assert len(set(profile.tools)) == len(profile.tools) <= 5


@each
def test_coders_are_told_to_show_a_result(profile: AgentProfile) -> None:
    """A coder's work is a program: its instructions have to speak of what it runs, prints or shows."""
    words = profile.instructions.lower()
    if profile.kind == "coder":
        assert any(word in words for word in ("print", "python", "run", "show", "test", "draw"))
