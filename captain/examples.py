"""Examples that a task gives for the function it asks for, and how they are run against an answer.

A task that says `area(2, 3) == 6`, or shows a session with `>>> area(2, 3)` and `6`, brings its own tests. They are
public (the team sees them in the task); running them is the strongest check there is on code.
"""

from __future__ import annotations

import ast
import doctest
import re
import secrets
from dataclasses import dataclass

_RESULT = re.compile(r"\s*(?:==>|==|=>|->|➞|→|should return|should be|returns|return|is|=|#\s*(?:=>|->|returns)?)\s*")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Example:
    """A call as source text and what it should give: a literal, or the text that a session prints."""

    call: str
    expected: str


@dataclass(frozen=True)
class ExampleRun:
    """How many of the examples held, and the first that did not."""

    held: int
    total: int
    failures: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all examples hold."""
        return self.held == self.total


def find_examples(task: str, entry_point: str) -> tuple[Example, ...]:
    """Finds the calls of `entry_point` in a task for which it states the result."""
    found = _sessions(task, entry_point) or _statements(task, entry_point)
    return tuple(dict.fromkeys(found))


def _sessions(task: str, entry_point: str) -> list[Example]:
    examples: list[Example] = []
    for block in re.findall(r"(?:^[ \t]*>>>.*\n?(?:(?![ \t]*>>>|[ \t]*(?:\"\"\"|'''|$)).*\n?)*)", task, re.MULTILINE):
        indent = re.match(r"[ \t]*", block)
        text = "\n".join(line[len(indent.group()) if indent else 0 :] for line in block.splitlines()) + "\n"
        try:
            parsed = doctest.DocTestParser().get_examples(text)
        except ValueError:
            continue
        for example in parsed:
            source = example.source.strip()
            if entry_point in source and example.want.strip() and _is_expression(source):
                examples.append(Example(call=source, expected=example.want.strip()))
    return examples


def _statements(task: str, entry_point: str) -> list[Example]:
    examples: list[Example] = []
    for match in re.finditer(rf"\b{re.escape(entry_point)}\s*\(", task):
        end = _closing(task, match.end() - 1)
        if end is None:
            continue
        call = task[match.start() : end + 1]
        result = _RESULT.match(task, end + 1)
        literal = _literal_at(task, result.end()) if result else None
        if literal is not None and _is_expression(call):
            examples.append(Example(call=" ".join(call.split()), expected=literal))
    return examples


def _closing(text: str, start: int) -> int | None:
    stack: list[str] = []
    quote = ""
    for position in range(start, min(len(text), start + 2000)):
        char = text[position]
        if quote:
            if char == quote and text[position - 1] != "\\":
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in _BRACKETS:
            stack.append(_BRACKETS[char])
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return position
    return None


def _literal_at(text: str, start: int) -> str | None:
    rest = text[start : start + 1000]
    if not rest:
        return None
    if rest[0] in _BRACKETS:
        end = _closing(rest, 0)
        candidate = rest[: end + 1] if end is not None else ""
    else:
        token = re.match(
            r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[+-]?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?|True|False|None)",
            rest,
            re.I,
        )
        candidate = token.group(1) if token else ""
        candidate = {"true": "True", "false": "False", "none": "None"}.get(candidate.lower(), candidate)
    try:
        ast.literal_eval(candidate)
    except (ValueError, SyntaxError):
        return None
    return candidate


def _is_expression(source: str) -> bool:
    try:
        ast.parse(source, mode="eval")
    except SyntaxError:
        return False
    return True


_HARNESS = """

def _run_examples_(cases, mark):
    import ast, math

    def close(a, b):
        if isinstance(a, bool) or isinstance(b, bool):
            return a == b
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and type(a) is type(b):
            return len(a) == len(b) and all(map(close, a, b))
        return a == b

    for call, expected in cases:
        try:
            got = eval(call, globals())
        except Exception as error:
            print(mark, "FAIL", f"{call} raised {type(error).__name__}: {error}")
            continue
        try:
            right = close(got, ast.literal_eval(expected))
        except (ValueError, SyntaxError):
            right = repr(got) == expected or str(got) == expected
        print(mark, "HOLD" if right else "FAIL", call if right else f"{call} gave {got!r:.300}, expected {expected}")

"""


@dataclass(frozen=True)
class ExampleHarness:
    """Source text that runs examples after a program, and reads the outcome from the output."""

    examples: tuple[Example, ...]

    def extend(self, program: str) -> tuple[str, str]:
        """Gives the program with its examples appended, and the mark of their lines.

        The mark is drawn for each run, so that a program cannot print a pass by itself.
        """
        mark = f"@{secrets.token_hex(6)}"
        cases = [(example.call, example.expected) for example in self.examples]
        return f"{program}\n{_HARNESS}\n_run_examples_({cases!r}, {mark!r})\n", mark

    def read(self, output: str, mark: str) -> tuple[str, ExampleRun]:
        """Splits an output into what the program printed itself and the outcome of the examples."""
        own: list[str] = []
        held, failures = 0, []
        for line in output.splitlines():
            if not line.startswith(mark):
                own.append(line)
            elif line.startswith(f"{mark} HOLD"):
                held += 1
            else:
                failures.append(line.removeprefix(f"{mark} FAIL").strip())
        total = len(self.examples)
        if held + len(failures) < total:
            failures.append("the program ended before its examples were run")
        return "\n".join(own), ExampleRun(held=held, total=total, failures=tuple(failures))
