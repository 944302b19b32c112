"""Documents of all kinds as Markdown, by MarkItDown's converters."""

from __future__ import annotations

import io
import re
import zipfile
from urllib.parse import urljoin

from captain.errors import ToolError

MOST_CHARACTERS = 12_000
_MOST_UNPACKED = 300_000_000
_CONVERTERS = {
    ".pdf": "PdfConverter",
    ".docx": "DocxConverter",
    ".xlsx": "XlsxConverter",
    ".pptx": "PptxConverter",
    ".epub": "EpubConverter",
    ".html": "HtmlConverter",
    ".htm": "HtmlConverter",
    ".xhtml": "HtmlConverter",
}
_PACKED = frozenset({".docx", ".xlsx", ".pptx", ".epub"})


def markdown_of(content: bytes, *, suffix: str, address: str = "", charset: str | None = None) -> str:
    """Convert a document.

    Its converter is chosen by the ending alone: those of other kinds would start programs or ask services.

    Args:
        content: Its bytes.
        suffix: The ending of its name, with the dot, which tells its kind.
        address: Where an HTML page came from; relative links are completed by it.
        charset: The character set of an HTML page, when it is known.

    Raises:
        ToolError: The document is damaged, unpacks to too much, or is of a kind that cannot be read.
    """
    if suffix not in _CONVERTERS:
        known = ", ".join(ending[1:].upper() for ending in _CONVERTERS)
        raise ToolError(f"a document of the kind {suffix or 'without an ending'!r} cannot be read; {known} can")
    from markitdown import StreamInfo, converters

    try:
        if suffix in _PACKED:
            _check_unpacked(content)
        if address and "HtmlConverter" == _CONVERTERS[suffix]:
            content, charset = _with_whole_links(content, address, charset), "utf-8"
        info = StreamInfo(extension=suffix, charset=charset)
        result = getattr(converters, _CONVERTERS[suffix])().convert(io.BytesIO(content), info)
    except ToolError:
        raise
    except Exception as error:  # converters of many formats raise what they like
        reason = (str(error).splitlines() or [""])[0][:200]
        raise ToolError(
            f"the document cannot be read as {suffix[1:].upper()} ({type(error).__name__}): {reason}"
        ) from error
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in str(result.markdown).splitlines())).strip()
    title = " ".join((result.title or "").split())
    return f"# {title}\n\n{text}" if title and not text.startswith("# ") else text


def _check_unpacked(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_UNPACKED:
            raise ToolError(f"the document unpacks to more than {_MOST_UNPACKED // 1_000_000} MB")


def _with_whole_links(content: bytes, address: str, charset: str | None) -> bytes:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(content, "html.parser", from_encoding=charset)
    start = soup.find("base", href=True)
    origin = urljoin(address, str(start["href"])) if start is not None else address
    for link in soup.find_all("a", href=True):
        link["href"] = urljoin(origin, str(link["href"]))
    return soup.encode("utf-8")


def window(text: str, start: int, *, what: str, length: int = MOST_CHARACTERS) -> str:
    """A part of a long text, with a line that says how to read on.

    Args:
        text: The whole.
        start: First character, from 0.
        what: What is read, for the messages.
        length: Characters at most.

    Raises:
        ToolError: `start` lies outside the text.
    """
    if not text:
        return f"({what} holds no text)"
    if not 0 <= start < len(text):
        raise ToolError(f"start={start} lies outside {what}, which has {len(text):,} characters")
    part = text[start : start + length]
    left = len(text) - start - len(part)
    return part if left <= 0 else f"{part}\n\n[{left:,} more characters; read on with start={start + len(part)}]"
