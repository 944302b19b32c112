"""Images are taken out of PDFs, read and asked about; the programs and models behind it stand in."""

from __future__ import annotations

import base64
import io
import json
import os
import runpy
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from captain.errors import ToolError
from captain.tools import spec_of
from tools_library import images

pdf = runpy.run_path(str(Path(__file__).parent / "test_documents.py"))["pdf"]
_RED = "q 100 0 0 50 72 600 cm BI /W 2 /H 1 /CS /RGB /BPC 8 /F /AHx ID FF0000 0000FF> EI Q"


@pytest.fixture
def figures(workspace: Path) -> str:
    """A PDF with an image on its second page only."""
    (workspace / "f.pdf").write_bytes(pdf("BT /F1 12 Tf 72 720 Td (Only words) Tj ET", _RED))
    return "f.pdf"


def test_images_of_a_page_are_saved(figures: str, workspace: Path) -> None:
    assert images.extract_pdf_images(figures, 1) == "there is no image on page 1"
    assert not (workspace / "images").exists()
    assert images.extract_pdf_images(figures, 2) == "images/f-page2-1.png (2 x 1 pixels)"
    with Image.open(workspace / "images" / "f-page2-1.png") as image:
        assert [image.convert("RGB").getpixel((x, 0)) for x in (0, 1)] == [(255, 0, 0), (0, 0, 255)]


def test_pages_are_counted_from_1(figures: str) -> None:
    for page in (0, 3, -1):
        with pytest.raises(ToolError, match="the PDF has pages 1 to 2"):
            images.extract_pdf_images(figures, page)


def test_what_has_no_images(figures: str, workspace: Path) -> None:
    (workspace / "no.pdf").write_text("no PDF")
    for path, folder, problem in [
        ("no.pdf", "x", "cannot be opened as a PDF"),
        ("none.pdf", "x", "no file"),
        (figures, "..", "outside"),
    ]:
        with pytest.raises(ToolError, match=problem):
            images.extract_pdf_images(path, 1, folder)


@pytest.fixture
def reading(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a program in place of the one that reads; it keeps what it was given in this folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "tesseract"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {folder}/arguments\ncat > {folder}/picture\n'
        'case "$4" in xyz) echo "no such language" >&2; exit 1;; slow) exec sleep 9;; esac\n'
        "printf ' Total\\n\\n  42  \\n\\f'\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    Image.new("L", (30, 20), 255).save(workspace / "a.gif")
    return folder


def test_the_text_of_an_image(reading: Path) -> None:
    assert images.read_image_text("a.gif", "eng+deu") == "Total\n42"
    assert (reading / "arguments").read_text() == "stdin stdout -l eng+deu\n"
    with Image.open(reading / "picture") as given:
        assert (given.format, given.size) == ("PNG", (30, 20))


def test_the_text_of_a_scanned_page(reading: Path, figures: str) -> None:
    assert images.read_image_text(figures, page=2) == "Total\n42"
    with Image.open(reading / "picture") as given:
        assert given.size == (1700, 2200)  # letter paper with 200 dots an inch
    with pytest.raises(ToolError, match="the PDF has pages 1 to 2"):
        images.read_image_text(figures, page=3)


def test_what_cannot_be_read(reading: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "list.png").write_text("../secret.txt\n/etc/passwd\n")
    for path, language, problem in [
        ("a.gif", "xyz", "cannot be read: no such language"),
        ("a.gif", "--help", "no code of a language"),
        ("a.gif", "eng --psm 0", "no code of a language"),
        ("list.png", "eng", "no image that can be read"),
        ("none.png", "eng", "no file"),
        ("../secret.txt", "eng", "outside"),
    ]:
        with pytest.raises(ToolError, match=problem):
            images.read_image_text(path, language)
    monkeypatch.setattr(images, "_SECONDS", 0.2)
    with pytest.raises(ToolError, match="stopped after 0.2 s"):
        images.read_image_text("a.gif", "slow")
    monkeypatch.setattr(images, "_MOST_PIXELS", 599)
    with pytest.raises(ToolError, match="million pixels"):
        images.read_image_text("a.gif")


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="the program tesseract is not installed")
def test_letters_are_really_read(workspace: Path) -> None:
    image = Image.new("RGB", (600, 120), "white")
    ImageDraw.Draw(image).text((20, 30), "Invoice 2718", fill="black", font_size=60)
    image.save(workspace / "scan.png")
    assert images.read_image_text("scan.png") == "Invoice 2718"


def test_reading_is_not_offered_without_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert spec_of(images.read_image_text).missing() == ["program 'tesseract' is not installed"]


@pytest.fixture
def seeing(site: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CAPTAIN_VISION_URL", f"{site.address}/v1")
    monkeypatch.setenv("CAPTAIN_VISION_MODEL", "eyes")
    monkeypatch.setenv("CAPTAIN_VISION_API_KEY", "test-key")
    Image.new("RGB", (3200, 800), "white").save(workspace / "chart.png")
    return site


def _says(text: str | None) -> str:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "eyes", "choices": [choice]})


def test_a_question_about_an_image(seeing: Any) -> None:
    seeing.has("/v1/chat/completions", _says("The left bar."), kind="application/json")
    assert images.ask_image("chart.png", "Which bar is the tallest?") == "The left bar."
    (body,) = map(json.loads, seeing.posted)
    words, picture = body["messages"][0]["content"]
    assert (body["model"], words["text"]) == ("eyes", "Which bar is the tallest?")
    kind, _, content = picture["image_url"]["url"].partition(",")
    with Image.open(io.BytesIO(base64.b64decode(content))) as given:
        assert (kind, given.size) == ("data:image/png;base64", (1600, 400))
    assert seeing.asked[0][2]["authorization"] == "Bearer test-key"


def test_a_model_that_does_not_answer(seeing: Any) -> None:
    seeing.has("/v1/chat/completions", _says(None), kind="application/json")
    with pytest.raises(ToolError, match="no answer"):
        images.ask_image("chart.png", "What?")
    seeing.has("/v1/chat/completions", '{"error": {"message": "wrong key test-key"}}', status=401)
    with pytest.raises(ToolError, match="answers 401") as failure:
        images.ask_image("chart.png", "What?")
    assert "test-key" not in str(failure.value)
    with pytest.raises(ToolError, match="question is empty"):
        images.ask_image("chart.png", " ")


def test_seeing_is_offered_where_a_model_is_named(seeing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spec_of(images.ask_image).missing() == []
    monkeypatch.delenv("CAPTAIN_VISION_MODEL")
    assert spec_of(images.ask_image).missing() == ["environment variable 'CAPTAIN_VISION_MODEL' is not set"]
