"""Scorers: code that tells whether an answer is right. None of them asks a model.

A scorer is a function `(answer, expected, **options) -> bool`, sync or async. One that names a parameter `execution` is
given the run's execution settings, one that names `output` the typed answer. A configuration names a scorer by dotted
path, or by its bare name when it stands here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.answers import numbers, stated_number, stated_result
from scenarios.equality import same_mathematics
from scenarios.hidden_tests import hidden_tests

__all__ = ["contains_number", "contains_text", "dabench", "exact", "hidden_tests", "math_equal", "numeric"]

_STATED_PLACES = re.compile(
    r"(?P<word>\d+|one|two|three|four|five|six)\s+(?:decimal|digits? after|significant decimal)", re.IGNORECASE
)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six")
_ITEM = re.compile(r"@(\w+)\[(.*?)\]", re.DOTALL)


def exact(answer: str, expected: Any, *, ignore_case: bool = True) -> bool:
    """Tell whether the answer is the expected text: white space collapsed, a closing full stop and quotes taken off.

    Args:
        answer: The final answer.
        expected: The text, or a list of texts any of which is right.
        ignore_case: Whether capitals do not count.
    """
    return any(_folded(answer, ignore_case) == _folded(str(one), ignore_case) for one in _alternatives(expected))


def contains_text(answer: str, expected: Any, *, ignore_case: bool = True) -> bool:
    """Tell whether the expected text, or one of a list of texts, stands in the answer as whole words."""
    text = _folded(answer, ignore_case)
    return any(
        re.search(rf"(?<!\w){re.escape(_folded(str(one), ignore_case))}(?!\w)", text) for one in _alternatives(expected)
    )


def numeric(answer: str, expected: Any, *, relative: float = 0.0, absolute: float = 1e-9) -> bool:
    """Tell whether the number that the answer states is the expected one.

    The number is found by `scenarios.answers.stated_number`. It is right when
    |given - expected| <= max(relative · |expected|, absolute).

    Args:
        answer: The final answer, with or without unit.
        expected: A number, or a list of numbers any of which is right.
        relative: Relative tolerance.
        absolute: Absolute tolerance, in the answer's unit.
    """
    found = stated_number(answer)
    wanted = [float(one) for one in _alternatives(expected)]
    return found is not None and any(abs(found - one) <= max(relative * abs(one), absolute) for one in wanted)


def contains_number(answer: str, expected: Any, *, relative: float = 0.0, absolute: float = 1e-9) -> bool:
    """Tell whether the expected number is one of those that the answer states; tolerances as in `numeric`."""
    wanted = [float(one) for one in _alternatives(expected)]
    return any(abs(f - one) <= max(relative * abs(one), absolute) for f in numbers(answer) for one in wanted)


def math_equal(answer: str, expected: Any) -> bool:
    """Tell whether the stated result is mathematically the expected one; see `scenarios.equality`.

    Where the expected answer is a plain number and the stated result is prose, the result's only number counts.
    """
    result = stated_result(answer)
    if same_mathematics(result, str(expected)):
        return True
    if re.fullmatch(r"-?\d+(?:\.\d+)?", str(expected).strip()):
        found = numbers(result)
        return len(set(found)) == 1 and "_" not in result and "\\" not in result and found[0] == float(expected)
    return False


def dabench(answer: str, expected: Mapping[str, Any]) -> bool:
    """Tell whether every named value of a closed form is right.

    The answer holds items `@name[value]`; of a name given more often than it is asked for the last ones count. All
    items of `values` must be there.
    Two numbers are equal when the given one, rounded to the stated places, is the label: their difference is at most
    half a unit of the last place, and 1e-6 when no places are stated. The places are those of the label, or the fewest
    that the form states when that is more (a label "0.3" under "two decimal places" means 0.30). Other values must be
    equal as texts after white space and one pair of quotes around them are taken off.

    Args:
        answer: The final answer.
        expected: `values`, a list of [name, value] pairs, and `form`, the text that states the rounding.
    """
    given: dict[str, list[str]] = {}
    for name, value in _ITEM.findall(answer):
        given.setdefault(name, []).append(value)
    wanted = [name for name, _ in expected["values"]]
    stated = [_places(match["word"]) for match in _STATED_PLACES.finditer(str(expected.get("form", "")))]
    least = min(stated, default=0)
    return all(
        any(_same_item(one, str(value), least) for one in given.get(name, [])[-wanted.count(name) :])
        for name, value in expected["values"]
    )


def _same_item(given: str, label: str, stated_places: int) -> bool:
    given, label = _bare(given), _bare(label)
    if given == label:
        return True
    try:
        difference = abs(float(given.replace(",", "")) - float(label.replace(",", "")))
    except ValueError:
        return False
    places = max(len(label.partition(".")[2]) if "e" not in label.lower() else 0, stated_places)
    return difference <= (0.5 * 10**-places + 1e-9 if places else 1e-6)


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1].strip() if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'" else value


def _places(word: str) -> int:
    return int(word) if word.isdigit() else _WORDS.index(word.lower())


def _folded(text: str, ignore_case: bool) -> str:
    text = _bare(" ".join(text.split()).removesuffix(".")).removesuffix(".").strip()
    return text.casefold() if ignore_case else text


def _alternatives(expected: Any) -> Sequence[Any]:
    return expected if isinstance(expected, list | tuple) else [expected]
