"""Documents of all kinds as Markdown, by MarkItDown."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from captain.errors import ToolError

MOST_CHARACTERS = 12_000


def markdown_of(content: bytes, *, suffix: str, address: str | None = None) -> str:
    """Convert a document.

    Args:
        content: Its bytes.
        suffix: The ending of its name, with the dot, which tells its kind.
        address: Where it came from, so that links can be completed.

    Raises:
        ToolError: The document is damaged or of a kind that cannot be read.
    """
    from markitdown import MarkItDown, StreamInfo

    converter = MarkItDown(enable_plugins=False)
    try:
        result = converter.convert_stream(io.BytesIO(content), stream_info=StreamInfo(extension=suffix, url=address))
    except Exception as error:  # converters of many formats raise what they like
        kind = suffix or "this kind"
        raise ToolError(f"the document cannot be read as {kind}: {str(error).splitlines()[0][:200]}") from error
    title = getattr(result, "title", None)
    text = str(result.text_content).strip()
    return f"# {title}\n\n{text}" if title and not text.startswith("#") else text


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


def open_pdf(path: Path) -> Any:
    """Open a PDF; use it as a context manager.

    Raises:
        ToolError: It is no PDF, damaged, or locked.
    """
    import pdfplumber

    try:
        return pdfplumber.open(path)
    except Exception as error:  # the parser raises what it likes
        raise ToolError(f"{path.name} cannot be opened as a PDF: {type(error).__name__}: {error}") from error
