from __future__ import annotations

import pytest

from scenarios.answers import boxed, numbers, stated_result
from scenarios.scorers import contains_number, contains_text, dabench, exact, math_equal, numeric


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("277050", [277050]),
        ("The sum is 277,050.", [277050]),
        ("10{,}080 or 11,\\!111", [10080, 11111]),
        ("1, 2 and 3", [1, 2, 3]),
        ("1,2,3", [1, 2, 3]),
        ("-131.1 kJ mol^-1", [-131.1]),
        ("−5 J K⁻¹ mol⁻¹", [-5]),
        ("9.13 × 10^-35 J s", [9.13e-35]),
        ("9.13 \\times 10^{-35} \\mathrm{~J}", [9.13e-35]),
        ("2·10⁶ m", [2e6]),
        ("10^5", [1e5]),
        ("4.738 $10^{14} \\mathrm{~Hz}$", [4.738e14]),
        ("(-1,6)", [-1, 6]),
        ("1.2  $\\mathrm{10^{-4}} \\mathrm{~m}$", [1.2e-4]),
        ("1.2e-3", [0.0012]),
        ("3/4", [0.75]),
        ("-\\frac{3}{4}", [-0.75]),
        ("12 m/s2 and 5 dm3 of H2O", [12, 5]),
        ("mol-1", []),
        ("5-3", [5, 3]),
        ("x=-1", [-1]),
        (".5", [0.5]),
        ("1/0", [pytest.approx(float("nan"), nan_ok=True)]),
    ],
)
def test_numbers(text: str, expected: list[float]) -> None:
    assert numbers(text) == [pytest.approx(value, nan_ok=True) for value in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So \\boxed{1} and \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("First 7.\nFINAL ANSWER: 42", "42"),
        ("It follows that $a = 1$ and the answer is $x^2$.", "x^2"),
        ("Therefore the value is 12.", "12"),
        ("The answer: 13", "13"),
        ("many words\n**14**", "14"),
        ("", ""),
    ],
)
def test_stated_result(text: str, expected: str) -> None:
    assert stated_result(text) == expected


def test_boxed_without_its_end_is_none() -> None:
    assert boxed("\\boxed{1 + {2}") is None


@pytest.mark.parametrize(
    ("answer", "right"), [("Ottawa", True), (' "ottawa". ', True), ("Ottawa city", False), ("", False)]
)
def test_exact(answer: str, right: bool) -> None:
    assert exact(answer, "Ottawa") is right


def test_exact_takes_alternatives_and_minds_capitals_when_told() -> None:
    assert exact("b", ["a", "B"])
    assert not exact("b", ["a", "B"], ignore_case=False)


def test_contains_text_wants_whole_words() -> None:
    assert contains_text("It is Ottawa, of course.", "ottawa")
    assert not contains_text("the Ottawas", "Ottawa")
    assert contains_text("the river Danube", ["Rhine", "Danube"])


def test_numeric_tolerances() -> None:
    assert numeric("about 104 kJ", 100, relative=0.05)
    assert not numeric("106", 100, relative=0.05)
    assert numeric("-96", -100, relative=0.05)
    assert not numeric("100", -100, relative=0.05)
    assert numeric("3.1", 3, absolute=0.1000001)
    assert not numeric("none", 3)
    assert not numeric("0.2", 0, relative=0.05)
    assert numeric("9.2e-35 J s", [9.13, 9.13e-35], relative=0.05)
    assert numeric("With 10 mol at 27 degrees the pressure is 50.7 atm", 50.7, relative=0.05)


