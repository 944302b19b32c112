"""Wikipedia's interface, on a site of this machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from captain.errors import ToolError
from tools_library import encyclopedia


@pytest.fixture
def wiki(site: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives `wiki(answer)`, which lets Wikipedia answer so."""
    monkeypatch.setenv("CAPTAIN_WIKIPEDIA_URL", f"{site.address}/w/api.php")

    def answers(answer: Any) -> Any:
        site.has("/w/api.php", answer if isinstance(answer, str) else json.dumps(answer), kind="application/json")
        return site

    return answers


def test_articles_are_found_with_their_addresses(wiki: Any) -> None:
    found = [
        {"ns": 0, "title": "Rhône glacier", "snippet": 'A <span class="searchmatch">glacier</span> &amp; source'},
        {"ns": 0, "title": "AC/DC?", "snippet": ""},
    ]
    site = wiki({"batchcomplete": True, "query": {"search": found}})
    assert encyclopedia.wikipedia_search("glacier", language="de", count=99).splitlines() == [
        "1. Rhône glacier",
        "   https://de.wikipedia.org/wiki/Rh%C3%B4ne_glacier",
        "   A glacier & source",
        "2. AC/DC?",
        "   https://de.wikipedia.org/wiki/AC/DC%3F",
        "   ",
    ]
    query = site.asked[0][1]
    assert (query["srsearch"], query["srlimit"], query["format"], query["formatversion"]) == (
        "glacier",
        "20",
        "json",
        "2",
    )


def test_nothing_is_found(wiki: Any) -> None:
    wiki({"batchcomplete": True, "query": {"search": []}})
    assert encyclopedia.wikipedia_search("xyzzy") == "Wikipedia (en) has no article on 'xyzzy'"
    with pytest.raises(ToolError, match="query is empty"):
        encyclopedia.wikipedia_search("")


def test_an_article_is_read_with_its_address(wiki: Any) -> None:
    page = {"pageid": 1, "ns": 0, "title": "Ada Lovelace", "extract": "Ada was a mathematician.\n\n\n== Life ==\nLong."}
    site = wiki({"query": {"redirects": [{"from": "Ada", "to": "Ada Lovelace"}], "pages": [page]}})
    text = encyclopedia.wikipedia_page("Ada")
    assert text.startswith("# Ada Lovelace\nSource: https://en.wikipedia.org/wiki/Ada_Lovelace\n\nAda was a mathema")
    assert site.asked[0][1]["titles"] == "Ada" and site.asked[0][1]["redirects"] == "1"
    wiki({"query": {"pages": [{**page, "extract": "x" * 12_500}]}})
    assert encyclopedia.wikipedia_page("Ada").endswith("[500 more characters; read on with start=12000]")
    assert encyclopedia.wikipedia_page("Ada", start=12_000).endswith(f"\n\n{'x' * 500}")


def test_a_section_of_an_article(wiki: Any) -> None:
    text = "Intro.\n\n== Life ==\nBorn.\n\n=== School ===\nLearned.\n\n== Work ==\nDid much.\n"
    wiki({"query": {"pages": [{"title": "Ada", "extract": text}]}})
    assert encyclopedia.wikipedia_page("Ada", section="life").endswith(
        "\n\n== Life ==\nBorn.\n\n=== School ===\nLearned."
    )
    assert encyclopedia.wikipedia_page("Ada", section="School").endswith("\n\n=== School ===\nLearned.")
    assert encyclopedia.wikipedia_page("Ada", section="Work").endswith("\n\n== Work ==\nDid much.")
    with pytest.raises(ToolError, match="no section 'Death'; its sections: Life; School; Work"):
        encyclopedia.wikipedia_page("Ada", section="Death")
    wiki({"query": {"pages": [{"title": "Ada", "extract": text + "x" * 12_000}]}})
    assert "\nSections: Life; School; Work\n\nIntro." in encyclopedia.wikipedia_page("Ada")


@pytest.mark.parametrize(
    "answer",
    [
        {"query": {"pages": [{"ns": 0, "title": "Nobody", "missing": True}]}},
        {"query": {"pages": []}},
        {"batchcomplete": True},
        {"query": {"pages": [{"title": "Nobody", "invalid": True, "invalidreason": "no"}]}},
    ],
)
def test_a_missing_article(wiki: Any, answer: Any) -> None:
    wiki(answer)
    with pytest.raises(ToolError, match="no article 'Nobody'; look for its title with wikipedia_search"):
        encyclopedia.wikipedia_page("Nobody")


def test_tables_of_an_article(wiki: Any) -> None:
    html = (
        "<h2>Rivers</h2><table class='infobox'><tr><td>no</td></tr></table>"
        "<table class='wikitable sortable'><caption>By length</caption>"
        "<tr><th>river</th><th>km</th></tr><tr><td>Rhine</td><td>1,233</td></tr></table>"
        "<h2>Lakes</h2><table class='wikitable'><tr><th>lake</th></tr><tr><td>Como</td></tr></table>"
    )
    site = wiki({"parse": {"title": "Waters", "pageid": 1, "text": html}})
    both = encyclopedia.wikipedia_tables("waters")
    assert both.startswith("Source: https://en.wikipedia.org/wiki/Waters\n\n## Rivers / By length\n")
    assert (
        "| Rhine | 1,233 |" in both
        and "## Lakes" in both
        and "| Como |" in both
        and "no" not in both.split("\n\n", 1)[1]
    )
    assert "Rhine" not in encyclopedia.wikipedia_tables("waters", heading="LAKES")
    assert "Rhine" in encyclopedia.wikipedia_tables("waters", heading="length")
    assert encyclopedia.wikipedia_tables("waters", heading="Seas").endswith("The article has no such table.")
    assert site.asked[0][1]["page"] == "waters"


def test_tables_of_a_missing_article(wiki: Any) -> None:
    wiki({"error": {"code": "missingtitle", "info": "The page you specified doesn't exist."}})
    with pytest.raises(ToolError, match="no article 'Nothing'"):
        encyclopedia.wikipedia_tables("Nothing")


@pytest.mark.parametrize("language", ["", "EN", "e", "evil.example/x", "en.wikipedia.org@evil", "../x", "en\n"])
def test_what_is_no_language(site: Any, language: str) -> None:
    with pytest.raises(ToolError, match="no code of a language"):
        encyclopedia.wikipedia_page("Ada", language=language)
    assert site.asked == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("<html>busy</html>", "cannot be read"),
        ("[]", "cannot be read"),
        ({"error": {"code": "maxlag", "info": "Waiting for a server"}}, "Wikipedia answers: Waiting for a server"),
    ],
)
def test_answers_that_are_none(wiki: Any, answer: Any, problem: str) -> None:
    wiki(answer)
    for call in (encyclopedia.wikipedia_search, encyclopedia.wikipedia_page, encyclopedia.wikipedia_tables):
        with pytest.raises(ToolError, match=problem):
            call("Ada")
