"""Tools that look things up in Wikipedia."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from captain import ToolError, tool
from tools_library.addresses import get
from tools_library.conversion import MOST_CHARACTERS, markdown_of, window

_HEADING = re.compile(r"^(={2,6}) *(.+?) *\1$", re.MULTILINE)
_LANGUAGE = re.compile(r"[a-z][a-z-]{1,11}")


@tool(network=True)
def wikipedia_search(query: str, language: str = "en", count: int = 5) -> str:
    """Search Wikipedia for articles on a subject: their titles, addresses and the passage that was found.

    Args:
        query: What to look for.
        language: Code of the Wikipedia's language, such as en, de, fr.
        count: How many articles, 1 to 20.

    Returns:
        For each article its title, address and the passage.

    Raises:
        ToolError: Wikipedia cannot be reached, or the language has none.
    """
    if not query.strip():
        raise ToolError("the query is empty; say what to look for")
    asked = {"action": "query", "list": "search", "srsearch": query, "srlimit": max(1, min(count, 20))}
    found = _api(language, asked).get("query", {}).get("search", [])
    lines = [
        f"{number}. {hit['title']}\n   {_address(language, hit['title'])}\n   {_plain(hit.get('snippet', ''))}"
        for number, hit in enumerate(found, start=1)
    ]
    return "\n".join(lines) if lines else f"Wikipedia ({language}) has no article on {query!r}"


@tool(network=True)
def wikipedia_page(title: str, language: str = "en", section: str = "", start: int = 0) -> str:
    """Read a Wikipedia article as plain text, with its address to cite: facts on persons, places, events and ideas.

    Args:
        title: Title of the article, as wikipedia_search gives it.
        language: Code of the Wikipedia's language.
        section: Heading of the section to read; the whole article when empty.
        start: First character to read, from 0; the end of a part says where the next begins.

    Returns:
        Title, address and up to 12,000 characters of the article; the headings of its sections when it is longer.

    Raises:
        ToolError: There is no such article or section, or Wikipedia cannot be reached.
    """
    asked = {"action": "query", "prop": "extracts", "explaintext": 1, "redirects": 1, "titles": title}
    pages = _api(language, asked).get("query", {}).get("pages", [])
    page: dict[str, Any] = pages[0] if pages else {"missing": True}
    if page.get("missing") or not page.get("extract"):
        raise ToolError(f"Wikipedia ({language}) has no article {title!r}; look for its title with wikipedia_search")
    source, text = _address(language, page["title"]), str(page["extract"])
    headings = [match.group(2) for match in _HEADING.finditer(text)]
    if section:
        text = _section(text, section)
    elif headings and len(text) > MOST_CHARACTERS:
        source += f"\nSections: {'; '.join(headings)}"
    return f"# {page['title']}\nSource: {source}\n\n{window(text, start, what='the article')}"


@tool(needs_packages=("markitdown", "bs4"), network=True)
def wikipedia_tables(title: str, language: str = "en", heading: str = "") -> str:
    """Get the tables of a Wikipedia article as Markdown tables, all of them or those below a heading.

    Args:
        title: Title of the article.
        language: Code of the Wikipedia's language.
        heading: Words of the section's heading or of the table's caption; all tables when empty.

    Returns:
        The address, and each table below its heading and caption.

    Raises:
        ToolError: There is no such article, or Wikipedia cannot be reached.
    """
    from bs4 import BeautifulSoup

    parsed = _api(language, {"action": "parse", "page": title, "prop": "text", "redirects": 1}).get("parse")
    if not parsed:
        raise ToolError(f"Wikipedia ({language}) has no article {title!r}; look for its title with wikipedia_search")
    soup = BeautifulSoup(str(parsed["text"]), "html.parser")
    tables = []
    for table in soup.find_all("table", class_="wikitable"):
        before = table.find_previous(["h2", "h3", "h4"])
        caption = table.find("caption")
        name = " / ".join(" ".join(part.get_text(" ").split()) for part in (before, caption) if part is not None)
        if heading.casefold() in name.casefold():
            tables.append(f"## {name or 'Table'}\n{markdown_of(str(table).encode(), suffix='.html')}")
    source = _address(language, str(parsed.get("title", title)))
    if not tables:
        return f"Source: {source}\n\nThe article has no such table."
    return f"Source: {source}\n\n{window(chr(10).join(tables), 0, what='the tables')}"


def _section(text: str, wanted: str) -> str:
    """A section with those inside it.

    Raises:
        ToolError: There is none with such a heading.
    """
    found = list(_HEADING.finditer(text))
    name = wanted.strip().casefold()
    start = next((match for match in found if match.group(2).casefold() == name), None)
    if start is None:
        there = "; ".join(match.group(2) for match in found) or "none"
        raise ToolError(f"the article has no section {wanted!r}; its sections: {there[:2000]}")
    after = (other for other in found if other.start() > start.start() and len(other.group(1)) <= len(start.group(1)))
    end = next(after, None)
    return text[start.start() : end.start() if end else len(text)].strip()


def _api(language: str, asked: dict[str, Any]) -> dict[str, Any]:
    if not _LANGUAGE.fullmatch(language):
        raise ToolError(f"{language!r} is no code of a language; give one such as en or de")
    address = os.environ.get("CAPTAIN_WIKIPEDIA_URL") or f"https://{language}.wikipedia.org/w/api.php"
    page = get(address, query={"format": "json", "formatversion": 2, **asked})
    try:
        data = json.loads(page.text())
    except ValueError as error:
        raise ToolError("Wikipedia gave an answer that cannot be read; try later") from error
    if not isinstance(data, dict):
        raise ToolError("Wikipedia gave an answer that cannot be read; try later")
    failure = data.get("error")
    if failure and failure.get("code") != "missingtitle":
        raise ToolError(f"Wikipedia answers: {failure.get('info', 'an error')}")
    return data


def _address(language: str, title: str) -> str:
    from urllib.parse import quote

    return f"https://{language}.wikipedia.org/wiki/{quote(title.replace(' ', '_'))}"


def _plain(text: str) -> str:
    import html

    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())