def test_contains_number_is_not_fooled_by_parts_of_numbers() -> None:
    assert contains_number("Sum: 277050 (checked twice: 277,050).", 277050)
    assert not contains_number("Sum: 2770501", 277050)
    assert not contains_number("1116 days", 116)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1/2", "\\frac{1}{2}"),
        ("0.5", "\\dfrac12"),
        ("\\frac 43", "\\frac{4}{3}"),
        ("\\frac9{19}", "9/19"),
        ("3*sqrt(13)", "3\\sqrt{13}"),
        ("\\sqrt2*11", "11\\sqrt2"),
        ("42", "42"),
        ("The answer is 42.", "42"),
        ("We get 42 of them", "42"),
        ("10080", "10,\\!080"),
        ("$18.90", "\\$18.90"),
        ("It costs $\\$32,\\!348$.", "\\$32,\\!348"),
        ("90", "90^\\circ"),
        ("145 degrees", "145^\\circ"),
        ("5.4", "5.4 \\text{ cents}"),
        ("15", "15\\mbox{ cm}^2"),
        ("Evelyn", "\\text{Evelyn}"),
        ("(3, pi/2)", "\\left( 3, \\frac{\\pi}{2} \\right)"),
        ("3, 1, 2", "1,2,3"),
        ("\\{2, 1\\}", "1, 2"),
        ("(-oo, 2) \\cup (3, \\infty)", "(-\\infty,2)\\cup(3,\\infty)"),
        ("1 - \\sqrt{19}, 1 + \\sqrt{19}", "1 \\pm \\sqrt{19}"),
        ("x = 5", "5"),
        ("y = 3 + 2x", "y = 2x + 3"),
        ("x**2 - 1", "(x-1)(x+1)"),
        ("6 - 5*I", "6 - 5i"),
        ("1\\frac{4}{5}", "\\frac{9}{5}"),
        ("-1 \\frac{1}{2}", "-1.5"),
        (".35", "0.35"),
        ("52_{8}", "52_8"),
        ("\\begin{pmatrix} 0.5 \\\\ 2 \\end{pmatrix}", "\\begin{pmatrix} 1/2 \\\\ 2 \\end{pmatrix}"),
    ],
)
def test_math_equal(answer: str, expected: str) -> None:
    assert math_equal(answer, expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", "1"),
        ("2", "3"),
        ("-2", "2"),
        ("52_7", "52_8"),
        ("52_8", "52"),
        ("(1,2)", "(2,1)"),
        ("(-1,6)", "-1"),
        ("(1,2]", "(1,2)"),
        ("1,2", "1,2,3"),
        ("1,1,2", "1,2,2"),
        ("x^2", "x^3"),
        ("x", "y"),
        ("3 of 7", "7"),
        ("\\frac{1}{3}", "0.333"),
        ("__import__('os').getcwd()", "1"),
        ("9**9**9**9", "1"),
        ("1/0", "1"),
        ("east", "west"),
    ],
)
def test_math_unequal(answer: str, expected: str) -> None:
    assert not math_equal(answer, expected)


FORM = "@mean[value] where value is rounded to two decimal places, @kind[text]"


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("@mean[34.65], @kind[normal]", True),
        ("@kind[ normal ]\n@mean[ 34.650 ]", True),
        ("@mean[34.6519] @kind['normal']", True),
        ("@mean[34.66] @kind[normal]", False),
        ("@mean[34.65]", False),
        ("@mean[34.65] @kind[Normal]", False),
        ("@mean[1] @kind[normal] corrected: @mean[34.65]", True),
        ("34.65 normal", False),
    ],
)
def test_dabench(answer: str, right: bool) -> None:
    assert dabench(answer, {"values": [["mean", "34.65"], ["kind", "normal"]], "form": FORM}) is right


def test_dabench_rounding_is_that_of_the_form_when_the_label_is_shorter() -> None:
    expected = {"values": [["r", "0.3"]], "form": "rounded to 2 decimal places"}
    assert dabench("@r[0.30]", expected)
    assert not dabench("@r[0.31]", expected)


def test_dabench_name_asked_for_twice() -> None:
    expected = {"values": [["r", "0.1"], ["r", "0.2"]], "form": ""}
    assert dabench("@r[0.2] @r[0.1]", expected)
    assert not dabench("@r[0.2] @r[0.2]", expected)


def test_dabench_counts_are_exact() -> None:
    expected = {"values": [["count", "57"]], "form": "an integer"}
    assert dabench("@count[57.0]", expected)
    assert not dabench("@count[57.4]", expected)
    assert not dabench("@count[many]", expected)
