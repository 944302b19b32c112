"""Comparing answers and finding them in what was printed: the checks that no model is asked for."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")
_FIELD = re.compile(r"@(\w+)\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]")


def numbers_in(text: str) -> list[float]:
    """The numbers of a text, thousands separators removed."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def same_answer(one: str, other: str) -> bool:
    """Whether two answers say the same.

    Fields of the form `@name[value]` are compared by name; a lone number by value, where the one with fewer decimals
    counts as a rounding of the other; other texts by their words.
    """
    fields, others = dict(_FIELD.findall(one)), dict(_FIELD.findall(other))
    if fields or others:
        return fields.keys() == others.keys() and all(same_answer(v, others[k]) for k, v in fields.items())
    left, right = _lone_number(one), _lone_number(other)
    if left is not None and right is not None:
        return _rounds_to(left, right)
    return _words(one) == _words(other)


def _lone_number(text: str) -> str | None:
    found = _NUMBER.findall(text)
    letters = re.sub(r"[^A-Za-z]", "", _NUMBER.sub("", text))
    return found[0].replace(",", "") if len(found) == 1 and len(letters) <= 12 else None


def _decimals(number: str) -> int:
    mantissa = re.split(r"[eE]", number)[0]
    return len(mantissa.partition(".")[2].rstrip("0"))


def _rounds_to(one: str, other: str) -> bool:
    a, b = float(one), float(other)
    if math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12):
        return True
    places = min(_decimals(one), _decimals(other))
    if places == 0:
        return False
    return abs(round(a, places) - round(b, places)) <= 1.01 * 10**-places and math.isclose(a, b, rel_tol=0.02)


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def claims_of(answer: str) -> tuple[str, ...]:
    """The checkable pieces of an answer: field values, else numbers, else the answer itself when it is short."""
    fields = [value.strip() for _, value in _FIELD.findall(answer)]
    if fields:
        return tuple(fields)
    found = [n.replace(",", "") for n in _NUMBER.findall(answer)]
    if found:
        return tuple(dict.fromkeys(found))
    return (answer.strip(),) if 0 < len(answer.strip()) <= 80 else ()


def find_passage(claim: str, texts: Iterable[str]) -> str | None:
    """The line of `texts` in which a claim stands: a number by value (or its rounding), other text by its words."""
    number = claim if re.fullmatch(_NUMBER, claim) else None
    wanted = _words(claim)
    for text in texts:
        for line in text.splitlines():
            if number is not None:
                if any(_rounds_to(number, n.replace(",", "")) for n in _NUMBER.findall(line)):
                    return line.strip()[:300]
            elif wanted and f" {wanted} " in f" {_words(line)} ":
                return line.strip()[:300]
    return None


def printed_constants(code: str) -> frozenset[str]:
    """The lines that a program prints without computing them: what is printed as a constant proves nothing."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return frozenset()
    lines: set[str] = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"):
            continue
        if node.args and all(isinstance(argument, ast.Constant) for argument in node.args):
            text = " ".join(str(argument.value) for argument in node.args if isinstance(argument, ast.Constant))
            lines.update(line.strip() for line in text.splitlines())
    return frozenset(lines)


def largest_agreement(answers: Sequence[str], printed: Sequence[Sequence[str]] | None = None) -> list[int]:
    """The positions of those who stand behind one answer; of equal groups the one that came first.

    Args:
        answers: one answer per member.
        printed: what the programs of each member printed, in the order of `answers`. A member who closed with
            something else (a yes, a label) still stands behind an answer that its programs printed as a number of
            three digits or more; shorter ones turn up by chance.
    """
    best: list[int] = []
    for answer in answers:
        group = [
            position
            for position, other in enumerate(answers)
            if same_answer(answer, other) or (printed is not None and _printed(answer, printed[position]))
        ]
        if len(group) > len(best):
            best = group
    return best


def _printed(answer: str, texts: Sequence[str]) -> bool:
    claims = claims_of(answer)
    telling = [claim for claim in claims if len(re.sub(r"\D", "", claim).lstrip("0")) >= 3]
    return bool(claims) and len(telling) == len(claims) and all(find_passage(claim, texts) for claim in claims)
