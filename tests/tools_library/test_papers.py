"""arXiv's interface, on a site of this machine."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from captain.errors import ToolError
from tools_library import papers

_ENTRY = """<entry><id>http://arxiv.org/abs/{number}v2</id><updated>2024-06-01T00:00:00Z</updated>
<published>2024-05-29T17:59:59Z</published><title>Teams of
  agents</title><summary>  We seat
a team. It works.
</summary>{authors}<link href="http://arxiv.org/abs/{number}v2" rel="alternate" type="text/html"/>
<link title="pdf" href="{pdf}" rel="related" type="application/pdf"/></entry>"""


def feed(*entries: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" '
        'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"><title type="html">ArXiv Query</title>'
        f"<opensearch:totalResults>{len(entries)}</opensearch:totalResults>{''.join(entries)}</feed>"
    )


def entry(number: str = "2405.19425", *, pdf: str = "http://arxiv.org/pdf/x", authors: int = 2) -> str:
    named = "".join(f"<author><name>Author {n}</name></author>" for n in range(1, authors + 1))
    return _ENTRY.format(number=number, authors=named, pdf=pdf)


@pytest.fixture
def arxiv(site: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives `arxiv(answer)`, which lets arXiv answer so."""
    monkeypatch.setenv("CAPTAIN_ARXIV_URL", f"{site.address}/api/query")

    def answers(answer: str | bytes) -> Any:
        site.has("/api/query", answer, kind="application/atom+xml")
        return site

    return answers


def test_papers_are_found_with_their_addresses(arxiv: Any) -> None:
    site = arxiv(feed(entry(), entry("hep-th/9901001", authors=10)))
    first, second = papers.arxiv_search("teams of agents", 50).split("\n\n")
    assert first.splitlines() == [
        "Teams of agents",
        "Author 1, Author 2; 2024-05-29",
        "http://arxiv.org/abs/2405.19425v2; PDF: http://arxiv.org/pdf/x",
        "We seat a team. It works.",
    ]
    assert "Author 8 and 2 more; 2024" in second and "http://arxiv.org/abs/hep-th/9901001v2" in second
    query = site.asked[0][1]
    assert (query["search_query"], query["max_results"], query["sortBy"]) == ("all:teams of agents", "20", "relevance")


def test_fields_and_dates_of_a_search(arxiv: Any) -> None:
    site = arxiv(feed())
    assert papers.arxiv_search("au:Noether", newest_first=True) == "arXiv has nothing on 'au:Noether'"
    assert site.asked[0][1]["search_query"] == "au:Noether" and site.asked[0][1]["sortBy"] == "submittedDate"
    with pytest.raises(ToolError, match="query is empty"):
        papers.arxiv_search(" ")


@pytest.mark.parametrize(
    ("identifier", "asked"),
    [
        ("2405.19425", "2405.19425"),
        (" arXiv:2405.19425v2 ", "2405.19425v2"),
        ("https://arxiv.org/abs/hep-th/9901001", "hep-th/9901001"),
        ("math.GT/0309136", "math.GT/0309136"),
    ],
)
def test_one_paper_by_its_identifier(arxiv: Any, identifier: str, asked: str) -> None:
    site = arxiv(feed(entry()))
    assert "We seat a team." in papers.arxiv_paper(identifier)
    assert site.asked[0][1] == {"id_list": asked}


@pytest.mark.parametrize(
    "identifier", ["", "Teams of agents", "24.1", "2405.19425&x=1", "../2405.19425", "2405.19425 2"]
)
def test_what_is_no_identifier(site: Any, identifier: str) -> None:
    with pytest.raises(ToolError, match="no identifier of arXiv"):
        papers.arxiv_paper(identifier)
    assert site.asked == []


def test_the_text_of_a_paper_by_page(arxiv: Any) -> None:
    pdf = runpy.run_path(str(Path(__file__).parent / "test_documents.py"))["pdf"]
    site = arxiv(feed())
    pages = [f"BT /F1 12 Tf 72 720 Td (We prove part {number} here.) Tj ET" for number in (1, 2, 3)]
    link = site.has("/pdf/1", pdf(*pages), kind="application/pdf")
    arxiv(feed(entry(pdf=link)))
    first = f"Source: {link}\n\n--- page 1 of 3 ---\nWe prove part 1 here."
    assert papers.arxiv_paper("2405.19425", 1) == first
    assert papers.arxiv_paper("2405.19425", last_page=2) == f"{first}\n\n--- page 2 of 3 ---\nWe prove part 2 here."
    for pages_asked in ((0, None), (4, None), (3, 2)):
        with pytest.raises(ToolError, match="the PDF has pages 1 to 3"):
            papers.arxiv_paper("2405.19425", *pages_asked)
    site.has("/pdf/1", b"<html>busy", kind="text/html")
    with pytest.raises(ToolError, match="cannot be opened as a PDF"):
        papers.arxiv_paper("2405.19425", 1)
    arxiv(feed(entry().replace('title="pdf"', "")))
    with pytest.raises(ToolError, match="no PDF"):
        papers.arxiv_paper("2405.19425", 1)


def test_a_link_to_a_private_place_is_refused(arxiv: Any, private_site: Any) -> None:
    arxiv(feed(entry(pdf=private_site.has("/", "secret"))))
    with pytest.raises(ToolError, match="private network"):
        papers.arxiv_paper("2405.19425", 1)


def test_a_missing_paper_and_an_error(arxiv: Any) -> None:
    arxiv(feed())
    with pytest.raises(ToolError, match="no paper '2405.19425'"):
        papers.arxiv_paper("2405.19425")
    arxiv(feed("<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>bad query</summary></entry>"))
    with pytest.raises(ToolError, match="arXiv answers: bad query"):
        papers.arxiv_search("(")


_BOMB = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "boom"><!ENTITY c "&b;&b;&b;">]><feed>&c;</feed>'


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"<feed", "cannot be read"),
        (b"", "cannot be read"),
        (_BOMB.encode(), "is not taken"),
        (_BOMB.encode("utf-16"), "is not taken"),
    ],
)
def test_answers_that_are_not_taken(arxiv: Any, answer: bytes, problem: str) -> None:
    arxiv(answer)
    with pytest.raises(ToolError, match=problem):
        papers.arxiv_search("x")
