"""Ranking: words in any language, the scale of scores, and what the packaged experts are found by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from captain.config import CaptainConfig, LibraryConfig, ModelSpec
from captain.library import Library
from captain.library.ranking import Ranking, tokens


def test_words_are_compared_without_capitals_and_by_their_stem() -> None:
    assert tokens("Statistics, STATISTICAL!") == ["statis*", "statis*"]
    assert tokens("the_mean of x") == ["the", "mean", "of", "x"]
    assert tokens("Straße ＣＳＶ") == ["strass*", "csv"]
    assert tokens("日本語") == ["日本", "本語"]
    assert tokens("") == []


def test_rare_words_count_more_than_common_ones() -> None:
    words = ["works with the table", "works with the circle", "works with the poem", ""]
    ranking = Ranking(["table", "circle", "poem", "nothing"], np.zeros((4, 2), np.float32), words)
    hits = ranking.search("with the circle", np.zeros(2, np.float32), top_k=4, threshold=0.0)
    assert [hit.item for hit in hits] == ["circle", "table", "poem", "nothing"]
    assert hits[0].lexical > 2 * hits[1].lexical > 0 == hits[3].lexical
    unknown = ranking.search("circle zebra", np.zeros(2, np.float32), top_k=1, threshold=0.0)[0]
    assert unknown.lexical < hits[0].lexical <= 1


def test_threshold_is_lifted_by_shared_words() -> None:
    vectors = np.array([[0.28, 0.96], [0.28, 0.96]], np.float32)
    ranking = Ranking(["named", "other"], vectors, ["regular expressions", "something else"])
    hits = ranking.search("regular expressions", np.array([1, 0], np.float32), top_k=5, threshold=0.3)
    assert [hit.item for hit in hits] == ["named"]


def test_empty_ranking_finds_nothing() -> None:
    ranking: Ranking[str] = Ranking([], np.zeros((0, 0), np.float32), [])
    assert ranking.search("x", np.zeros(3, np.float32), top_k=3, threshold=-1) == []
    assert ranking.nearest(np.zeros(3, np.float32), 3) == []


ROLES = {
    "Checker: recomputes the sum by a second, independent method": "answer_verifier",
    "CSV analyst: computes the mean fare per passenger class": "tabular_analyst",
    "Computes the correlation between two columns and its p-value": "statistician",
    "How many days lie between 14 February 2023 and 3 May 2024?": "calendar_expert",
    "Counts in how many ways the committee can be formed": "combinatorialist",
    "Finds the eigenvalues of the 3x3 matrix": "linear_algebra_expert",
    "Determines the velocity of the block at the bottom of the incline": "mechanics_physicist",
    "Looks for the bug that makes the test fail": "debugger",
    "Reads the contract and explains what the tenant must pay": "policy_analyst",
    "Names the capital of Burkina Faso": "geographer",
    "Makes the paragraph shorter and clearer": "editor",
    "Computes the monthly payment of a mortgage": "financial_analyst",
    "Writes the SQL query for the ten best customers": "database_expert",
    "Says how a cold differs from influenza and when to see a doctor": "health_information_expert",
    "Predicts the product of the reaction of an alkene with HBr": "organic_chemist",
    "Dynamic programming for the longest common subsequence": "algorithm_designer",
}
STRANGE = ["Ballet choreographer", "Repairs a leaking tap", "Gardener who prunes roses", "Tunes a carburettor"]


@pytest.mark.model
async def test_roles_find_their_packaged_experts_and_strange_ones_nobody(tmp_path: Path) -> None:
    library = Library(
        CaptainConfig(model=ModelSpec(name="none", provider="scripted"), library=LibraryConfig(user_dir=str(tmp_path)))
    )
    found = {role: [hit.item.name for hit in await library.search_experts(role)] for role in ROLES}
    right = [role for role, name in ROLES.items() if found[role][:1] == [name]]
    assert len(right) >= len(ROLES) - 1, {role: found[role] for role in ROLES if role not in right}
    assert [await library.search_experts(role) for role in STRANGE] == [[]] * len(STRANGE)
