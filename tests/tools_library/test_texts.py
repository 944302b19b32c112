"""Texts are taken apart, compared and changed; values are known from elsewhere."""

from __future__ import annotations

import time

import pytest

from captain.errors import ToolError
from tools_library import texts


@pytest.mark.parametrize(
    ("what", "text", "expected"),
    [
        ("numbers", "It costs $1,234.50, or -3 a day; 6.02e23 of 5kg v2", ["1,234.50", "-3", "6.02e23", "5"]),
        ("numbers", "10-5 = 5, 1,2345", ["10", "5", "5", "1", "2345"]),
        ("numbers", "none", []),
        ("emails", "Ask ann.b+c@mail.example.org, or <bob@x.de>. Not @me", ["ann.b+c@mail.example.org", "bob@x.de"]),
        ("addresses", "See (https://a.org/x?y=1) and 'http://b.de'", ["https://a.org/x?y=1", "http://b.de"]),
        (
            "dates",
            "2024-02-29, 1/2/99, 03.10.1990, 5 May 2021 and July 4, 1776; 12-34",
            ["2024-02-29", "1/2/99", "03.10.1990", "5 May 2021", "July 4, 1776"],
        ),
    ],
)
def test_items_are_extracted(what: str, text: str, expected: list[str]) -> None:
    assert texts.extract_items(text, what) == expected  # type: ignore[arg-type]  # one of the literals


@pytest.mark.parametrize("what", ["numbers", "emails", "addresses", "dates"])
def test_long_texts_are_read_in_bounded_time(what: str) -> None:
    start = time.monotonic()
    for letter in "a1.-":
        try:
            texts.extract_items(letter * 200_000, what)  # type: ignore[arg-type]  # one of the literals
        except ToolError as error:
            assert "too long" in str(error)
    assert time.monotonic() - start < 25


def test_patterns_are_replaced() -> None:
    assert texts.replace_pattern("a1 b22", r"([a-z])(\d+)", r"\2\1") == "1a 22b"
    assert texts.replace_pattern("Tea tea", "tea", "milk") == "Tea milk"
    assert texts.replace_pattern("Tea tea", "tea", "milk", ignore_case=True) == "milk milk"


@pytest.mark.parametrize(
    ("text", "pattern", "replacement", "problem"),
    [
        ("a", "(", "", "no regular expression"),
        ("a", "a", r"\3", "replacement failed|no regular expression"),
        ("a", "a", "x" * 1001, "longer than 1,000"),
        ("a" * 200_001, "a", "", "longer than 200,000"),
        ("a" * 60 + "!", r"^(a|aa)+$", "", "took too long|timed out"),
    ],
)
def test_what_cannot_be_replaced(
    text: str, pattern: str, replacement: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_SECONDS", 0.2)
    with pytest.raises(ToolError, match=problem):
        texts.replace_pattern(text, pattern, replacement)


def test_versions_are_compared() -> None:
    shown = texts.compare_texts("a\nb\nc\nd", "a\nB\nc\nd").splitlines()
    assert shown[0] == "similarity 0.750"
    assert "-b" in shown and "+B" in shown and "-a" not in shown
    assert texts.compare_texts("x", "x") == "similarity 1.000\nthe texts are equal"
    assert texts.compare_texts("", "") == "similarity 1.000\nthe texts are equal"
    with pytest.raises(ToolError, match="more than 5,000 lines"):
        texts.compare_texts("\n" * 6000, "")


def test_the_closest_spellings() -> None:
    fruit = ["Apple", "Pear", "Apricot", "Maple"]
    assert texts.closest_matches("appel", fruit)[0] == "Apple"
    assert texts.closest_matches("APPLE", fruit, count=1) == ["Apple"]
    assert texts.closest_matches("zzz", fruit) == []
    assert texts.closest_matches("a", []) == []


def test_lines_are_sorted() -> None:
    assert texts.sort_lines("b\nA\nb\nc") == "A\nb\nb\nc"
    assert texts.sort_lines("b\nA\nb\nc", unique=True, descending=True) == "c\nb\nA"
    assert texts.sort_lines("x 10\nnone\nx 9.5\nx -2", numeric=True) == "x -2\nx 9.5\nx 10\nnone"
    assert texts.sort_lines("1\nnone\n2", numeric=True, descending=True) == "2\n1\nnone"
    assert texts.sort_lines("") == ""


@pytest.mark.parametrize(
    ("text", "form", "encoded"),
    [
        ("foobar", "base64", "Zm9vYmFy"),
        ("foob", "base64", "Zm9vYg=="),
        ("é", "hex", "c3a9"),
        ("a b&c/é", "url", "a%20b%26c%2F%C3%A9"),
        ("", "base64", ""),
    ],
)
def test_texts_are_encoded_and_decoded(text: str, form: str, encoded: str) -> None:
    assert texts.encode_text(text, form) == encoded  # type: ignore[arg-type]  # one of the literals
    assert texts.encode_text(encoded, form, decode=True) == text  # type: ignore[arg-type]  # one of the literals


@pytest.mark.parametrize(
    ("text", "form"), [("Zm9", "base64"), ("%%", "base64"), ("zz", "hex"), ("ff", "hex"), ("%ff", "url")]
)
def test_what_cannot_be_decoded(text: str, form: str) -> None:
    with pytest.raises(ToolError, match=f"no {form} text"):
        texts.encode_text(text, form, decode=True)  # type: ignore[arg-type]  # one of the literals


def test_hashes_of_the_standards() -> None:
    assert texts.hash_text("abc", "md5") == "900150983cd24fb0d6963f7d28e17f72"
    assert texts.hash_text("abc", "sha1") == "a9993e364706816aba3e25717850c26c9cd0d89d"
    assert texts.hash_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert texts.hash_text("", "sha512").startswith("cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce")
