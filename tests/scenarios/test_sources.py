from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from captain.errors import ConfigError
from scenarios.sources import Draw, ScorerSpec, Source, load_tasks

FIRST = Draw(seed=1)


def one(**settings: Any) -> Source:
    return Source.model_validate({"name": "mine", **settings})


def many(count: int, **settings: Any) -> Source:
    return one(tasks=[{"id": i, "question": f"q{i}", "answer": i} for i in range(count)], **settings)


def ids(source: Source, draw: Draw) -> list[str]:
    return [task.id for task in load_tasks(source, draw)]


def test_inline_tasks_keep_their_order_and_take_the_defaults_of_the_source() -> None:
    tasks = load_tasks(
        one(
            domain="maths",
            scorer={"path": "numeric", "relative": 0.1},
            tasks=[{"question": "a", "answer": 1}, {"question": "b", "answer": "x", "scorer": "exact"}],
        ),
        FIRST,
    )
    assert [(t.id, t.domain, t.expected) for t in tasks] == [("mine/1", "maths", 1), ("mine/2", "maths", "x")]
    assert tasks[0].scorer == ScorerSpec(path="scenarios.scorers.numeric", options={"relative": 0.1})
    assert tasks[1].scorer == ScorerSpec(path="scenarios.scorers.exact")


def test_neighbouring_seeds_draw_disjoint_slices() -> None:
    source = many(30, n=10)
    drawn = [ids(source, Draw.choose(seed=20261130 + k, base_seed=20261130)) for k in range(3)]
    assert len({name for names in drawn for name in names}) == 30
    assert drawn[1] == ids(source, Draw.choose(seed=5, base_seed=20261130, index=1))
    assert drawn[0] != [str(i) for i in range(10)]


def test_another_seed_makes_another_permutation() -> None:
    source = many(30, n=10)
    assert ids(source, Draw.choose(seed=7, base_seed=20261130)) != ids(source, Draw.choose(seed=8, base_seed=20261130))


def test_the_draw_does_not_depend_on_the_order_of_the_pool() -> None:
    turned = one(n=5, tasks=[{"id": i, "question": f"q{i}"} for i in reversed(range(30))])
    assert ids(turned, FIRST) == ids(many(30, n=5), FIRST)


def test_a_slice_beyond_the_pool_is_refused() -> None:
    with pytest.raises(ConfigError, match="'mine' has 15 tasks after its filter; draw 1 of 10 needs 20"):
        load_tasks(many(15, n=10), Draw(seed=1, index=1))


def test_a_jsonl_file_with_files_and_a_filter(tmp_path: Path) -> None:
    (tmp_path / "my table.csv").write_text("a\n1\n")
    (tmp_path / "tasks.jsonl").write_text(
        '{"question": "a", "answer": 1, "files": ["my table.csv"], "level": 2}\n\n{"question": "b", "level": 3}\n'
    )
    (task,) = load_tasks(one(file=str(tmp_path / "tasks.jsonl"), level=[1, 2]), FIRST)
    assert task.files == ((tmp_path / "my table.csv").resolve(),)
    assert task.labels == {"level": 2}


def test_csv_and_yaml_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "tasks.csv").write_text(
        'id,question,answer,files,kind\nt1,"one, two",3,a.txt;a.txt,easy\nt2,b,4,,hard\n'
    )
    first, second = load_tasks(one(file=str(tmp_path / "tasks.csv")), FIRST)
    assert (first.id, first.question, first.expected, len(first.files)) == ("t1", "one, two", "3", 2)
    assert second.labels == {"kind": "hard"}
    (tmp_path / "tasks.yaml").write_text("tasks:\n  - {question: a, answer: [1, 2]}\n")
    assert load_tasks(one(file=str(tmp_path / "tasks.yaml")), FIRST)[0].expected == [1, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tasks": [{"questoin": "a"}]}, "did you mean 'question'"),
        ({"tasks": [{"question": ""}]}, "mine/1.question"),
        ({"tasks": [{"answer": "a"}]}, "mine/1.question"),
        ({"tasks": [{"question": "a", "files": ["nowhere.csv"]}]}, "no file .*nowhere.csv"),
        ({"tasks": [{"id": 1, "question": "a"}, {"id": 1, "question": "b"}]}, "two tasks with the id '1'"),
        ({"file": "nowhere.jsonl"}, "no file 'nowhere.jsonl'"),
        ({"reader": "scenarios.benchmarks.humanevl"}, "did you mean 'scenarios.benchmarks.humaneval'"),
        ({"reader": "scenarios.benchmarks.scibench", "options": {"aera": "x"}}, "did you mean 'area'"),
        ({"tasks": [{"question": "a", "labels": {"level": 1}}], "filter": {"levle": 1}}, "did you mean 'level'"),
        ({"tasks": [{"question": "a", "labels": {"level": 1}}], "level": 2}, "no task passes the filter"),
    ],
)
def test_mistakes_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_tasks(one(**settings), FIRST)


@pytest.mark.parametrize(
    ("name", "content"), [("t.jsonl", "{no json\n"), ("t.txt", "a"), ("t.yaml", "a: [1"), ("t.yaml", "- 1\n")]
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=name):
        load_tasks(one(file=str(tmp_path / name)), FIRST)


@pytest.mark.parametrize("origins", [{}, {"tasks": [], "file": "x"}])
def test_a_source_has_one_origin(origins: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly one of"):
        one(**origins)
