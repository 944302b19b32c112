"""Whether two mathematical answers are the same, by their form and by their value.

No text is evaluated as a program: expressions are brought to a small grammar (numbers, letters, + - * / **, sqrt, pi)
and computed on complex numbers, with fixed values for the letters.
"""

from __future__ import annotations

import ast
import cmath
import operator
import re
from collections.abc import Callable, Mapping

_POINTS = (0.7390851332, 1.6180339887, -0.5671432904)
_OPERATORS: dict[type[ast.operator], Callable[[complex, complex], complex]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {"sqrt": cmath.sqrt, "exp": cmath.exp, "log": cmath.log}
_CONSTANTS: dict[str, complex] = {"pi": cmath.pi, "i": 1j, "I": 1j, "e": cmath.e, "E": cmath.e}
_TOKEN = re.compile(r"\d+\.?\d*|\.\d+|[A-Za-z]+|\*\*|[-+*/^()]")
_WORDS = ("sqrt", "exp", "log", "pi")


def same_mathematics(given: str, expected: str) -> bool:
    """Tell whether two answers, in LaTeX or plain notation, are the same.

    After normalisation (fractions, spacing, units, degree and dollar signs, thousands separators, text) they are
    compared part by part: intervals and tuples in their order with their brackets, sets and lists without brackets in
    any order, unions, matrices, `±` as two values, equations by both sides. Parts are equal when their normal forms
    are, or when both have the same value (relative difference at most 1e-9).
    """
    left, right = normal_form(given), normal_form(expected)
    return left == right or (bool(left) and bool(right) and _same(left, right))


def normal_form(text: str) -> str:
    """Bring an answer to one spelling; see `same_mathematics`."""
    text = text.strip().strip("$").strip().rstrip(".")
    text = re.sub(r"\\begin\{[a-z]*matrix\}(.*?)\\end\{[a-z]*matrix\}", _matrix, text, flags=re.DOTALL)
    text = re.sub(r"\\\(|\\\)|\\\[|\\\]|\\left|\\right|\\[!,;: ]|~", "", text)
    text = text.replace("−", "-").replace("π", "\\pi").replace("√", "\\sqrt").replace("∞", "\\infty")
    text = text.replace("∪", "\\cup").replace("±", "\\pm").replace("°", "").replace("\\dfrac", "\\frac")
    text = text.replace("\\tfrac", "\\frac").replace("\\{", "{|").replace("\\}", "|}").replace("{,}", ",")
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?|\\circ|\\degree|\\?%|\\?\$|\\displaystyle", "", text)
    text = _without_words(text)
    text = re.sub(r"\b(?:infinity|oo|inf)\b", r"\\infty", text)
    text = re.sub(r"\\cdot|\\times", "*", text)
    text = re.sub(r"(?<=\d)\s*(?:degrees?|units?|cm|inches|cents|dollars|mph)\b(?:\s*\^\s*\{?\d\}?)?", "", text)
    text = re.sub(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])", lambda m: m.group().replace(",", ""), text)
    text = re.sub(r"\s+", "", re.sub(r"\\frac\s*(\d)\s*(\d)(?!\d)", r"\\frac{\1}{\2}", text))
    text = re.sub(r"\\frac(\d)(?=\{)", r"\\frac{\1}", text)
    text = re.sub(r"(\\frac\{[^{}]*\})(\w)", r"\1{\2}", text)
    text = re.sub(r"^(-?)(\d+)(\\frac\{\d+\}\{\d+\})$", r"\1(\2+\3)", text)
    text = re.sub(r"\\sqrt(\w)", r"\\sqrt{\1}", text)
    text = re.sub(r"_\{(\w+)\}", r"_\1", text)
    return re.sub(r"^[A-Za-z](?:=|\\in)(?!.*=)", "", text)


def _matrix(match: re.Match[str]) -> str:
    return "[" + re.sub(r"\\\\", ";", match.group(1)).replace("&", ",") + "]"


def _without_words(text: str) -> str:
    """Take units written as text off a value; a text that is the whole answer stays, without its command."""
    pattern = r"\\(?:text|mbox|mathrm|textbf|mathbf)\s*\{([^{}]*)\}"
    whole = re.fullmatch(pattern, text.strip())
    if whole:
        return whole.group(1).strip()
    shorter = re.sub(pattern + r"(?:\s*\^\s*\{?\d\}?)?", "", text)
    return shorter if shorter.strip() else re.sub(pattern, r"\1", text)


