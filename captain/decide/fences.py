"""Finds fenced blocks, code and the final answer in a reply."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from captain.decide.reasoning import strip_reasoning

if TYPE_CHECKING:
    from autogen_core.code_executor import CodeBlock

_PYTHON = {"python", "py", "python3", "ipython"}
_SHELL = {"sh": "sh", "shell": "sh", "bash": "bash", "zsh": "sh", "console": "sh"}
_PROSE = {"", "text", "txt", "markdown", "md", "plaintext", "plain"}
_LANGUAGES = _PYTHON | set(_SHELL) | {"json", "text", "markdown", "yaml", "sql", "csv"}
_MARKER = re.compile(
    r"^[ \t>]*(?P<lead>[#*_`]*)[ \t]*(?P<bold>[*_`]*)FINAL[ \t]+ANSWER(?P<mid>[*_`]*)[ \t]*[::](?P<rest>.*)$", re.I
)
_MAX_PARSED = 200_000
_MAX_EFFORT = 1_000_000
_MAX_TRIES = 8
_MAX_FENCES = 1000


@dataclass(frozen=True)
class Fence:
    """A fenced block of a text."""

    language: str
    """Lower case, empty where none is given."""
    code: str
    first: int
    """The number of its opening line, from 0."""
    after: int
    """The number of the first line after it."""


@dataclass(frozen=True)
class _Opening:
    mark: str
    language: str
    indent: int


def find_fences(text: str) -> list[Fence]:
    """Gives the fenced blocks of a text in order; a last one that is not closed runs to the end."""
    lines = text.replace("\r\n", "\n").split("\n")
    found: list[Fence] = []
    parser = _Parser()
    number = 0
    while number < len(lines) and len(found) < _MAX_FENCES:
        opening = _opening(lines[number])
        if opening is None:
            number += 1
            continue
        fence = _block(lines, number, opening, parser)
        found.append(fence)
        number = fence.after
    return found


def _opening(line: str) -> _Opening | None:
    """Reads an opening line; text may stand before the fence when a known language follows it."""
    for character in "`~":
        place = line.find(character * 3)
        if place < 0:
            continue
        rest = line[place:].lstrip(character)
        mark = character * (len(line) - place - len(rest))
        words = rest.split()
        language = words[0].strip("{}.").lower() if words else ""
        prefix = line[:place]
        if character in rest or (prefix.strip() and language not in _LANGUAGES):
            return None
        return _Opening(mark, language, 0 if prefix.strip() else len(prefix))
    return None


def _block(lines: list[str], first: int, opening: _Opening, parser: _Parser) -> Fence:
    """Finds the end of a block: for Python the first fence at which the code parses, else the first fence."""
    ends = _ends(lines, first, opening)
    python = opening.language in _PYTHON or not opening.language
    chosen: tuple[int, int, str] | None = None
    tried = 0
    for last, after, tail in ends:
        if chosen is None:
            chosen = (last, after, tail)
        if not python or parser.spent:
            break
        tried += 1
        if parser.parses(_code(lines, first + 1, last, tail, opening)):
            chosen = (last, after, tail)
            break
        if tried >= _MAX_TRIES:
            break
    last, after, tail = chosen or (len(lines), len(lines), "")
    return Fence(opening.language, _code(lines, first + 1, last, tail, opening), first, after)


def _ends(lines: list[str], first: int, opening: _Opening) -> Iterator[tuple[int, int, str]]:
    """Gives where a block may end: (line after its last whole line, first line after it, piece of a last line)."""
    for number in range(first + 1, len(lines)):
        stripped = lines[number].strip()
        if not stripped or opening.mark not in stripped:
            continue
        if stripped.startswith(opening.mark) and not stripped.strip(opening.mark[0]):
            yield number, number + 1, ""
        elif stripped.startswith(opening.mark) and _opening(stripped) is not None:
            yield number, number, ""
        elif stripped.endswith(opening.mark) and stripped.count(opening.mark) == 1:
            yield number, number + 1, lines[number].rstrip()[: -len(opening.mark)]


def _code(lines: list[str], first: int, last: int, tail: str, opening: _Opening) -> str:
    inside = [*lines[first:last], *([tail] if tail else [])]
    if opening.indent:
        inside = [line[min(opening.indent, len(line) - len(line.lstrip())) :] for line in inside]
    code = "\n".join(inside)
    if opening.language in _PYTHON and code[:1] in (" ", "\t"):
        code = textwrap.dedent(code)
    return code.strip("\n")


def _parse(code: str) -> ast.Module | None:
    if len(code) > _MAX_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


class _Parser:
    """Says whether code parses, until it has spent its effort; then no."""

    def __init__(self) -> None:
        self._effort = _MAX_EFFORT

    def parses(self, code: str) -> bool:
        self._effort -= len(code) + 500
        return self._effort > 0 and _parse(code) is not None

    @property
    def spent(self) -> bool:
        return self._effort <= 0


def _is_program(code: str) -> bool:
    """Says whether untagged text is Python that does something: not a number, a name or a literal."""
    tree = _parse(code)
    if tree is None:
        return False
    return any(not isinstance(node, ast.Expr) for node in tree.body) or any(
        isinstance(node, ast.Call) for node in ast.walk(tree)
    )


def read_code_blocks(text: str) -> list[CodeBlock]:
    """Gives the Python and shell programs of a reply in order.

    A fenced block counts when it is tagged as Python or shell, or has no tag and is a Python program. The last block
    need not be closed, and a fence inside a Python string does not end its block.

    Returns:
        `CodeBlock(code, language)` with language `python`, `sh` or `bash`.
    """
    from autogen_core.code_executor import CodeBlock

    blocks: list[CodeBlock] = []
    for fence in find_fences(strip_reasoning(text)):
        language = "python" if fence.language in _PYTHON else _SHELL.get(fence.language, "")
        if not fence.language and _is_program(fence.code):
            language = "python"
        if language and fence.code.strip():
            blocks.append(CodeBlock(code=fence.code, language=language))
    return blocks


def without_code(text: str) -> str:
    """Gives a text without its Python and shell blocks."""
    lines = text.replace("\r\n", "\n").split("\n")
    for fence in find_fences(text):
        if fence.language in _PYTHON or fence.language in _SHELL:
            lines[fence.first : fence.after] = [""] * (fence.after - fence.first)
    return "\n".join(lines)


def read_final_answer(text: str) -> str | None:
    """Gives what stands after the last line that starts with `FINAL ANSWER:`; None where nothing does.

    The marker may be in any case, a heading or bold; inside a code block it does not count. The answer is the rest of
    the line, with a fenced block that follows; where the rest is empty, all that follows. An answer that is nothing but
    one fenced block is given without its fence.
    """
    text = strip_reasoning(text)
    lines = text.replace("\r\n", "\n").split("\n")
    blocks = find_fences(text)
    hidden = {number for block in blocks if _hides(block) for number in range(block.first + 1, block.after)}
    for number in range(len(lines) - 1, -1, -1):
        if number in hidden or "answer" not in lines[number].lower():
            continue
        marker = _MARKER.match(lines[number])
        if marker:
            return _answer(_unmarked(marker), lines, number, blocks) or None
    return None


def _hides(block: Fence) -> bool:
    """Says whether a block is code; some models put their whole prose into a fence."""
    return block.language not in _PROSE or (not block.language and _is_program(block.code))


def _unmarked(marker: re.Match[str]) -> str:
    """Gives the rest of the marker's line without the emphasis that the marker opened."""
    rest = marker["rest"].strip()
    emphasis = (marker["lead"].lstrip("#") or marker["bold"]) if not marker["mid"] else ""
    if emphasis and rest.startswith(emphasis):
        return rest.removeprefix(emphasis).strip()
    return rest.removesuffix(emphasis).strip() if emphasis else rest


