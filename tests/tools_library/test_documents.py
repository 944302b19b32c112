"""Documents that were really written, read back."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import conversion, documents

_ACROSS = " ".join(f"72 {y} m 272 {y} l" for y in (700, 680, 660))
_DOWN = " ".join(f"{x} 700 m {x} 660 l" for x in (72, 172, 272))
_GRID = f"{_ACROSS} {_DOWN} S"


def _shown(text: str, x: int, y: int) -> str:
    return f"BT /F1 12 Tf {x} {y} Td ({text}) Tj ET"


def pdf(*pages: str) -> bytes:
    """A PDF whose pages hold these drawing commands."""
    numbers = [4 + 2 * index for index in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, content in zip(numbers, pages, strict=True):
        box = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} /Contents {number + 1} 0 R >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    written, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return f"{written}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def docx(*paragraphs: tuple[str, str]) -> dict[str, str]:
    """The parts of a Word document; each paragraph has a style and a text."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    packages = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    cells = "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in ("tea", "3"))
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return {
        "[Content_Types].xml": f'<Types xmlns="{packages}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{packages}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/styles.xml": f'<w:styles xmlns:w="{word}"><w:style w:type="paragraph" w:styleId="Heading1">'
        '<w:name w:val="heading 1"/></w:style></w:styles>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{packages}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}<w:tbl><w:tr>{cells}</w:tr></w:tbl></w:body>'
        "</w:document>",
    }


def packed(place: Path, parts: dict[str, str]) -> None:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


@pytest.fixture
def two_pages(workspace: Path) -> str:
    table = [
        _shown(text, x, y) for text, x, y in [("item", 80, 686), ("a|b", 80, 666), ("price", 180, 686), ("7", 180, 666)]
    ]
    content = pdf(_shown("The first page", 72, 720), "\n".join([_GRID, *table, _shown("The second page", 72, 740)]))
    (workspace / "two.pdf").write_bytes(content)
    return "two.pdf"


def test_pages_of_a_pdf_are_counted_from_one(two_pages: str) -> None:
    assert documents.read_pdf_pages(two_pages) == "--- page 1 of 2 ---\nThe first page"
    assert documents.read_pdf_pages(two_pages, 2).startswith("--- page 2 of 2 ---\nThe second page\n")
    both = documents.read_pdf_pages(two_pages, 1, 2)
    assert both.index("The first page") < both.index("--- page 2 of 2 ---") < both.index("The second page")
    for first, last in [(0, 1), (1, 3), (3, None), (2, 1)]:
        with pytest.raises(ToolError, match="the PDF has pages 1 to 2"):
            documents.read_pdf_pages(two_pages, first, last)


def test_tables_of_a_pdf(two_pages: str) -> None:
    expected = "--- table 1 on page 2 ---\n| item | price |\n| --- | --- |\n| a\\|b | 7 |"
    assert documents.read_pdf_tables(two_pages, 1, 2) == expected
    assert documents.read_pdf_tables(two_pages) == "there is no table on these pages"


def test_a_page_without_text_says_so(workspace: Path) -> None:
    (workspace / "scan.pdf").write_bytes(pdf(""))
    assert "(no text on this page; it may be an image)" in documents.read_pdf_pages("scan.pdf")
    assert documents.read_document("scan.pdf") == "(scan.pdf holds no text)"


def test_a_pdf_as_a_document(two_pages: str) -> None:
    text = documents.read_document(two_pages)
    assert "The first page" in text and "The second page" in text


def test_a_word_document(workspace: Path) -> None:
    packed(workspace / "a.docx", docx(("Heading1", "Report"), ("", "Größe matters.")))
    text = documents.read_document("a.docx")
    assert text.startswith("# Report\n\nGröße matters.\n")
    assert "| tea | 3 |" in text


def test_a_workbook(workspace: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in [("town", "people"), ("Graz", 300)]:
        sheet.append(row)
    sheet.title = "Towns"
    book.create_sheet("Empty")
    book.save(workspace / "a.xlsx")
    text = documents.read_document("a.xlsx")
    assert "## Towns\n| town | people |\n| --- | --- |\n| Graz | 300 |" in text and "## Empty" in text


def test_slides(workspace: Path) -> None:
    from pptx import Presentation

    slides = Presentation()
    for title in ("Plan", "Costs"):
        slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = title
    slides.save(str(workspace / "a.PPTX"))
    text = documents.read_document("a.PPTX")
    assert text.index("# Plan") < text.index("# Costs")


def test_a_page_of_the_web_that_was_saved(workspace: Path) -> None:
    page = (
        "<html><head><title>A  list</title><script>no()</script></head><body><p>Of <a href='b'>it</a></p></body></html>"
    )
    (workspace / "a.html").write_text(page)
    assert documents.read_document("a.html") == "# A list\n\nOf [it](b)"


def test_a_long_document_is_read_in_parts(workspace: Path) -> None:
    (workspace / "long.htm").write_text("<p>" + "x" * 30_000 + "</p>")
    parts, start = "", 0
    for left in ("18,000", "6,000", None):
        text, _, note = documents.read_document("long.htm", start).partition("\n\n")
        parts, start = parts + text, start + len(text)
        assert note == (f"[{left} more characters; read on with start={start}]" if left else "")
    assert parts == "x" * 30_000
    for start in (-1, 30_000):
        with pytest.raises(ToolError, match="has 30,000 characters"):
            documents.read_document("long.htm", start)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.pdf", b"%PDF-1.4\nnothing more", "cannot be read as PDF"),
        ("a.docx", b"PK\3\4 damaged", "cannot be read as DOCX"),
        ("a.xlsx", b"", "cannot be read as XLSX"),
        ("a.pptx", pdf(""), "cannot be read as PPTX"),
        ("a.mp3", b"ID3", "'.mp3' cannot be read; PDF, DOCX"),
        ("plain", b"text", "'without an ending' cannot be read"),
    ],
)
def test_damaged_documents_and_other_kinds(workspace: Path, name: str, content: bytes, problem: str) -> None:
    (workspace / name).write_bytes(content)
    with pytest.raises(ToolError, match=problem):
        documents.read_document(name)


@pytest.mark.parametrize("read", [documents.read_document, documents.read_pdf_pages, documents.read_pdf_tables])
def test_what_cannot_be_opened(workspace: Path, read: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "a.pdf").write_bytes(b"this is no PDF at all")
    for path, problem in [("none.pdf", "no file"), (".", "no file"), ("../secret.txt", "outside"), ("a.pdf", "PDF")]:
        with pytest.raises(ToolError, match=problem):
            read(path)
    monkeypatch.setattr(documents, "_MOST_BYTES", 10)
    with pytest.raises(ToolError, match="larger than"):
        read("a.pdf")


def test_a_document_that_unpacks_to_too_much(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed(workspace / "a.docx", docx(("", "x" * 5000)))
    monkeypatch.setattr(conversion, "_MOST_UNPACKED", 4000)
    with pytest.raises(ToolError, match="unpacks to more than"):
        documents.read_document("a.docx")


def test_documents_are_others_words() -> None:
    from captain.tools import spec_of

    tools = (documents.read_document, documents.read_pdf_pages, documents.read_pdf_tables)
    assert all(spec_of(tool).needs.untrusted for tool in tools)
