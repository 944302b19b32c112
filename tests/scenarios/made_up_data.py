"""Small made-up benchmark folders in the formats of the real ones."""

from __future__ import annotations

import json
from pathlib import Path


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_data(root: Path, *, size: int = 12) -> Path:
    """Write all four benchmarks below `root/benchmarks`; gives root, the value for CAPTAIN_DATA."""
    folder = root / "benchmarks"
    _write_lines(
        folder / "humaneval" / "HumanEval.jsonl",
        [
            {
                "task_id": f"HumanEval/{i}",
                "prompt": f'import math\n\n\ndef add_{i}(x: int) -> int:\n    """Add {i} to x, rounded down."""\n',
                "entry_point": f"add_{i}",
                "canonical_solution": f"    return math.floor(x + {i})\n",
                "test": f"def check(candidate):\n    assert candidate(1) == {1 + i}\n",
            }
            for i in range(size)
        ],
    )
    levels = ("easy", "hard")
    _write_lines(
        folder / "dabench" / "da-dev-questions.jsonl",
        [
            {
                "id": 3 * i,
                "question": "What is the mean of column a?",
                "concepts": ["Summary Statistics"],
                "constraints": "Leave out empty cells.",
                "format": "@mean_a[value] where value is rounded to two decimal places.",
                "file_name": "a table + more.csv",
                "level": levels[i % 2],
            }
            for i in range(2 * size)
        ],
    )
    answers = [{"id": 3 * i, "common_answers": [["mean_a", "2.50"]]} for i in range(2 * size)]
    _write_lines(folder / "dabench" / "da-dev-labels.jsonl", answers)
    (folder / "dabench" / "da-dev-tables").mkdir()
    (folder / "dabench" / "da-dev-tables" / "a table + more.csv").write_text("a\n2\n3\n")
    _write_lines(
        folder / "math500" / "test.jsonl",
        [
            {
                "problem": f"What is ${i} + 1$?",
                "solution": "secret solution",
                "answer": str(i + 1) if i % 3 else "\\frac{1}{2}",
                "subject": "Algebra",
                "level": 1 + i % 5,
                "unique_id": f"test/algebra/{i}.json",
            }
            for i in range(6 * size)
        ],
    )
    (folder / "scibench").mkdir()
    for book in ("atkins", "chemmc", "quan", "matter", "class", "thermo", "fund", "calculus", "diff", "stat"):
        rows = [
            {
                "problem_text": f" How many things are in {book} {i}? ",
                "answer_number": f"+1{i}.5",
                "unit": " $10^{-3} \\mathrm{~J}$ " if i == 0 else " ",
            }
            for i in range(3)
        ]
        (folder / "scibench" / f"{book}.json").write_text(json.dumps([*rows, rows[1]]), encoding="utf-8")
    return root
