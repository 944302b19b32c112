"""Counting and searching in texts."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from captain.errors import ToolError
from captain.tools import resolve_path, tool
from tools_library.tables import encoding_of, existing_file, is_binary

SEARCH_SECONDS = 10.0
MAX_SEARCHED_BYTES = 20 * 1024**2
MAX_MATCHES = 200
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


@tool
def count_text(text: str, target: str = "") -> dict[str, int]:
    """Count the characters, letters, words, sentences and lines of a text, and how often a letter or word occurs in it.

    Args:
        text: The text itself.
        target: Optional letter, word or phrase to count; capital and small letters are the same.

    Returns:
        characters, characters_without_spaces, letters, words, distinct_words, sentences, lines; with a target also
        target_occurrences (anywhere, not overlapping) and target_as_word (as a whole word or phrase only).
    """
    words = words_of(text)
    counts = {
        "characters": len(text),
        "characters_without_spaces": sum(not character.isspace() for character in text),
        "letters": sum(character.isalpha() for character in text),
        "words": len(words),
        "distinct_words": len(set(words)),
        "sentences": len(sentences_of(text)),
        "lines": len(text.splitlines()),
    }
    if target:
        escaped = re.escape(target)
        counts["target_occurrences"] = len(re.findall(escaped, text, re.I))
        counts["target_as_word"] = len(re.findall(rf"(?<!\w){escaped}(?!\w)", text, re.I))
    return counts


@tool(needs_packages=("regex",))
def find_pattern(pattern: str, path: str = ".", ignore_case: bool = False, limit: int = 50) -> str:
    """Search a text file, or all text files in a folder, for a regular expression, line by line.

    Args:
        pattern: A regular expression, for example "error|warning" or "\\d{4}-\\d{2}-\\d{2}".
        path: A file, or a folder that is searched with its subfolders; "." is the whole workspace.
        ignore_case: true when capital and small letters are the same.
        limit: How many matching lines to show, at most 200.

    Returns:
        The number of matches and matching lines, then "file:line: text of the line".

    Raises:
        ToolError: The pattern is wrong or takes too long, or there is no such file or folder.
    """
    import regex

    if not pattern:
        raise ToolError("pattern is empty; give a regular expression")
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise ToolError(f"{pattern!r} is not a regular expression: {error}") from error
    deadline, matches, lines = time.monotonic() + SEARCH_SECONDS, 0, []
    for name, number, line in _lines(path):
        try:
            found = sum(
                1 for _ in compiled.finditer(line, concurrent=True, timeout=max(deadline - time.monotonic(), 0.001))
            )
        except TimeoutError:
            raise ToolError(f"the search was stopped after {SEARCH_SECONDS:g} s; give a simpler pattern") from None
        if found:
            matches += found
            lines.append(f"{name}:{number}: {line.strip()[:300]}")
    shown = lines[: min(max(limit, 0), MAX_MATCHES)]
    more = [f"(and {len(lines) - len(shown)} more lines)"] if len(lines) > len(shown) else []
    return "\n".join([f"{matches} matches in {len(lines)} lines", *shown, *more])


def words_of(text: str) -> list[str]:
    """The words of a text in small letters; "don't" and "well-known" are one each."""
    return [word.lower() for word in _WORD.findall(text)]


def sentences_of(text: str) -> list[str]:
    """The parts of a text between full stops, question and exclamation marks that hold words."""
    return [part for part in re.split(r"[.!?…]+(?=[\s\"'”’)]|$)", text) if _WORD.search(part)]


def _lines(path: str) -> Iterator[tuple[str, int, str]]:
    folder = resolve_path(path)
    files = _files(folder) if folder.is_dir() else [existing_file(path)]
    searched = 0
    for file in files:
        name = file.relative_to(folder).as_posix() if folder.is_dir() else file.name
        if is_binary(file):
            if not folder.is_dir():
                raise ToolError(f"{path!r} is not a text file")
            continue
        searched += file.stat().st_size
        if searched > MAX_SEARCHED_BYTES:
            raise ToolError(
                f"there are more than {MAX_SEARCHED_BYTES // 1024**2} MB to search; give a single smaller file"
            )
        with file.open(encoding=encoding_of(file)) as stream:
            for number, line in enumerate(stream, 1):
                yield name, number, line.rstrip("\n")


def _files(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(root) / name
            # a link may lead out of the workspace
            if file.is_file() and not file.is_symlink() and not name.startswith("."):
                yield file
