"""Words counted, texts measured and compared; values computed by hand or known from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from captain.errors import ToolError
from tools_library import wording

RHYME = "The cat and the dog. The dog and the cat and the end!"


def test_the_most_frequent_words_and_phrases() -> None:
    assert wording.word_frequencies(RHYME, count=3) == {"the": 5, "and": 3, "cat": 2}
    assert list(wording.word_frequencies(RHYME, count=1, together=2).items()) == [("and the", 3)]
    assert wording.word_frequencies(RHYME, shortest=3, leave_out=["The", "AND"]) == {"cat": 2, "dog": 2, "end": 1}
    assert wording.word_frequencies("no", together=5) == {}


def test_words_of_a_file(workspace: Path) -> None:
    (workspace / "a.txt").write_text("Größe größe don't", encoding="utf-8")
    assert wording.word_frequencies(path="a.txt") == {"größe": 2, "don't": 1}
    (workspace / "b.bin").write_bytes(b"\0")
    for text, path, problem in [
        ("", "", "either a text or"),
        ("x", "a.txt", "either a text or"),
        ("", "b.bin", "not a text file"),
        ("", "none.txt", "no file"),
    ]:
        with pytest.raises(ToolError, match=problem):
            wording.word_frequencies(text, path)
    with pytest.raises(ToolError, match="1 to 5"):
        wording.word_frequencies("x", together=6)


def test_how_hard_a_text_is_to_read() -> None:
    # 10 words in 2 sentences, 3 of them over six letters: LIX 10/2 + 100 * 3/10, RIX 3/2
    found = wording.readability("Seven elephants carried bananas home. We saw them all day.")
    assert (found["words"], found["sentences"], found["long_words"]) == (10, 2, 3)
    assert (found["lix"], found["rix"], found["words_per_sentence"], found["letters_per_word"]) == (35, 1.5, 5, 4.7)
    assert found["ari"] == pytest.approx(4.71 * 4.7 + 0.5 * 5 - 21.43)
    assert found["level"] == "medium"
    assert wording.readability("I am. You are.")["level"] == "very easy"
    assert wording.readability("Unverständlichkeitserklärung " * 60)["level"] == "very difficult"
    with pytest.raises(ToolError, match="no words"):
        wording.readability("... !")


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("kitten", "sitting", 3), ("saturday", "sunday", 3), ("", "abc", 3), ("flaw", "lawn", 2), ("a", "A", 1)],
)
def test_edit_distances_of_the_books(first: str, second: str, distance: int) -> None:
    for pair in ((first, second), (second, first)):
        found = wording.text_similarity(*pair)
        assert found["edit_distance"] == distance
        assert found["edit_similarity"] == pytest.approx(1 - distance / max(len(first), len(second)))


def test_texts_that_share_words() -> None:
    def shared(first: str, second: str) -> tuple[Any, Any]:
        found = wording.text_similarity(first, second)
        return found["shared_words"], found["word_cosine"]

    assert shared("red green blue", "Blue, red!") == (pytest.approx(2 / 3), pytest.approx(2 / 6**0.5))
    assert shared("a a b", "a b b") == (1, pytest.approx(0.8))
    assert shared("a", "b") == (0, 0) and shared("", "") == (1, 1) and shared("a", "") == (0, 0)
    with pytest.raises(ToolError, match="longer than 3,000"):
        wording.text_similarity("x" * 3001, "")
