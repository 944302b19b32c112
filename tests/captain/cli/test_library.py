"""`captain library`: what there is and what is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Command = Callable[..., Any]


def test_list(command: Command, offline: list[str]) -> None:
    outcome = command("library", "list", *offline, "--json")
    assert outcome.code == 0
    assert len(outcome.data["experts"]) >= 12
    assert len(outcome.data["tools"]) >= 5
    assert {"name", "title", "domain", "description", "origin"} <= set(outcome.data["experts"][0])
    text = command("library", "list", *offline)
    assert outcome.data["experts"][0]["name"] in text.out


def test_search(command: Command, offline: list[str]) -> None:
    outcome = command("library", "search", "solve an equation", *offline, "library.threshold=0", "--top", "2", "--json")
    assert outcome.code == 0
    assert 1 <= len(outcome.data["hits"]) <= 2
    assert {"name", "score", "dense", "lexical"} <= set(outcome.data["hits"][0])
    tools = command(
        "library", "search", "mean of a column", "--of", "tool", *offline, "tools.threshold=0", "--top", "1"
    )
    assert tools.code == 0
    assert len(tools.out.splitlines()) == 1


def test_wrong_input(command: Command, offline: list[str]) -> None:
    assert "not 'experts'" in command("library", "search", "x", "--of", "experts").error
    assert "empty" in command("library", "search", " ").error
    assert command("library", "search", "x", "library.profiles=[no_such_package]", *offline).code == 2
