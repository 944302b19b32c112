"""The scenario `retrieval` on made-up problems, with the packaged experts and an embedding that needs no weights."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from captain.compose import load_config
from captain.errors import ConfigError
from captain.scenario import ScenarioResult, build_scenario
from scenarios.metrics import wilson_interval
from scenarios.retrieval import _by_chance
from scenarios.retrieval_data import Problem, halves, out_of_domain_queries, read_problems, tools_of_concepts

BOOKS = ("atkins", "chemmc", "quan", "matter", "class", "thermo", "fund", "calculus", "diff", "stat")
OVERRIDES = ("scenario=retrieval", "model=scripted", "embedding=hash")


async def run(make_captain: Any, journal: Any, *overrides: str) -> ScenarioResult:
    composed = load_config([*OVERRIDES, *overrides], scenario_required=True)
    assert composed.scenario is not None
    settings = composed.captain
    captain = make_captain(embedding=settings.embedding, library=settings.library, tools=settings.tools, seed=7)
    scenario = build_scenario(composed.scenario, composed.parameters)
    result = await scenario.run(captain, journal)
    assert captain.asked == []  # no model is called
    return result


@pytest.fixture
def plain_data(data: Path) -> Path:
    """Texts that a bag of words gets right, so that what is right is known."""
    texts = {
        "humaneval/HumanEval.jsonl": ("prompt", "Write a Python function that sorts a list of strings. def sort(x):"),
        "math500/test.jsonl": ("problem", "Factor the polynomial with integer coefficients and find its roots."),
        "dabench/da-dev-questions.jsonl": ("question", "Compute the correlation coefficient of two columns."),
    }
    for name, (field, text) in texts.items():
        path = data / "benchmarks" / name
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = [{**row, field: text, "concepts": ["Correlation Analysis"]} for row in rows]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return data


async def test_what_is_reported(make_captain: Any, journal: Any, plain_data: Path) -> None:
    result = await run(make_captain, journal)
    assert list(result.headline) == ["domain@1", "domain@3"]
    rows = [row for row in result.rows if row.get("variant") == "configured"]
    found = {(row["half"], row["source"]): row for row in rows}
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["source"]] += row["n"]
    assert [counts[book] for book in BOOKS] == [4] * len(BOOKS)  # rows that come twice count twice
    whole = found["held out", "all"]
    assert whole["n"] + found["tuned on", "all"]["n"] == 12 + 24 + 72 + 40
    assert result.headline == {name: whole[name] for name in ("domain@1", "domain@3")}
    easy = [found[half, source] for half in ("tuned on", "held out") for source in ("humaneval", "math500", "dabench")]
    assert [row["domain@1"] for row in easy] == [1.0] * 6
    low, high = wilson_interval(easy[0]["n"], easy[0]["n"])
    assert easy[0]["ci95@1"] == [round(low, 4), round(high, 4)]
    assert {row["variant"] for row in result.summary["variants"]} >= {"configured", "dense only", "lexical only"}


async def test_tools_are_counted_by_concept(make_captain: Any, journal: Any, plain_data: Path) -> None:
    result = await run(make_captain, journal, "scenario.ablate=false")
    tuned, held, both = result.summary["tools"]
    assert (tuned["half"], held["half"], both["half"]) == ("tuned on", "held out", "both")
    assert tuned["questions"] + held["questions"] == both["questions"] == 24
    assert both["strangers"] == 60 and both["false_abstention"] == 0
    assert tuned["recall@5"] == held["recall@5"] == 1.0
    chance = _by_chance([set(tools_of_concepts()["Correlation Analysis"])], tuned["tools"])
    assert tuned["random five"] == round(chance, 4) < 0.5


async def test_a_higher_threshold_never_abstains_less(make_captain: Any, journal: Any, plain_data: Path) -> None:
    result = await run(make_captain, journal, "scenario.ablate=false", "library.threshold=0.37")
    table = [row for row in result.rows if "threshold" in row]
    assert result.summary["threshold"] == [row for row in table if row["configured"]]
    assert {row["strangers"] for row in table} == {30}
    assert [row["threshold"] for row in table if row["configured"]] == [0.37, 0.37]
    for half in ("tuned on", "held out"):
        for name in ("abstention", "false_abstention"):
            shares = [row[name] for row in table if row["half"] == half]
            assert shares == sorted(shares) and shares[0] < shares[-1]


async def test_figures_repeat_and_hold_no_text_of_a_problem(make_captain: Any, journal: Any, plain_data: Path) -> None:
    result = await run(make_captain, journal, "scenario.ablate=false")
    files = {path.relative_to(journal.folder).as_posix() for path in journal.folder.rglob("*")}
    assert files == set(result.artifacts) == {"domains.csv", "thresholds.csv", "tools.csv"}
    kept = result.model_dump_json() + json.dumps(journal.lines)
    kept += "".join((journal.folder / name).read_text(encoding="utf-8") for name in files)
    asked = [*(problem.text for problem in read_problems()), *out_of_domain_queries()]
    assert [text for text in asked if text.strip() in kept] == []
    with (journal.folder / "domains.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["half"] for row in rows} == {"tuned on", "held out"}
    assert await run(make_captain, journal, "scenario.ablate=false") == result


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("scenario.domains.physics=[phisics]", "'phisics'"),
        ("scenario.classes.atkins=[alchemy]", "'alchemy'"),
    ],
)
async def test_a_mapping_that_fits_no_longer_is_refused(
    make_captain: Any, journal: Any, data: Path, override: str, named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        await run(make_captain, journal, override)


async def test_missing_data_are_named(make_captain: Any, journal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAPTAIN_DATA", raising=False)
    with pytest.raises(ConfigError, match="CAPTAIN_DATA"):
        await run(make_captain, journal)


def test_every_row_is_a_problem(data: Path) -> None:
    problems = read_problems()
    assert problems[0] == Problem("humaneval", problems[0].text) and "def add_0" in problems[0].text
    asked = [problem for problem in problems if problem.concepts]
    assert {problem.source for problem in asked} == {"dabench"} and len(asked) == 24
    assert asked[0].text == "What is the mean of column a?"  # neither constraints nor format


def test_halves_part_everything_once() -> None:
    items = list(range(101))
    tuned, held = halves(items, seed=3)
    assert (len(tuned), len(held)) == (50, 51) and sorted(tuned + held) == items
    assert halves(items, seed=3) == (tuned, held) != halves(items, seed=4)


def test_sixty_strangers() -> None:
    queries = out_of_domain_queries()
    assert len(queries) == len(set(queries)) == 60


@pytest.mark.parametrize(
    ("wanted", "offered", "chance"),
    [([{"a"}], 5, 1.0), ([{"a"}], 10, 0.5), ([{"a"}, {"b"}], 10, 2 / 9), ([{"a", "b"}], 10, 7 / 9)],
)
def test_random_tools(wanted: list[set[str]], offered: int, chance: float) -> None:
    assert _by_chance(wanted, offered) == pytest.approx(chance)
