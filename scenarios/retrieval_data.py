"""Problem texts of public benchmarks as queries to the library; nothing of them but counts leaves this process."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar

import yaml

from captain.errors import ConfigError
from scenarios.benchmarks import benchmark_file

T = TypeVar("T")

_BOOKS = ("atkins", "chemmc", "quan", "matter", "class", "fund", "thermo", "calculus", "diff", "stat")


@dataclass(frozen=True)
class Problem:
    """A text that an expert or tools are looked for with."""

    source: str
    """humaneval, dabench, math500, or a book of SciBench."""
    text: str
    concepts: tuple[str, ...] = ()
    """DABench only: the kinds of analysis that the question needs."""


def read_problems() -> list[Problem]:
    """Reads the problem texts of HumanEval, DABench, SciBench and MATH-500, in the order of their files.

    Raises:
        ConfigError: `CAPTAIN_DATA` is not set, names no folder, or lacks a file.
    """
    problems = [Problem("humaneval", row["prompt"]) for row in _lines("humaneval", "HumanEval.jsonl")]
    for row in _lines("dabench", "da-dev-questions.jsonl"):
        problems.append(Problem("dabench", row["question"], tuple(row["concepts"])))
    for book in _BOOKS:
        rows = json.loads(benchmark_file("scibench", f"{book}.json").read_text(encoding="utf-8"))
        problems += [Problem(book, row["problem_text"]) for row in rows]
    return problems + [Problem("math500", row["problem"]) for row in _lines("math500", "test.jsonl")]


def out_of_domain_queries() -> list[str]:
    """Gives sixty requests that no expert of a general library is for (`scenarios/out_of_domain.yaml`)."""
    return [str(query) for query in _yaml("out_of_domain.yaml")["queries"]]


def tools_of_concepts() -> dict[str, tuple[str, ...]]:
    """Gives for each concept of DABench the tools that serve it (`scenarios/dabench_tools.yaml`)."""
    return {str(concept): tuple(tools) for concept, tools in _yaml("dabench_tools.yaml").items()}


def halves(items: Sequence[T], *, seed: int) -> tuple[list[T], list[T]]:
    """Parts items at random: one half to tune on, the other (the larger one by one, if odd) to report."""
    order = list(range(len(items)))
    random.Random(seed).shuffle(order)
    tuned = set(order[: len(items) // 2])
    return [one for n, one in enumerate(items) if n in tuned], [one for n, one in enumerate(items) if n not in tuned]


def _lines(*parts: str) -> Iterator[dict[str, Any]]:
    with benchmark_file(*parts).open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def _yaml(name: str) -> dict[str, Any]:
    data = yaml.safe_load(resources.files("scenarios").joinpath(name).read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ConfigError(f"scenarios/{name} does not hold a mapping")
    return data
