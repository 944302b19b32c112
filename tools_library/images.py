"""Images: those of PDFs, the text in them, and questions about them."""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import resolve_path, tool
from tools_library.conversion import window
from tools_library.endpoints import endpoint
from tools_library.pdf_pages import page_range
from tools_library.tables import existing_file

if TYPE_CHECKING:
    from PIL import Image

_MOST_BYTES = 50_000_000
_MOST_PIXELS = 50_000_000
_MOST_IMAGES = 50
_LONGEST_SIDE = 1_600
_SECONDS = 50.0
_DOTS_PER_INCH = 200
_LANGUAGE = re.compile(r"[A-Za-z_]{3,20}(\+[A-Za-z_]{3,20})*")


@tool(needs_packages=("pypdfium2", "PIL"))
def extract_pdf_images(path: str, page: int = 1, folder: str = "images") -> str:
    """Save the images and figures of a page of a PDF as PNG files in the workspace.

    Args:
        path: The PDF file.
        page: The page, counted from 1.
        folder: Where to put the images; it is made when absent.

    Returns:
        One image a line: its file and its size in pixels; or that there is none.

    Raises:
        ToolError: There is no such file or page, or it is no PDF.
    """
    target = resolve_path(folder)
    lines: list[str] = []
    with _PdfPage(path, page) as opened:
        for number, item in enumerate(_images_on(opened)[:_MOST_IMAGES], start=1):
            image = item.get_bitmap().to_pil()
            name = f"{Path(path).stem}-page{page}-{number}.png"
            target.mkdir(parents=True, exist_ok=True)
            image.save(target / name)
            lines.append(f"{folder.rstrip('/')}/{name} ({image.width} x {image.height} pixels)")
    return "\n".join(lines) or f"there is no image on page {page}"


@tool(needs_packages=("pypdfium2", "PIL"), needs_programs=("tesseract",), untrusted=True)
def read_image_text(path: str, language: str = "eng", page: int = 1) -> str:
    """Read the text in an image, screenshot, photo or scanned page of a PDF (optical character recognition, OCR).

    Args:
        path: The image (PNG, JPEG, TIFF, WebP, BMP, GIF) or the PDF.
        language: Code of the language in three letters, such as eng, deu, fra; several as eng+deu.
        page: Page of a PDF, counted from 1.

    Returns:
        The text, line by line; up to 12,000 characters.

    Raises:
        ToolError: There is no such file or page, it is no image, or the language is not installed.
    """
    if not _LANGUAGE.fullmatch(language):
        raise ToolError(f"{language!r} is no code of a language; give one such as eng or deu")
    picture = _png(_page_image(path, page) if path.lower().endswith(".pdf") else _image(path))
    command = ["tesseract", "stdin", "stdout", "-l", language]
    try:
        done = subprocess.run(
            command,
            input=picture,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"reading was stopped after {_SECONDS:g} s; give a smaller image") from error
    if done.returncode:
        raise ToolError(f"the text cannot be read: {done.stderr.decode(errors='replace').strip()[:300]}")
    lines = [line.strip() for line in done.stdout.decode("utf-8", errors="replace").splitlines()]
    return window("\n".join(line for line in lines if line), 0, what="the image")


@tool(needs_packages=("PIL",), needs_env=("CAPTAIN_VISION_URL", "CAPTAIN_VISION_MODEL"), network=True)
def ask_image(path: str, question: str) -> str:
    """Ask a question about an image, chart, diagram or photo: a model that sees describes it or answers.

    Args:
        path: The image (PNG, JPEG, WebP, BMP, GIF).
        question: What to find out, for example "Which bar is the tallest, and how tall?".

    Returns:
        The answer of the model, which may be wrong about small details.

    Raises:
        ToolError: There is no such image, or the model cannot be reached.
    """
    if not question.strip():
        raise ToolError("the question is empty; say what to find out about the image")
    image = _image(path)
    image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    address = f"data:image/png;base64,{base64.b64encode(_png(image)).decode()}"
    with endpoint("VISION") as client:
        reply = client.chat.completions.create(
            model=os.environ["CAPTAIN_VISION_MODEL"],
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": question},
                        {"type": "image_url", "image_url": {"url": address}},
                    ],
                }
            ],
        )
    answer = reply.choices[0].message.content if reply.choices else None
    if not answer:
        raise ToolError("the model gave no answer; ask in other words")
    return answer


class _PdfPage:
    """A page of a PDF file, open as long as the block runs."""

    def __init__(self, path: str, number: int) -> None:
        self._file, self._path, self._number = existing_file(path), path, number

    def __enter__(self) -> Any:
        import pypdfium2

        try:
            self._pdf = pypdfium2.PdfDocument(self._file)
        except pypdfium2.PdfiumError as error:
            raise ToolError(f"{self._path!r} cannot be opened as a PDF: {error}") from error
        try:
            (number,) = page_range(self._number, None, count=len(self._pdf))
            return self._pdf[number - 1]
        except BaseException:
            self._pdf.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._pdf.close()


def _images_on(page: Any) -> list[Any]:
    import pypdfium2.raw

    return list(page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]))


def _page_image(path: str, number: int) -> Image.Image:
    with _PdfPage(path, number) as page:
        scale = _DOTS_PER_INCH / 72
        if page.get_width() * page.get_height() * scale**2 > _MOST_PIXELS:
            raise ToolError(f"page {number} of {path!r} is too large to be drawn")
        return page.render(scale=scale).to_pil()  # type: ignore[no-any-return]  # the package has no types


def _image(path: str) -> Image.Image:
    from PIL import Image

    file = existing_file(path)
    if file.stat().st_size > _MOST_BYTES:
        raise ToolError(f"{path!r} is larger than {_MOST_BYTES // 1_000_000} MB")
    try:
        with Image.open(file) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise ToolError(f"{path!r} has more than {_MOST_PIXELS // 1_000_000} million pixels")
            return opened.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ToolError(f"{path!r} is no image that can be read: {error}") from error


def _png(image: Image.Image) -> bytes:
    """The image in the one form that is handed on: what others wrote into the file stays behind."""
    stream = io.BytesIO()
    image.save(stream, format="PNG")
    return stream.getvalue()
