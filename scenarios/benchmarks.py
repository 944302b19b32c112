"""Readers of public benchmarks. Their files are not shipped: they are read from the folder `CAPTAIN_DATA` names.

Each reader gives all items, in the order of the file, with the labels to choose by. Graders are code. No answer,
solution or test is part of a question.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from captain.errors import ConfigError
from scenarios.sources import ScorerSpec, Task

_AREAS = {
    "chemistry": ("atkins", "chemmc", "quan", "matter"),
    "physics": ("class", "thermo", "fund"),
    "maths": ("calculus", "diff", "stat"),
}
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


class MissingData(ConfigError):
    """The files of a benchmark are not on this machine."""


def benchmark_file(*parts: str) -> Path:
    """Give the path of a benchmark's file below `$CAPTAIN_DATA/benchmarks`.

    Raises:
        MissingData: The variable is not set, or there is no such file.
        ConfigError: The variable names no folder.
    """
    root = os.environ.get("CAPTAIN_DATA", "")
    if not root:
        raise MissingData("CAPTAIN_DATA is not set; let it name the folder that contains 'benchmarks/'")
    folder = Path(root).expanduser()
    if not folder.is_dir():
        raise ConfigError(f"CAPTAIN_DATA names no folder: {root!r}; let it name the one that contains 'benchmarks/'")
    path = folder.joinpath("benchmarks", *parts)
    if not path.exists():
        raise MissingData(f"CAPTAIN_DATA has no {'/'.join(('benchmarks', *parts))!r}")
    return path


def humaneval() -> list[Task]:
    """Read HumanEval (`humaneval/HumanEval.jsonl`): functions to complete, judged by tests that solvers never see."""
    tasks = []
    for row in _lines(benchmark_file("humaneval", "HumanEval.jsonl")):
        expected = {key: row[key] for key in ("prompt", "entry_point", "test")}
        question = f"Complete this Python function.\n\n```python\n{row['prompt'].rstrip()}\n```"
        tasks.append(_item(str(row["task_id"]), question, "programming", "hidden_tests", expected=expected))
    return tasks


def dabench() -> list[Task]:
    """Read DABench (`dabench/`): questions on CSV tables, judged by closed form.

    Labels: `level` (easy, medium, hard) and `concepts` (joined by commas). The table is handed over as a file.
    """
    answers = {row["id"]: row["common_answers"] for row in _lines(benchmark_file("dabench", "da-dev-labels.jsonl"))}
    tasks = []
    for row in _lines(benchmark_file("dabench", "da-dev-questions.jsonl")):
        question = (
            f"{row['question']}\n\nThe table is the file {row['file_name']!r}.\n\n"
            f"Constraints: {row['constraints']}\n\nAnswer format: {row['format']}"
        )
        expected = {"values": answers[row["id"]], "form": f"{row['format']}\n{row['constraints']}"}
        task = _item(f"dabench/{row['id']}", question, "data_analysis", "dabench", expected=expected)
        files = (benchmark_file("dabench", "da-dev-tables", row["file_name"]),)
        labels = {"level": row["level"], "concepts": ",".join(row["concepts"])}
        tasks.append(task.model_copy(update={"files": files, "labels": labels}))
    return tasks


def math500() -> list[Task]:
    """Read MATH-500 (`math500/test.jsonl`), judged by equality after normalisation of LaTeX.

    Labels: `level` (1 to 5), `subject`, and `integer_answer` (the expected answer is a plain integer).
    """
    tasks = []
    for row in _lines(benchmark_file("math500", "test.jsonl")):
        task = _item(f"math500/{row['unique_id']}", row["problem"], "maths", "math_equal", expected=row["answer"])
        integer = re.fullmatch(r"-?\d+", row["answer"].strip()) is not None
        labels = {"level": row["level"], "subject": row["subject"], "integer_answer": integer}
        tasks.append(task.model_copy(update={"labels": labels}))
    return tasks


def scibench(*, area: str | None = None, tolerance: float = 0.05) -> list[Task]:
    """Read SciBench (`scibench/*.json`, without the worked examples), judged with a relative tolerance.

    The question names the unit. Where the unit holds a power of ten, both the number of such units and the number with
    the power multiplied in are right. A text that comes twice is taken once. Labels: `area` and `book`.

    Args:
        area: `chemistry`, `physics` or `maths`; all when absent.
        tolerance: Relative tolerance on the expected number.

    Raises:
        ConfigError: The area is unknown, or data are missing.
    """
    if area is not None and area not in _AREAS:
        raise ConfigError(f"SciBench has no area {area!r}; it has {', '.join(_AREAS)}")
    tasks: list[Task] = []
    seen: set[str] = set()
    for name in _AREAS if area is None else (area,):
        for book in _AREAS[name]:
            rows = json.loads(benchmark_file("scibench", f"{book}.json").read_text(encoding="utf-8"))
            for number, row in enumerate(rows):
                task = _scibench_task(row, area=name, book=book, number=number, tolerance=tolerance)
                if task is not None and task.question not in seen:
                    seen.add(task.question)
                    tasks.append(task)
    return tasks


def _scibench_task(row: dict[str, Any], *, area: str, book: str, number: int, tolerance: float) -> Task | None:
    value = str(row["answer_number"]).replace("−", "-").replace(",", "").strip()
    if _NUMBER.fullmatch(value) is None:
        return None
    unit = " ".join(str(row["unit"]).split())
    ask = f"Give the answer as a number in this unit: {unit}" if unit else "Give the answer as a number."
    question = f"{row['problem_text'].strip()}\n\n{ask}"
    power = re.search(r"10\s*\^\s*\{?\s*([-+]?\d+)", unit)
    expected = [float(value), *([float(f"{value}e{power.group(1)}")] if power else [])]
    scorer = ScorerSpec(path="numeric", options={"relative": tolerance})
    task = _item(f"scibench/{book}/{number}", question, area, scorer, expected=expected)
    return task.model_copy(update={"labels": {"area": area, "book": book}})


def _item(name: str, question: str, domain: str, scorer: str | ScorerSpec, *, expected: Any) -> Task:
    spec = scorer if isinstance(scorer, ScorerSpec) else ScorerSpec(path=scorer)
    return Task(id=name, question=question, expected=expected, scorer=spec, domain=domain, shareable=False)


def _lines(path: Path) -> Sequence[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
