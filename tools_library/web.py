"""Tools that search the web and read its pages; what they return was written by others."""

from __future__ import annotations

import json
import os
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from captain import ToolError, tool
from captain.tools import resolve_path
from tools_library.addresses import Page, get
from tools_library.conversion import markdown_of, window

_SEARCH = "https://api.search.brave.com/res/v1/web/search"
_MOST_HITS = 20
_DESCRIBING = ("description", "content", "snippet")
"""What services call the passage that belongs to a result."""
_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/epub+zip": ".epub",
}
_ENDINGS = frozenset({*_SUFFIXES.values(), ".htm", ".xhtml"})


@tool(needs_packages=("markitdown",), network=True)
def fetch_page(url: str, start: int = 0) -> str:
    """Fetch a web page or an online document (HTML, PDF, DOCX ...) and read it as Markdown, with its address to cite.

    Args:
        url: Address of the page, beginning with http:// or https://.
        start: First character to read, from 0; the end of a part says where the next begins.

    Returns:
        The address in the end, after redirects, and up to 12,000 characters of the page with whole links.

    Raises:
        ToolError: The address is wrong, private or out of reach, or its kind cannot be read.
    """
    page = get(url)
    return f"Source: {page.address}\n\n{window(_readable(page), start, what='the page')}"


@tool(needs_env=("BRAVE_API_KEY",), network=True)
def web_search(query: str, count: int = 5) -> str:
    """Search the web and get titles, addresses and short descriptions of the best results.

    Args:
        query: What to look for, as one would type it into a search engine.
        count: How many results, 1 to 20.

    Returns:
        For each result its title, address and description.

    Raises:
        ToolError: The service cannot be reached, refuses the key, or answers with nonsense.
    """
    if not query.strip():
        raise ToolError("the query is empty; say what to look for")
    headers = {"X-Subscription-Token": os.environ["BRAVE_API_KEY"], "Accept": "application/json"}
    address = os.environ.get("CAPTAIN_SEARCH_URL") or _SEARCH
    page = get(address, query={"q": query, "count": max(1, min(count, _MOST_HITS))}, headers=headers)
    found = _results(page)[:_MOST_HITS]
    lines = [
        f"{number}. {_plain(hit.get('title'))}\n   {hit.get('url')}\n   {_plain(_description(hit))}"
        for number, hit in enumerate(found, start=1)
    ]
    return "\n".join(lines) if lines else f"nothing was found for {query!r}"


@tool(network=True)
def download_file(url: str, save_as: str) -> str:
    """Download a file (data set, PDF, image, archive ...) from the web into the workspace, unchanged.

    Args:
        url: Address of the file, beginning with http:// or https://.
        save_as: The new file in the workspace; its ending tells other tools what it is.

    Returns:
        The address in the end, after redirects, what kind of file it is, and its size.

    Raises:
        ToolError: The address is wrong, private or out of reach, the file is larger than 50 MB, or save_as is there
            already or cannot be written.
    """
    file = resolve_path(save_as)
    if file.exists():
        raise ToolError(f"{save_as!r} is there already; give another name")
    page = get(url)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page.content)
    except OSError as error:
        raise ToolError(f"cannot write {save_as!r}: {error.strerror or error}") from error
    return f"Source: {page.address}\n{len(page.content)} bytes of {page.kind or 'unknown kind'} saved as {save_as}"


def _readable(page: Page) -> str:
    suffix = _SUFFIXES.get(page.kind, "")
    if not suffix and not page.kind.startswith("text/"):
        suffix = PurePosixPath(urlsplit(page.address).path).suffix.lower()
    if suffix in _ENDINGS:
        return markdown_of(page.content, suffix=suffix, address=page.address, charset=page.encoding)
    if page.kind.startswith("text/") or page.kind in ("application/json", "application/xml", ""):
        return page.text()
    raise ToolError(f"{page.address} is of the kind {page.kind!r}, which cannot be read as text")


def _results(page: Page) -> list[dict[str, Any]]:
    try:
        data = json.loads(page.text())
        found = (data.get("web") or data).get("results", [])
        return [hit for hit in found if isinstance(hit, dict) and hit.get("url")]
    except (ValueError, TypeError, AttributeError) as error:
        raise ToolError("the search service gave an answer that cannot be read; try later") from error


def _description(hit: dict[str, Any]) -> Any:
    return next(filter(None, map(hit.get, _DESCRIBING)), "")


def _plain(text: Any) -> str:
    """Text without the marks that search services put round the words that were found."""
    import html
    import re

    return " ".join(html.unescape(re.sub(r"</?\w+>", "", str(text or ""))).split())
