"""Pages of PDFs, counted from 1."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from captain.errors import ToolError


def open_pdf(source: Path | bytes, *, name: str) -> Any:
    """Open a PDF with pdfplumber; use it as a context manager.

    Args:
        source: Its file or its bytes.
        name: What messages call it.

    Raises:
        ToolError: It is no PDF, damaged, or locked.
    """
    import pdfplumber

    try:
        return pdfplumber.open(source if isinstance(source, Path) else io.BytesIO(source))
    except Exception as error:  # the parser raises what it likes
        raise ToolError(f"{name} cannot be opened as a PDF: {type(error).__name__}: {error}") from error


def page_range(first: int, last: int | None, *, count: int) -> range:
    """The numbers of some pages.

    Args:
        first: First page, counted from 1.
        last: Last page; the first page alone when absent.
        count: How many pages there are.

    Raises:
        ToolError: A page is not there.
    """
    end = first if last is None else last
    if not 1 <= first <= end <= count:
        raise ToolError(f"pages {first} to {end} are not all there: the PDF has pages 1 to {count}")
    return range(first, end + 1)


def page_texts(pdf: Any, first: int, last: int | None) -> str:
    """The text of some pages of an open PDF, each below its number.

    Raises:
        ToolError: A page is not there.
    """
    numbers = page_range(first, last, count=len(pdf.pages))
    return "\n\n".join(
        f"--- page {number} of {len(pdf.pages)} ---\n{_text(pdf.pages[number - 1])}" for number in numbers
    )


def _text(page: Any) -> str:
    return str(page.extract_text() or "").strip() or "(no text on this page; it may be an image)"
