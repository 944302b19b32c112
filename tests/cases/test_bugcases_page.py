"""The page of bug cases: each has a test that exists, or a reason why it cannot apply here."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "bugcases.md"
ROW = re.compile(
    r"^\| (?P<id>[A-Z]+-\d\d) \| (?P<source>[\w.-]+/[\w.-]+#\d+) \| (?P<about>[^|]+) \| (?P<here>[^|]+) \|$", re.M
)
PASSES, REASON = "passes: ", "does not apply: "
ROWS = [match.groupdict() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]


@cache
def defined() -> dict[str, set[str]]:
    """Test -> the files that define it."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.setdefault(node.name, set()).add(path.name)
    return found


def written_for(identity: str) -> set[str]:
    """The tests that carry an id in their names."""
    start = f"test_{identity.lower().replace('-', '_')}_"
    return {
        name
        for name, files in defined().items()
        if name.startswith(start) and any(file.startswith("test_bugcases_") for file in files)
    }


def test_every_line_of_the_table_is_read() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| [A-Z]+-\d", line)]
    identities = [row["id"] for row in ROWS]
    assert len(lines) == len(ROWS) == len(set(identities)) == 83
    applying = sum(row["here"].startswith(PASSES) for row in ROWS)
    assert f"{applying} of {len(ROWS)} can apply here" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_case_has_its_tests_or_a_reason(row: dict[str, str]) -> None:
    named = set(re.findall(r"`(test_\w+)`", row["here"]))
    if row["here"].startswith(REASON):
        assert not named and len(row["here"]) > len(REASON) + 20 and not written_for(row["id"])
    else:
        assert row["here"].startswith(PASSES) and named
        assert named <= set(defined()) and written_for(row["id"]) <= named


def test_no_test_stands_for_a_case_that_is_not_in_the_table() -> None:
    known = {row["id"] for row in ROWS}
    for name, files in defined().items():
        match = re.match(r"test_([a-z]+)_(\d\d)_", name)
        if match and any(file.startswith("test_bugcases_") for file in files):
            assert f"{match[1].upper()}-{match[2]}" in known, name
