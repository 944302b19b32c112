"""Tools that take texts apart, compare and change them."""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
import re
from typing import Literal
from urllib.parse import quote, unquote

from captain import ToolError, tool

_SECONDS = 5.0
_MOST = 200_000
_MOST_LINES = 5_000
_MOST_REPLACEMENT = 1_000

_KINDS = {
    "numbers": r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\d)",
    "emails": r"(?<![\w.+-])[\w.+-]++@[\w-]++\.[\w.-]*\w",
    "addresses": r"https?://[^\s<>\"')\]]+",
    "dates": r"\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    r"|\d{1,2} [A-Z][a-z]{2,8} \d{4}|[A-Z][a-z]{2,8} \d{1,2}, \d{4})\b",
}


@tool
def extract_items(text: str, what: Literal["numbers", "emails", "addresses", "dates"]) -> list[str]:
    """Extract all numbers, e-mail addresses, web addresses (links) or dates from a text, in their order.

    Args:
        text: The text.
        what: What to take out.

    Returns:
        What was found, as it is written there.

    Raises:
        ToolError: The text is longer than 200,000 characters.
    """
    import regex

    try:
        return [str(found) for found in regex.findall(_KINDS[what], _short(text), timeout=_SECONDS)]
    except TimeoutError as error:
        raise ToolError("the search took too long; give a part of the text") from error


@tool
def replace_pattern(text: str, pattern: str, replacement: str, ignore_case: bool = False) -> str:
    """Replace what matches a regular expression in a text (find and replace), groups as \\1, \\2 in the replacement.

    Args:
        text: The text.
        pattern: The regular expression.
        replacement: What comes in its place.
        ignore_case: Capitals do not matter.

    Returns:
        The changed text.

    Raises:
        ToolError: The pattern or the replacement is wrong or takes too long, or the text is too long.
    """
    import regex

    if len(replacement) > _MOST_REPLACEMENT:
        raise ToolError(f"the replacement is longer than {_MOST_REPLACEMENT:,} characters")
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        return str(compiled.sub(replacement, _short(text), timeout=_SECONDS))
    except regex.error as error:
        raise ToolError(f"{pattern!r} is no regular expression: {error}") from error
    except (IndexError, TimeoutError) as error:
        raise ToolError(f"the replacement failed ({error or 'it took too long'}); use a simpler pattern") from error


@tool
def compare_texts(first: str, second: str) -> str:
    """Compare two texts or versions line by line (diff), with their similarity from 0 to 1.

    Args:
        first: The older text.
        second: The newer text.

    Returns:
        The similarity, then the lines that went (-) and came (+).

    Raises:
        ToolError: A text is too long.
    """
    old, new = _short(first).splitlines(), _short(second).splitlines()
    if max(len(old), len(new)) > _MOST_LINES:
        raise ToolError(f"a text has more than {_MOST_LINES:,} lines; compare parts of it")
    similarity = difflib.SequenceMatcher(None, old, new, autojunk=False).ratio()
    lines = list(difflib.unified_diff(old, new, "first", "second", lineterm="", n=1))
    return "\n".join([f"similarity {similarity:.3f}", *(lines or ["the texts are equal"])])


@tool
def closest_matches(word: str, candidates: list[str], count: int = 3) -> list[str]:
    """Find the entries of a list that are spelled most like a word (fuzzy matching, spelling mistakes).

    Args:
        word: The word or name that is looked for.
        candidates: The list.
        count: How many matches at most.

    Returns:
        The matches, the most similar first; none when nothing is similar.
    """
    folded: dict[str, str] = {}
    for candidate in candidates:
        folded.setdefault(candidate.casefold(), candidate)
    found = difflib.get_close_matches(word.casefold(), folded, n=max(1, count), cutoff=0.5)
    return [folded[name] for name in found]


@tool
def sort_lines(text: str, unique: bool = False, numeric: bool = False, descending: bool = False) -> str:
    """Sort the lines of a text, by alphabet or by the first number in each, and drop repeated lines if wanted.

    Args:
        text: The text.
        unique: Keep each line once.
        numeric: Sort by the first number of each line; lines without one come last.
        descending: Largest or last first.

    Returns:
        The sorted lines.

    Raises:
        ToolError: The text is longer than 200,000 characters.
    """
    lines = _short(text).splitlines()
    lines = list(dict.fromkeys(lines)) if unique else lines
    if not numeric:
        return "\n".join(sorted(lines, key=str.casefold, reverse=descending))
    numbered = [(match, line) for line in lines if (match := re.search(r"[-+]?\d+(?:\.\d+)?", line))]
    rest = [line for line in lines if not re.search(r"\d", line)]
    ordered = sorted(numbered, key=lambda pair: float(pair[0].group()), reverse=descending)
    return "\n".join([line for _, line in ordered] + rest)


@tool
def encode_text(text: str, form: Literal["base64", "hex", "url"], decode: bool = False) -> str:
    """Encode a text as Base64, hexadecimal or for a URL (percent encoding), or decode it back.

    Args:
        text: The text, or what is to be decoded.
        form: The encoding.
        decode: Turn the encoded form back into text.

    Returns:
        The encoded or decoded text.

    Raises:
        ToolError: The text is not in this form, or no text comes out.
    """
    try:
        if form == "url":
            return unquote(text, errors="strict") if decode else quote(text, safe="")
        if decode:
            raw = base64.b64decode(text, validate=True) if form == "base64" else bytes.fromhex(text)
            return raw.decode("utf-8")
        data = text.encode("utf-8")
        return base64.b64encode(data).decode() if form == "base64" else data.hex()
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"this is no {form} text: {error}") from error


@tool
def hash_text(text: str, algorithm: Literal["sha256", "sha1", "md5", "sha512"] = "sha256") -> str:
    """Compute the hash (checksum, digest) of a text: SHA-256, SHA-1, SHA-512 or MD5, in hexadecimal.

    Args:
        text: The text, taken as UTF-8.
        algorithm: The hash function.

    Returns:
        The digest in small letters.
    """
    return hashlib.new(algorithm, text.encode("utf-8"), usedforsecurity=False).hexdigest()


def _short(text: str) -> str:
    if len(text) > _MOST:
        raise ToolError(f"the text is longer than {_MOST:,} characters; give a part of it")
    return text
