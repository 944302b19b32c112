"""The packaged experts: complete, distinct, short, trustworthy, and with tools that exist."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path

import pytest
import yaml

import agents_library
from captain.config import EmbeddingConfig, ToolsConfig
from captain.library import AgentProfile, load_profiles
from captain.library.lint_texts import text_faults

PROFILES = load_profiles(["agents_library"])
SIZES = {
    "mathematics": 22,
    "programming": 22,
    "data_analysis": 14,
    "statistics": 10,
    "physics": 14,
    "chemistry": 14,
}
ALIKE = 0.85
"""Cosine of two briefs from which on they say the same."""
NEEDED = {
    "programming": "python_programmer rust_programmer javascript_programmer test_engineer code_reviewer debugger "
    "performance_engineer regex_expert algorithm_designer",
    "databases": "database_expert",
    "security": "application_security_reviewer",
    "operations_research": "supply_chain_optimiser operations_researcher",
    "research": "web_researcher source_checker",
    "verification": "answer_verifier fact_checker",
    "recommendation": "recommender_systems_engineer",
    "shopping": "shopping_advisor product_comparer review_reader",
    "writing": "writer editor",
    "language": "translator",
    "planning": "project_planner",
    "life_sciences": "biologist",
    "engineering": "engineer",
    "finance": "financial_analyst",
}


def failing(check: Callable[[AgentProfile], bool]) -> list[str]:
    return [profile.name for profile in PROFILES if not check(profile)]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def test_the_package_yields_them() -> None:
    assert agents_library.packaged_profiles() == PROFILES


def test_numbers_and_domains() -> None:
    assert len(PROFILES) >= 150
    assert len({profile.domain for profile in PROFILES}) >= 25
    assert {"assistant", "coder"} == {profile.kind for profile in PROFILES}
    assert {profile.origin for profile in PROFILES} == {"packaged"}


@pytest.mark.parametrize(("domain", "least"), SIZES.items())
def test_great_fields_have_many_experts(domain: str, least: int) -> None:
    assert sum(profile.domain == domain for profile in PROFILES) >= least


def test_needed_experts_are_there() -> None:
    domains = {profile.name: profile.domain for profile in PROFILES}
    needed = {name: domain for domain, names in NEEDED.items() for name in names.split()}
    assert {name: domains.get(name) for name in needed} == needed


def test_one_file_per_domain() -> None:
    files = sorted((Path(agents_library.__file__).parent / "profiles").glob("*.yaml"))
    domains = [yaml.safe_load(file.read_text(encoding="utf-8"))["domain"] for file in files]
    assert domains == [file.stem for file in files]


@pytest.mark.parametrize("field", ["name", "title", "description", "instructions"])
def test_unique(field: str) -> None:
    assert [value for value, count in Counter(getattr(p, field) for p in PROFILES).items() if count > 1] == []


@pytest.mark.parametrize(("field", "share"), [("description", 0.4), ("instructions", 0.5)])
def test_no_two_share_many_words(field: str, share: float) -> None:
    texts = [(profile.name, set(words(getattr(profile, field)))) for profile in PROFILES]
    alike = [
        (one, other)
        for (one, text), (other, other_text) in itertools.combinations(texts, 2)
        if len(text & other_text) > share * len(text | other_text)
    ]
    assert alike == []


@pytest.mark.model
def test_no_two_say_the_same() -> None:
    from captain.embeddings import build_embedding

    vectors = build_embedding(EmbeddingConfig(provider="minilm")).encode([profile.brief() for profile in PROFILES])
    cosines = vectors @ vectors.T
    pairs = itertools.combinations(range(len(PROFILES)), 2)
    nearest = sorted(((float(cosines[pair]), pair) for pair in pairs), reverse=True)[:20]
    table = [(round(cosine, 3), PROFILES[one].name, PROFILES[other].name) for cosine, (one, other) in nearest]
    assert [row for row in table if row[0] >= ALIKE] == []
    assert table[0][0] > 0.5, "a library whose nearest experts are this far apart was not embedded"


def test_examples_are_each_given_once() -> None:
    examples = Counter(example for profile in PROFILES for example in profile.examples)
    assert [example for example, count in examples.items() if count > 1] == []


def test_descriptions_are_short_and_say_enough() -> None:
    assert failing(lambda profile: 20 <= len(profile.description.split()) <= 45) == []


def test_instructions_are_a_few_sentences() -> None:
    def sentences(profile: AgentProfile) -> int:
        return sum(1 for part in profile.instructions.replace("?", ".").split(". ") if part.strip())

    assert failing(lambda profile: 3 <= sentences(profile) <= 7) == []
    assert failing(lambda profile: 30 <= len(profile.instructions.split()) <= 90) == []


def test_tags_and_examples() -> None:
    assert failing(lambda profile: 8 <= len(profile.tags) <= 15) == []
    assert failing(lambda profile: len({tag.casefold() for tag in profile.tags}) == len(profile.tags)) == []
    assert failing(lambda profile: 2 <= len(profile.examples) <= 3) == []


def test_descriptions_are_apart_from_instructions() -> None:
    def ratio(profile: AgentProfile) -> float:
        return SequenceMatcher(None, words(profile.description), words(profile.instructions)).ratio()

    assert failing(lambda profile: ratio(profile) < 0.3) == []


def test_nothing_is_cut_by_the_embedding() -> None:
    """An embedding reads 256 tokens, and a word of these texts is 1.6 tokens at most on average."""
    assert failing(lambda profile: len(re.findall(r"\w+|[^\w\s]", profile.meaning())) <= 200) == []


def test_no_orders_no_secrets_no_models() -> None:
    faults = [
        (profile.name, fault.kind, fault.quote)
        for profile in PROFILES
        for text in (profile.title, profile.description, profile.instructions, profile.tools_query or "", *profile.tags)
        for fault in text_faults(text)
    ]
    assert faults == []
    assert {profile.role for profile in PROFILES} == {"expert"}


def test_named_tools_exist() -> None:
    from captain.library import load_tools

    known = {spec.name for spec in load_tools(ToolsConfig().modules)}
    named = {tool for profile in PROFILES for tool in profile.tools}
    assert named - known == set()
    assert len(named) >= 15


def test_tools_are_few_and_named_once() -> None:
    assert failing(lambda profile: len(set(profile.tools)) == len(profile.tools) <= 5) == []


def test_coders_are_told_to_show_a_result() -> None:
    """A coder's work is a program: its instructions have to speak of what it runs, prints or shows."""
    shows = re.compile(r"\b(print|python|run|show|test|draw)\w*", re.I)
    assert failing(lambda profile: profile.kind != "coder" or bool(shows.search(profile.instructions))) == []