def _quoted(text: str) -> str | None:
    """What stands between triple quotes at the beginning of a text, as in a Python call; None where nothing does."""
    for quotes in ('"""', "'''"):
        if text.startswith(quotes):
            inside, end, _ = text[3:].partition(quotes)
            return inside.strip("\n") if end and inside.strip() else None
    return None


def _answer(rest: str, lines: list[str], number: int, blocks: list[Fence]) -> str:
    around = next((block for block in blocks if block.first <= number < block.after), None)
    if around is not None and around.first < number:
        inside = lines[number + 1 : around.after]
        return rest or "\n".join(line for line in inside if not line.strip().startswith(("```", "~~~"))).strip()
    quoted = _quoted("\n".join([rest, *lines[number + 1 :]]).lstrip())
    if quoted is not None:
        return quoted
    following = next((block for block in blocks if block.first >= number), None)
    if following is not None and following.first == number:
        return following.code
    if not rest:
        if (
            following is not None
            and not "".join(lines[number + 1 : following.first] + lines[following.after :]).strip()
        ):
            return following.code
        return "\n".join(lines[number + 1 :]).strip()
    if following is not None and not "".join(lines[number + 1 : following.first]).strip():
        return "\n".join([rest, *lines[following.first : following.after]]).strip()
    return rest
