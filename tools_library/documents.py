"""Tools that read documents: PDF, Word, Excel, PowerPoint, HTML and more."""

from __future__ import annotations

from pathlib import Path

from captain import ToolError, tool
from captain.tools import resolve_path
from tools_library.conversion import markdown_of, window
from tools_library.pdf_pages import open_pdf, page_range, page_texts

_MOST_BYTES = 100_000_000


@tool(needs_packages=("markitdown",), untrusted=True)
def read_document(path: str, start: int = 0) -> str:
    """Read a document as Markdown text: PDF, Word (DOCX), Excel (XLSX), PowerPoint (PPTX), HTML or EPUB.

    Tables, headings and lists are kept. A long document is read in parts.

    Args:
        path: The document's file.
        start: First character to read, from 0; the end of a part says where the next begins.

    Returns:
        Up to 12,000 characters of the document, and how to read on.

    Raises:
        ToolError: There is no such file, it is damaged, or of another kind.
    """
    file = _existing(path)
    return window(markdown_of(file.read_bytes(), suffix=file.suffix.lower()), start, what=file.name)


@tool(needs_packages=("pdfplumber",), untrusted=True)
def read_pdf_pages(path: str, first_page: int = 1, last_page: int | None = None) -> str:
    """Read the text of some pages of a PDF, page by page, and learn how many pages it has.

    Args:
        path: The PDF file.
        first_page: First page, counted from 1.
        last_page: Last page; the first page alone when absent.

    Returns:
        The text of each page below its number and the number of pages.

    Raises:
        ToolError: There is no such file or page, or it is no PDF.
    """
    with open_pdf(_existing(path), name=path) as pdf:
        text = page_texts(pdf, first_page, last_page)
    return window(text, 0, what="these pages", length=30_000)


@tool(needs_packages=("pdfplumber",), untrusted=True)
def read_pdf_tables(path: str, first_page: int = 1, last_page: int | None = None) -> str:
    """Extract the tables of some pages of a PDF as Markdown tables.

    Args:
        path: The PDF file.
        first_page: First page, counted from 1.
        last_page: Last page; the first page alone when absent.

    Returns:
        Each table below its number and page.

    Raises:
        ToolError: There is no such file or page, or it is no PDF.
    """
    with open_pdf(_existing(path), name=path) as pdf:
        found = [
            f"--- table {count} on page {number} ---\n{_markdown_table(rows)}"
            for number in page_range(first_page, last_page, count=len(pdf.pages))
            for count, rows in enumerate(pdf.pages[number - 1].extract_tables(), start=1)
        ]
    return "\n\n".join(found) if found else "there is no table on these pages"


def _existing(path: str) -> Path:
    file = resolve_path(path)
    if not file.is_file():
        raise ToolError(f"there is no file {path!r}; list_files shows what there is")
    if file.stat().st_size > _MOST_BYTES:
        raise ToolError(f"{path!r} is larger than {_MOST_BYTES // 1_000_000} MB")
    return file


def _markdown_table(rows: list[list[str | None]]) -> str:
    cells = [[" ".join((cell or "").split()).replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * len(cells[0]), *lines[1:]])
