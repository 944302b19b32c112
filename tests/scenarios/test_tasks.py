from __future__ import annotations

import asyncio
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from captain.config import CaptainConfig
from captain.errors import ConfigError, ModelError
from captain.results import Result
from scenarios.tasks import Tasks


def own(*tasks: dict[str, Any], **settings: Any) -> Tasks:
    return Tasks.model_validate({"name": "mine", "sources": [{"name": "own", "tasks": list(tasks)}], **settings})


ONE = {"id": "own/one", "question": "What is 6 · 7?", "answer": 42, "scorer": "contains_number"}
TWO = {"id": "own/two", "question": "What is the capital of Canada?", "answer": "Ottawa"}


def marked_length(answer: str, expected: Any, *, at_most: int) -> bool:
    """A scorer of a user's own."""
    return len(answer) <= at_most


def broken(answer: str, expected: Any) -> bool:
    raise RuntimeError("no idea")


def typed(answer: str, expected: Any, *, output: Any) -> bool:
    return output is None and expected == 1


def _dotted(name: str) -> str:
    return f"{__name__}.{name}"


async def test_rows_summary_journal_and_table(make_captain: Any, journal: Any) -> None:
    captain = make_captain(lambda text, config: "It is 42.")
    result = await own(ONE, TWO).run(captain, journal)
    assert [(row["id"], row["captain"]["right"]) for row in result.rows] == [("own/one", True), ("own/two", False)]
    row = result.rows[0]
    assert row["source"] == "own" and "assistant" not in row
    assert row["captain"]["answer"] == "It is 42."
    assert (row["captain"]["calls"], row["captain"]["tokens"], row["captain"]["status"]) == (2, 120, "solved")
    figures = result.summary["captain"]
    assert (figures["right"], figures["n"], figures["rate"]) == (1, 2, 0.5)
    assert figures["ci95"] == [0.0945, 0.9055]
    assert figures["calls"] == 4 and figures["tokens"] == 240
    assert "assistant" not in result.summary and result.summary["missing"] == []
    assert [line["id"] for line in journal.of("row")] == ["own/one", "own/two"]
    assert "[2/2] own/two" in journal.of("progress")[1]["text"]
    with (journal.folder / "rows.csv").open() as file:
        assert [line["captain.right"] for line in csv.DictReader(file)] == ["True", "False"]
    assert result.artifacts == ["rows.csv"]


async def test_the_same_text_goes_to_captain_and_assistant(
    make_captain: Any, captain_class: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def answer(text: str, config: CaptainConfig) -> str:
        asked.append((config.team.mode, text))
        return "42" if config.team.mode == "adaptive" else "41"

    monkeypatch.setattr(captain_class, "default", staticmethod(answer))
    tasks = [{**ONE, "id": f"t{i}", "domain": "maths"} for i in range(8)]
    result = await own(*tasks, compare="single").run(make_captain(answer), journal)
    assert {text for _, text in asked} == {asked[0][1]}
    assert asked[0][1].startswith("What is 6 · 7?\n\n") and "Make no plots" in asked[0][1]
    assert [mode for mode, _ in asked[:4]] == ["adaptive", "single", "single", "adaptive"]
    assert (result.summary["captain"]["right"], result.summary["assistant"]["right"]) == (8, 0)
    paired = result.summary["paired"]
    assert paired["difference"] == 1.0 and paired["ci95"] == [1.0, 1.0]
    assert paired["mcnemar_p"] == 0.0078 and paired["noise"] is False
    assert result.summary["by_source"] == {"own": {"n": 8, "captain": 8, "assistant": 0}}


async def test_a_small_difference_is_called_noise(
    make_captain: Any, captain_class: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captain_class, "default", staticmethod(lambda text, config: "Ottawa"))
    captain = make_captain(lambda text, config: "42" if "6 · 7" in text else "Ottawa")
    result = await own(ONE, TWO, compare="single").run(captain, journal)
    assert result.summary["paired"]["difference"] == 0.5
    assert result.summary["paired"]["noise"] is True


async def test_team_single_is_not_compared_with_itself(make_captain: Any, journal: Any) -> None:
    captain = make_captain(team={"mode": "single"})
    result = await own(ONE, compare="single").run(captain, journal)
    assert len(captain.asked) == 1
    assert result.summary["team"] == "single" and "assistant" not in result.summary


async def test_repeats_limit_files_and_output_type(make_captain: Any, journal: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    captain = make_captain()
    scenario = own({**ONE, "files": [str(tmp_path / "a.csv")]}, TWO, repeats=3, limit=1, output_type="decimal.Decimal")
    result = await scenario.run(captain, journal)
    assert [row["repeat"] for row in result.rows] == [0, 1, 2]
    assert result.summary["captain"]["ci_method"] == "bootstrap over tasks"
    assert captain.asked[0][1] == ((tmp_path / "a.csv").resolve(),)
    assert captain.asked[0][2].__name__ == "Decimal"


async def test_concurrency_is_bounded_and_rows_keep_their_order(make_captain: Any, journal: Any) -> None:
    captain = make_captain()
    at_work, most = 0, 0
    inner = captain.solve_async

    async def slow(task: str, *, files: Sequence[Any] = (), output_type: Any = None) -> Result:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.03 if "6 · 7" in task else 0.01)
        at_work -= 1
        return await inner(task)

    captain.solve_async = slow
    tasks = [{**(ONE if i % 3 == 0 else TWO), "id": f"t{i}"} for i in range(7)]
    result = await own(*tasks, concurrency=3).run(captain, journal)
    assert most == 3
    assert [row["id"] for row in result.rows] == [f"t{i}" for i in range(7)]


async def test_an_error_costs_one_row_only(make_captain: Any, journal: Any) -> None:
    def answer(text: str, config: CaptainConfig) -> str:
        if "capital" in text:
            raise ModelError("the endpoint is gone")
        return "42"

    result = await own(TWO, ONE).run(make_captain(answer), journal)
    assert result.rows[0]["captain"]["error"] == "ModelError: the endpoint is gone"
    assert result.rows[0]["captain"]["status"] == "failed"
    assert result.rows[1]["captain"]["right"] is True
    assert result.summary["captain"]["errors"] == 1


async def test_rows_before_a_crash_are_in_the_journal(make_captain: Any, journal: Any) -> None:
    def answer(text: str, config: CaptainConfig) -> str:
        if "capital" in text:
            raise ConfigError("the key is missing")
        return "42"

    with pytest.raises(ConfigError, match="the key is missing"):
        await own(ONE, TWO).run(make_captain(answer), journal)
    assert [line["id"] for line in journal.of("row")] == ["own/one"]


async def test_scorers_of_a_users_own(make_captain: Any, journal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())
    scenario = own(
        {"question": "a", "scorer": {"path": _dotted("marked_length"), "at_most": 2}},
        {"question": "b", "scorer": {"path": _dotted("marked_length"), "at_most": 1}},
        {"question": "c", "scorer": _dotted("broken")},
        {"question": "d", "answer": 1, "scorer": _dotted("typed")},
    )
    result = await scenario.run(make_captain(), journal)
    assert [row["captain"]["right"] for row in result.rows] == [True, False, False, True]
    assert result.rows[2]["captain"]["error"] == "scorer RuntimeError: no idea"
    wrong = own({"question": "a", "scorer": {"path": _dotted("marked_length"), "at_mots": 2}})
    with pytest.raises(ConfigError, match="did you mean 'at_most'"):
        await wrong.run(make_captain(), journal)


def _this_module() -> Any:
    import types

    module = types.ModuleType(__name__)
    vars(module).update(marked_length=marked_length, broken=broken, typed=typed)
    return module


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scorer": "numerik"}, "did you mean 'scenarios.scorers.numeric'"),
        ({"scorer": {"path": "numeric", "relativ": 1}}, "did you mean 'relative'"),
        ({"domain": "math"}, "did you mean 'maths'"),
    ],
)
async def test_mistakes_are_found_before_the_first_call(
    make_captain: Any, journal: Any, settings: dict[str, Any], message: str
) -> None:
    captain = make_captain()
    with pytest.raises(ConfigError, match=message):
        await own(ONE, {**TWO, **settings}).run(captain, journal)
    assert captain.asked == []


