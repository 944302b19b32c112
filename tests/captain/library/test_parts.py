"""Needs of several sentences."""

from __future__ import annotations

from captain.library.hits import Hit
from captain.library.parts import merged, parts_of


def hit(name: str, score: float) -> Hit[str]:
    return Hit(name, score=score, dense=score, lexical=0.0)


def test_a_long_need_falls_into_sentences() -> None:
    text = "Fill the missing values of the table. Done. Then test whether the prices are normal?"
    assert parts_of(text) == [
        text,
        "Fill the missing values of the table.",
        "Then test whether the prices are normal?",
    ]
    assert parts_of("one sentence only, of some length") == ["one sentence only, of some length"]
    assert parts_of("") == [""]
    assert len(parts_of("This is one more sentence. " * 50)) == 9


def test_each_entry_counts_once_with_its_best_score() -> None:
    first, second = [hit("a", 0.5), hit("b", 0.4)], [hit("b", 0.6), hit("c", 0.3)]
    found = merged([first, second], group=lambda name: name, spread=0.0, top_k=5)
    assert [(one.item, one.score) for one in found] == [("b", 0.6), ("a", 0.5), ("c", 0.3)]
    assert len(merged([first, second], group=lambda name: name, spread=0.0, top_k=2)) == 2


def test_groups_take_turns() -> None:
    hits = [hit("x1", 0.5), hit("x2", 0.48), hit("y1", 0.45)]
    found = merged([hits], group=lambda name: name[0], spread=0.1, top_k=3)
    assert [one.item for one in found] == ["x1", "y1", "x2"]
