"""What holds for every tool that is shipped."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_origin

import pytest
from autogen_core import CancellationToken

from captain.config import ToolsConfig
from captain.tools import ToolSpec, is_tool, spec_of

SPECS = [
    spec_of(value)
    for module in ToolsConfig().modules
    for value in vars(importlib.import_module(module)).values()
    if is_tool(value) and value.__module__ == module
]


FLAT = (str, int, float, bool, list[str], list[float], int | None)


def test_there_are_at_least_50_tools_with_different_names() -> None:
    assert len({spec.name for spec in SPECS}) == len(SPECS) >= 50


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_tool_is_described_and_has_flat_parameters(spec: ToolSpec) -> None:
    assert 40 < len(spec.description) < 300
    assert [reason for reason in spec.missing() if reason.startswith("package")] == []
    for parameter in spec.parameters:
        assert parameter.annotation in FLAT or get_origin(parameter.annotation) is Literal
        assert len(parameter.description) > 5 and parameter.description != parameter.name
    for section in ("Args:", "Returns:"):
        assert section in (spec.function.__doc__ or "")


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("matrix_power", {"matrix": [[1, 1], [1, 0]], "power": "2"}, "[2, 1]\n[1, 1]"),
        ("filter_rows", {"path": "d.csv", "conditions": "a > 1", "show": 0}, '"matching": 1'),
        ("t_test", {"path": "d.csv", "column": "a", "kind": "mean", "against": 1}, '"t": 1'),
        ("evaluate_expression", {"expression": 7}, "7"),
        ("describe_numbers", {"numbers": "1, 2.0, 6"}, '"mean": 3'),
        (
            "distribution_quantile",
            {"distribution": "Normal", "parameters": [0, 1.0], "probability": "0.5"},
            '"quantile": 0',
        ),
        ("chinese_remainder", {"remainders": [2, 3], "moduli": "[3, 5]"}, '"smallest": 8'),
        ("limit", {"expression": "1/n", "variable": "n", "point": "oo"}, "0"),
        ("matrix_properties", {"matrix": [[2, 0], [0, 3]]}, "determinant: 6"),
        ("linear_program", {"objective": "x + y", "constraints": ["x + y <= 4"]}, "maximum: 4"),
        ("solve_differential_equation", {"equation": "y' = y"}, "y = C1*exp(x)"),
        ("solve_inequality", {"inequality": "x > 1"}, "x > 1"),
        ("add_column", {"path": "d.csv", "save_as": "e.csv", "name": "c", "expression": "a + b"}, '"mean": 5'),
    ],
)
async def test_tools_work_with_what_models_send(
    name: str, arguments: dict[str, object], expected: str, tmp_path: Path
) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n3,4\n")
    bound = next(spec for spec in SPECS if spec.name == name).bind(tmp_path)
    result = await bound.run_json(arguments, CancellationToken())
    assert expected in bound.return_value_as_string(result)


def test_the_page_on_tools_names_all_needs_and_variables() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "tools.md").read_text(encoding="utf-8")
    sources = " ".join(file.read_text(encoding="utf-8") for file in (root / "tools_library").glob("*.py"))
    variables = set(re.findall(r"\"(CAPTAIN_[A-Z_]+|[A-Z]+_API_KEY)\"", sources))
    variables |= {name for spec in SPECS for name in spec.needs.env}
    assert {name for name in variables if f"`{name}`" not in page} == set()
    always = {"regex", "jmespath", "sklearn"}  # what the framework itself brings
    needy = [spec for spec in SPECS if {*spec.needs.packages, *spec.needs.env, *spec.needs.programs} - always]
    assert {spec.name for spec in needy if f"`{spec.name}`" not in page} == set()
    assert len(variables) >= 6 and len(needy) >= 10


def test_importing_the_tools_loads_no_heavy_package() -> None:
    heavy = {"pandas", "numpy", "scipy", "sympy", "regex"}
    code = f"import sys, {', '.join(ToolsConfig().modules)}; print(*sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