MIXED = {
    "name": "mixed",
    "sources": [
        {"name": "own", "tasks": [ONE, TWO]},
        {"name": "dabench", "reader": "scenarios.benchmarks.dabench", "n": 3, "level": "easy"},
        {"name": "humaneval", "reader": "scenarios.benchmarks.humaneval"},
    ],
    "n": 2,
}


async def test_without_data_the_own_tasks_run_and_the_rest_is_missing(
    make_captain: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPTAIN_DATA", raising=False)
    result = await Tasks.model_validate(MIXED).run(make_captain(), journal)
    assert result.summary["n"] == 2
    assert [(entry["source"], entry["n"]) for entry in result.summary["missing"]] == [("dabench", 3), ("humaneval", 2)]
    assert "CAPTAIN_DATA" in result.summary["missing"][0]["reason"]


async def test_without_any_task_the_run_is_refused(
    make_captain: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPTAIN_DATA", raising=False)
    only = Tasks.model_validate({**MIXED, "sources": MIXED["sources"][1:]})
    with pytest.raises(ConfigError, match="no task to run.*CAPTAIN_DATA is not set"):
        await only.run(make_captain(), journal)


async def test_no_text_of_benchmarks_leaves_the_run_folder(make_captain: Any, journal: Any, data: Path) -> None:
    def answer(text: str, config: CaptainConfig) -> str:
        if "mean of column" in text:
            return "@mean_a[2.50]"
        if "add_" in text:
            return text
        return "42"

    result = await Tasks.model_validate(MIXED).run(make_captain(answer), journal)
    shown = result.model_dump_json()
    assert result.summary["n"] == 7
    assert "column a" not in shown and "@mean_a" not in shown and "rounded down" not in shown
    assert result.summary["by_source"]["dabench"] == {"n": 3, "captain": 3}
    assert result.rows[0]["captain"]["answer"] == "42"
    assert result.rows[2]["id"].startswith("dabench/") and result.rows[2]["captain"]["answer"] is None
    assert any(line["answer"] == "@mean_a[2.50]" for line in journal.of("attempt"))


@pytest.mark.parametrize("order", [("seed", 20261131), ("draw", 1)])
async def test_the_development_draw_shares_no_drawn_task(
    make_captain: Callable[..., Any], journal: Any, data: Path, order: tuple[str, int]
) -> None:
    name, value = order
    first = await Tasks.model_validate(MIXED).run(make_captain(), journal)
    changed = Tasks.model_validate({**MIXED, **({"draw": value} if name == "draw" else {})})
    second = await changed.run(make_captain(**({"seed": value} if name == "seed" else {})), journal)
    shared = {row["id"] for row in first.rows} & {row["id"] for row in second.rows}
    assert shared == {"own/one", "own/two"}
    assert (first.summary["draw"], second.summary["draw"]) == (0, 1)
