"""What a final answer says: the numbers in it, the part that is marked as the result, the program."""

from __future__ import annotations

import re

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPT_RUN = re.compile(r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)"
_TIMES_POWER = re.compile(
    rf"(?<![\d.])({_PLAIN})(?:\s*(?:[×x*·⋅]|\\times|\\cdot)\s*|\s+)[\s${{]*10\s*(?:\^|\*\*)\s*[{{(]?\s*([-+]?\d+)\s*[}})]?"
)
_POWER_OF_TEN = re.compile(r"(?<![\w.^])10\s*(?:\^|\*\*)\s*[{(]?\s*([-+]?\d+)\s*[})]?")
_EXPONENT = re.compile(r"(?:\^|\*\*)\s*(?:\{[^{}]*\}|\([^()]*\)|[-+]?\d+(?:\.\d+)?)")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*([-+]?[\d.]+)\s*\}\s*\{\s*([\d.]+)\s*\}")
_NUMBER = re.compile(
    rf"(?<![\w.])(?<![A-Za-z_][-+])((?<![\w.)\]}}])[-+]\s?)?({_PLAIN}(?:[eE][-+]?\d+)?)"
    rf"(?:\s*/\s*({_PLAIN}(?:[eE][-+]?\d+)?)(?![\w/]))?"
)
_EMPHASIS = " *_`"


def numbers(text: str) -> list[float]:
    """Give the numbers that a text states, in order.

    Understood: thousands separators (`1,234`, `1{,}234`, `1,\\!234`), `a × 10^b` and `a \\times 10^{b}`, `1.2e-3`,
    superscripts, the minus sign U+2212, plain fractions (`3/4`, `\\frac{3}{4}`). Left out: exponents, and digits that
    belong to a word or a unit (`H2O`, `mol^-1`, `dm3`).
    """
    text = _SUPERSCRIPT_RUN.sub(lambda m: "^" + m.group().translate(_SUPERSCRIPTS), text)
    text = text.replace("−", "-").replace("–", "-").replace("\\!", "").replace("{,}", ",").replace("\\,", " ")
    text = re.sub(r"\\(?:mathrm|text|left|right)\b", " ", text)
    text = _FRACTION.sub(r" \1/\2 ", text)
    text = _TIMES_POWER.sub(r"\1e\2", text)
    text = _POWER_OF_TEN.sub(r"1e\1", text)
    text = _EXPONENT.sub(" ", text)
    found = []
    for sign, value, divisor in _NUMBER.findall(text):
        number = float(value.replace(",", ""))
        if divisor:
            below = float(divisor.replace(",", ""))
            number = number / below if below else float("nan")
        found.append(-number if sign.startswith("-") else number)
    return found


def boxed(text: str) -> str | None:
    """Give the content of the last `\\boxed{...}` of a text, braces balanced, or None."""
    start = max(text.rfind("\\boxed{"), text.rfind("\\fbox{"))
    if start < 0:
        return None
    opening = text.index("{", start)
    depth = 0
    for position in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[opening + 1 : position].strip()
    return None


def stated_result(text: str) -> str:
    """Give the part of an answer that is marked as the result.

    The first of: the last `\\boxed{}`, what follows the marker of a final answer, the last `$...$` or `\\(...\\)` of
    the last line, what follows "is" or a colon at the end of the last line, the last line.
    """
    from captain.decide.reading import read_final_answer

    inside = boxed(text)
    if inside is not None:
        return inside
    text = read_final_answer(text) or text
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    line = lines[-1].strip(_EMPHASIS) if lines else ""
    formulas = re.findall(r"(?<!\\)\$((?:\\\$|[^$])+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", line)
    if formulas:
        return str(next(part for part in formulas[-1] if part)).strip().rstrip(".")
    said = re.match(
        r"^.*\b(?:is|are|equals)\s+(?:equal to\s+|approximately\s+)?(.+)$|^[^:]*[A-Za-z ]{4,}:\s*(.+)$", line
    )
    result = next((part for part in said.groups() if part), line) if said else line
    return result.strip(_EMPHASIS).removesuffix(".").strip(_EMPHASIS)


def stated_number(text: str) -> float | None:
    """Give the number that an answer states as its result.

    It is the last number of the last `\\boxed{}`, else of what follows the marker of a final answer, else of the last
    line that has one.
    """
    from captain.decide.reading import read_final_answer

    parts = [boxed(text), read_final_answer(text), *reversed(text.splitlines())]
    return next((found[-1] for part in parts if part and (found := numbers(part))), None)
