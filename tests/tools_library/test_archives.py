"""ZIP archives are listed and unpacked, and nothing leaves the folder."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import archives


def packed(path: Path, **files: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.fixture
def archive(workspace: Path) -> str:
    packed(workspace / "a.zip", **{"data/a.csv": "x,y\n1,2\n", "data/deep/b.csv": "z\n", "read.me": "Größe"})
    return "a.zip"


def test_files_are_listed(archive: str) -> None:
    assert archives.list_archive(archive).splitlines() == [
        "3 files, 17 bytes",
        "data/a.csv (8 bytes)",
        "data/deep/b.csv (2 bytes)",
        "read.me (7 bytes)",
    ]


def test_all_or_some_are_unpacked(archive: str, workspace: Path) -> None:
    assert archives.extract_archive(archive, "tables", "*.csv").splitlines() == [
        "2 files written",
        "tables/data/a.csv",
        "tables/data/deep/b.csv",
    ]
    assert (workspace / "tables" / "data" / "a.csv").read_text() == "x,y\n1,2\n"
    assert not (workspace / "tables" / "read.me").exists()
    assert archives.extract_archive(archive, ".", "read*") == "1 files written\n./read.me"
    assert (workspace / "read.me").read_text(encoding="utf-8") == "Größe"


@pytest.mark.parametrize("name", ["../out.txt", "a/../../out.txt", "/tmp/out-of-it.txt", "..\\out.txt"])
def test_nothing_lands_outside(workspace: Path, name: str) -> None:
    packed(workspace / "evil.zip", good="1", **{name: "bad"})
    with pytest.raises(ToolError, match="would land outside"):
        archives.extract_archive("evil.zip", "in")
    assert not (workspace / "in").exists() and not (workspace.parent / "out.txt").exists()


def test_a_link_is_not_made_and_not_followed(workspace: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(workspace / "l.zip", "w") as archive:
        archive.writestr(link, "../secret.txt")
        archive.writestr("file", "x")
    assert archives.extract_archive("l.zip", "in") == "1 files written\nin/file"
    assert not (workspace / "in" / "link").exists()
    (workspace / "way").symlink_to(workspace.parent)
    with pytest.raises(ToolError, match="outside the workspace"):
        archives.extract_archive("l.zip", "way")
    (workspace / "in2").mkdir()
    (workspace / "in2" / "file").symlink_to(workspace.parent / "secret.txt")
    with pytest.raises(ToolError, match="would land outside"):
        archives.extract_archive("l.zip", "in2")
    assert (workspace.parent / "secret.txt").read_text() == "outside"


def test_nothing_is_replaced(archive: str, workspace: Path) -> None:
    (workspace / "read.me").write_text("mine")
    with pytest.raises(ToolError, match="is there already"):
        archives.extract_archive(archive, ".")
    assert (workspace / "read.me").read_text() == "mine" and not (workspace / "data").exists()


def test_too_much_is_refused(archive: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_BYTES", 16)
    with pytest.raises(ToolError, match="holds more than"):
        archives.extract_archive(archive, "in")
    assert archives.extract_archive(archive, "in", "*.csv").startswith("2 files")
    monkeypatch.setattr(archives, "_MOST_FILES", 1)
    with pytest.raises(ToolError, match="take a part of it with pattern"):
        archives.extract_archive(archive, "in2", "*.csv")


def test_damaged_archives(archive: str, workspace: Path) -> None:
    content = bytearray((workspace / archive).read_bytes())
    content[content.index(b"data/a.csv") + 12] ^= 0xFF
    (workspace / "bad.zip").write_bytes(content)
    with pytest.raises(ToolError, match="cannot be unpacked"):
        archives.extract_archive("bad.zip", "in", "data/a.csv")
    (workspace / "plain.zip").write_text("no archive")
    for call in (lambda: archives.list_archive("plain.zip"), lambda: archives.extract_archive("plain.zip", "in")):
        with pytest.raises(ToolError, match="is no ZIP archive"):
            call()
    with pytest.raises(ToolError, match="no file"):
        archives.list_archive("none.zip")