def _same(left: str, right: str) -> bool:
    if "\\cup" in left or "\\cup" in right:
        return _same_in_any_order(left.split("\\cup"), right.split("\\cup"))
    (opened, parts, closed), (other_opened, others, other_closed) = _bracketed(left), _bracketed(right)
    if len(parts) == 1 and len(others) == 1:
        return _same_part(left, right)
    if opened or other_opened:
        ordered = (opened, closed) == (other_opened, other_closed) and len(parts) == len(others)
        return ordered and all(_same_part(a, b) for a, b in zip(parts, others, strict=True))
    return _same_in_any_order(parts, others)


def _same_in_any_order(parts: list[str], others: list[str]) -> bool:
    remaining = list(others)
    for part in parts:
        match = next((other for other in remaining if part == other or (part and other and _same(part, other))), None)
        if match is None:
            return False
        remaining.remove(match)
    return not remaining


def _bracketed(text: str) -> tuple[str, list[str], str]:
    """Split at top-level commas and semicolons; give the round or square brackets around the whole, if any.

    A set counts as a list without brackets, and `±` there as two parts.
    """
    opened, inner, closed = "", text, ""
    if text[:2] == "{|" and text[-2:] == "|}":
        inner = text[2:-2]
    elif text[:1] in ("(", "[") and text[-1] in ")]" and _encloses(text):
        opened, inner, closed = text[0], text[1:-1], text[-1]
    parts, depth, current = [], 0, ""
    for character in inner:
        depth += (character in "([{") - (character in ")]}")
        if character in ",;" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    parts.append(current)
    if not opened:
        parts = [one for part in parts for one in dict.fromkeys((part.replace("\\pm", "+"), part.replace("\\pm", "-")))]
    return opened, parts, closed


def _encloses(text: str) -> bool:
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return position == len(text) - 1
    return False


def _same_part(left: str, right: str) -> bool:
    if left == right or (left.isalpha() and right.isalpha() and len(left) > 1 and left.lower() == right.lower()):
        return True
    if left.count("=") == 1 and right.count("=") == 1:
        sides = ["({})-({})".format(*text.split("=")) for text in (left, right)]
        return _same_value(*sides) or _same_value(sides[0], f"-({sides[1]})")
    return _same_value(left, right)


def _same_value(left: str, right: str) -> bool:
    for shift in _POINTS:
        values = [_value(text, shift) for text in (left, right)]
        if values[0] is None or values[1] is None:
            return False
        if abs(values[0] - values[1]) > 1e-9 * max(1e-12, abs(values[0]), abs(values[1])):
            return False
    return True


def _value(text: str, shift: float) -> complex | None:
    plain = _plain(text)
    if plain is None:
        return None
    letters = {chr(code): shift * (1 + 0.137 * (code % 29)) for code in (*range(65, 91), *range(97, 123))}
    try:
        value = _compute(ast.parse(plain, mode="eval").body, {**letters, **_CONSTANTS})
    except (SyntaxError, ValueError, TypeError, KeyError, ArithmeticError, RecursionError, MemoryError):
        return None
    return value if cmath.isfinite(value) else None


def _plain(text: str) -> str | None:
    """Write LaTeX in the small grammar, with every product spelt out; None where it does not fit."""
    for _ in range(20):
        shorter = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        shorter = re.sub(r"\\sqrt\[(\d)\]\{([^{}]*)\}", r"((\2)**(1/\1))", shorter)
        shorter = re.sub(r"\\sqrt\{([^{}]*)\}", r"(sqrt(\1))", shorter)
        shorter = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", shorter)
        if shorter == text:
            break
        text = shorter
    text = text.replace("\\pi", "(pi)").replace("^", "**").replace(" ", "")
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text or len(tokens) > 400:
        return None
    pieces = [piece for token in tokens for piece in _letters(token)]
    plain = ""
    for before, piece in zip(["", *pieces], pieces, strict=False):
        starts = piece == "(" or piece[0].isalnum() or piece[0] == "."
        ends = before == ")" or (before[-1:].isalnum() and before not in _FUNCTIONS) or before.endswith(".")
        plain += f"*{piece}" if starts and ends else piece
    return re.sub(r"(?<![\d.])0+(?=\d)", "", plain)


def _letters(token: str) -> list[str]:
    return [token] if not token.isalpha() or token in _WORDS else list(token)


def _compute(node: ast.expr, letters: Mapping[str, complex]) -> complex:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return complex(node.value)
    if isinstance(node, ast.Name):
        return letters[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _compute(node.operand, letters)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_compute(node.left, letters), _compute(node.right, letters))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return _FUNCTIONS[node.func.id](_compute(node.args[0], letters))
    raise ValueError(ast.dump(node))
