"""Tools that find and read scientific papers on arXiv."""

from __future__ import annotations

import os
import re
from xml.etree import ElementTree

from captain import ToolError, tool
from tools_library.addresses import get
from tools_library.conversion import window
from tools_library.pdf_pages import open_pdf, page_texts

_API = "https://export.arxiv.org/api/query"
_ATOM = "{http://www.w3.org/2005/Atom}"
_IDENTIFIER = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")


@tool(network=True)
def arxiv_search(query: str, count: int = 5, newest_first: bool = False) -> str:
    """Search arXiv for scientific papers and preprints: title, authors, date, abstract and address of each.

    Args:
        query: Words of title, abstract or author; arXiv's own fields such as au:Noether work too.
        count: How many papers, 1 to 20.
        newest_first: Sort by date instead of by relevance.

    Returns:
        For each paper its title, authors, date, address and abstract.

    Raises:
        ToolError: arXiv cannot be reached, or does not understand the query.
    """
    if not query.strip():
        raise ToolError("the query is empty; say what to look for")
    asked = {
        "search_query": query if re.search(r"\b(all|ti|au|abs|cat):", query) else f"all:{query}",
        "max_results": max(1, min(count, 20)),
        "sortBy": "submittedDate" if newest_first else "relevance",
        "sortOrder": "descending",
    }
    papers = _entries(asked)
    return "\n\n".join(_described(paper) for paper in papers) if papers else f"arXiv has nothing on {query!r}"


@tool(needs_packages=("pdfplumber",), network=True)
def arxiv_paper(identifier: str, first_page: int | None = None, last_page: int | None = None) -> str:
    """Read one arXiv paper by its identifier: title, authors, abstract and addresses, or the text of pages of its PDF.

    Args:
        identifier: Such as 2405.19425 or hep-th/9901001, with or without version.
        first_page: First page of the PDF to read, counted from 1; the abstract when absent.
        last_page: Last page to read; the first page alone when absent.

    Returns:
        Title, authors, date, addresses and abstract; or the address of the PDF and the text of each page below its
        number, up to 30,000 characters.

    Raises:
        ToolError: There is no such paper or page, or arXiv cannot be reached.
    """
    wanted = identifier.strip().removeprefix("arXiv:").rpartition("/abs/")[2]
    if not _IDENTIFIER.fullmatch(wanted):
        raise ToolError(f"{identifier!r} is no identifier of arXiv; give one such as 2405.19425")
    papers = _entries({"id_list": wanted})
    if not papers:
        raise ToolError(f"arXiv has no paper {wanted!r}; look for it with arxiv_search")
    if first_page is None and last_page is None:
        return _described(papers[0])
    address = _pdf_of(papers[0])
    if not address:
        raise ToolError(f"arXiv gives no PDF of {wanted!r}")
    page = get(address)
    with open_pdf(page.content, name=page.address) as pdf:
        text = page_texts(pdf, 1 if first_page is None else first_page, last_page)
    return f"Source: {page.address}\n\n{window(text, 0, what='these pages', length=30_000)}"


def _entries(asked: dict[str, object]) -> list[ElementTree.Element]:
    page = get(os.environ.get("CAPTAIN_ARXIV_URL") or _API, query=asked)
    if b"<!DOCTYPE" in page.content or b"\0" in page.content[:64]:  # entities, and encodings that would hide them
        raise ToolError("arXiv gave an answer that is not taken; try later")
    try:
        root = ElementTree.fromstring(page.content)
    except ElementTree.ParseError as error:
        raise ToolError("arXiv gave an answer that cannot be read; try later") from error
    entries = [entry for entry in root.findall(f"{_ATOM}entry") if entry.find(f"{_ATOM}title") is not None]
    if len(entries) == 1 and "/api/errors" in _text(entries[0], "id"):
        raise ToolError(f"arXiv answers: {_text(entries[0], 'summary')}")
    return entries


def _described(entry: ElementTree.Element) -> str:
    authors = [_text(author, "name") for author in entry.findall(f"{_ATOM}author")]
    more = f" and {len(authors) - 8} more" if len(authors) > 8 else ""
    return (
        f"{_text(entry, 'title')}\n{', '.join(authors[:8])}{more}; {_text(entry, 'published')[:10]}\n"
        f"{_text(entry, 'id')}{f'; PDF: {address}' if (address := _pdf_of(entry)) else ''}\n{_text(entry, 'summary')}"
    )


def _pdf_of(entry: ElementTree.Element) -> str:
    link = entry.find(f"{_ATOM}link[@title='pdf']")
    return "" if link is None else link.attrib.get("href", "")


def _text(element: ElementTree.Element, name: str) -> str:
    return " ".join((element.findtext(f"{_ATOM}{name}") or "").split())
