"""The words of a text: how often they occur, how hard they are to read, how alike two texts are."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.table_formats import encoding_of, is_binary
from tools_library.tables import existing_file, rounded
from tools_library.text import sentences_of, words_of

_MOST = 1_000_000
_MOST_COMPARED = 3_000
_LONG = 6
_LEVELS = ((25, "very easy"), (35, "easy"), (45, "medium"), (55, "difficult"))


@tool
def word_frequencies(
    text: str = "", path: str = "", count: int = 20, together: int = 1, shortest: int = 1, leave_out: list[str] = []
) -> dict[str, int]:
    """Count the most frequent words or phrases (keywords, n-grams) of a text or of a text file.

    Args:
        text: The text; or leave it empty and give a path.
        path: A text file of the workspace.
        count: How many words or phrases to show, at most 200.
        together: How many words make a phrase: 1 for single words, 2 for pairs of neighbours, up to 5.
        shortest: Letters that a word must have; 4 leaves out most articles and prepositions.
        leave_out: Words that are not counted.

    Returns:
        Word or phrase in small letters -> how often it occurs, the most frequent first.

    Raises:
        ToolError: Neither or both of text and path are given, there is no such text file, or together is out of range.
    """
    if not 1 <= together <= 5:
        raise ToolError("together must be 1 to 5")
    unwanted = {word.lower() for word in leave_out}
    words = [word for word in words_of(_given(text, path)) if len(word) >= shortest and word not in unwanted]
    phrases = (" ".join(words[place : place + together]) for place in range(len(words) - together + 1))
    ordered = sorted(Counter(phrases).items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[: max(1, min(count, 200))])


@tool
def readability(text: str = "", path: str = "") -> dict[str, Any]:
    """Measure how hard a text is to read, in any language with words between spaces: LIX, RIX and ARI, the lengths of
    sentences and words.

    Args:
        text: The text; or leave it empty and give a path.
        path: A text file of the workspace.

    Returns:
        level (by LIX: very easy, easy, medium, difficult, very difficult), lix, rix (long words a sentence), ari (grade
        of US schools, for English), words, sentences, words_per_sentence, letters_per_word, long_words (over six
        letters).

    Raises:
        ToolError: Neither or both of text and path are given, there is no such text file, or it holds no words.
    """
    given = _given(text, path)
    words, sentences = words_of(given), len(sentences_of(given))
    if not words:
        raise ToolError("the text holds no words")
    letters = sum(sum(character.isalnum() for character in word) for word in words)
    long = sum(len(word) > _LONG for word in words)
    a_sentence, a_word = len(words) / sentences, letters / len(words)
    lix = a_sentence + 100 * long / len(words)
    return {
        "level": next((level for limit, level in _LEVELS if lix < limit), "very difficult"),
        "lix": rounded(lix),
        "rix": rounded(long / sentences),
        "ari": rounded(4.71 * a_word + 0.5 * a_sentence - 21.43),
        "words": len(words),
        "sentences": sentences,
        "words_per_sentence": rounded(a_sentence),
        "letters_per_word": rounded(a_word),
        "long_words": long,
    }


@tool
def text_similarity(first: str, second: str) -> dict[str, Any]:
    """Measure how alike two short texts, words or names are: edit distance (Levenshtein), shared words (Jaccard), and
    cosine of the word counts.

    Args:
        first: One text.
        second: The other, each at most 3,000 characters.

    Returns:
        edit_distance (insertions, deletions and changes of one character), edit_similarity, shared_words and
        word_cosine; the last three from 0 to 1. Capital and small letters differ in the edit distance only.

    Raises:
        ToolError: A text is too long.
    """
    if max(len(first), len(second)) > _MOST_COMPARED:
        raise ToolError(f"a text is longer than {_MOST_COMPARED:,} characters; compare_texts compares line by line")
    distance, longest = _distance(first, second), max(len(first), len(second))
    left, right = Counter(words_of(first)), Counter(words_of(second))
    either, product = left | right, sum(left[word] * right[word] for word in left)
    norm = math.sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))
    return {
        "edit_distance": distance,
        "edit_similarity": rounded(1 - distance / longest if longest else 1),
        "shared_words": rounded(len(left.keys() & right.keys()) / len(either) if either else 1),
        "word_cosine": rounded(product / norm if norm else float(left == right)),
    }


def _given(text: str, path: str) -> str:
    if bool(text.strip()) == bool(path):
        raise ToolError("give either a text or the path of a text file")
    if not path:
        return text
    file = existing_file(path)
    if is_binary(file):
        raise ToolError(f"{path!r} is not a text file; read_document turns documents into text")
    if file.stat().st_size > 4 * _MOST:
        raise ToolError(f"{path!r} is larger than {4 * _MOST // 1_000_000} MB")
    return file.read_text(encoding=encoding_of(file))


def _distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for count, letter in enumerate(first, start=1):
        above, row[0] = row[0], count
        for place, other in enumerate(second, start=1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (letter != other))
    return row[-1]
