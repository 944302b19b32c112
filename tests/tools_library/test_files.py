from __future__ import annotations

import os
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import files


def test_files_are_listed_with_sizes(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "a.csv").write_text("12345")
    (workspace / "sub" / "b.txt").write_text("1")
    (workspace / ".key").write_text("1")
    os.symlink(workspace.parent / "secret.txt", workspace / "link.txt")
    assert files.list_files() == "a.csv (5 bytes)\nsub/b.txt (1 bytes)"
    assert files.list_files("sub") == "b.txt (1 bytes)"
    assert files.list_files(pattern="*.csv") == "a.csv (5 bytes)"
    assert files.list_files(pattern="*.pdf") == "no files"
    with pytest.raises(ToolError, match="it is a file"):
        files.list_files("a.csv")
    with pytest.raises(ToolError, match="outside"):
        files.list_files("/")


def test_a_long_listing_is_cut(workspace: Path) -> None:
    for number in range(files.MAX_LISTED + 3):
        (workspace / f"{number}.txt").touch()
    assert files.list_files().endswith("(and 3 more files)")


def test_lines_are_read_by_range(workspace: Path) -> None:
    (workspace / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    assert files.read_text_file("a.txt", 2, 3) == "lines 2 to 3 of 1000:\nline 2\nline 3"
    assert files.read_text_file("a.txt", 999, 5000) == "lines 999 to 1000 of 1000:\nline 999\nline 1000"
    assert files.read_text_file("a.txt", 1, 1000).startswith("lines 1 to 500 of 1000")
    for first, last, problem in [(0, 5, "no range"), (5, 2, "no range"), (1001, 1002, "only 1000 lines")]:
        with pytest.raises(ToolError, match=problem):
            files.read_text_file("a.txt", first, last)


def test_odd_files(workspace: Path) -> None:
    (workspace / "empty.txt").touch()
    (workspace / "old.txt").write_bytes("café\r\n".encode("latin-1"))
    (workspace / "long.txt").write_text("x" * 5000)
    (workspace / "image.png").write_bytes(b"\x89PNG\0\0")
    assert files.read_text_file("empty.txt") == "empty.txt is empty"
    assert files.read_text_file("old.txt").endswith("café")
    assert len(files.read_text_file("long.txt")) < 2100
    for path, problem in [("image.png", "not a text"), ("long.tx", "did you mean 'long.txt'"), (".", "is a folder")]:
        with pytest.raises(ToolError, match=problem):
            files.read_text_file(path)


def test_text_is_written_appended_and_replaced(workspace: Path) -> None:
    assert "written to" in files.write_text_file("new/report.txt", "Größe\n")
    assert "added to" in files.write_text_file("new/report.txt", "two", append=True)
    assert (workspace / "new" / "report.txt").read_bytes() == "Größe\ntwo".encode()
    assert files.write_text_file("new/report.txt", "x").endswith("replaced new/report.txt; the file has 1 bytes")
    assert files.read_text_file("new/report.txt").endswith("\nx")


def test_files_are_compared(workspace: Path) -> None:
    (workspace / "a.txt").write_text("a\nb\nc\nd\n")
    (workspace / "b.txt").write_text("a\nB\nc\nd\n")
    shown = files.compare_files("a.txt", "b.txt").splitlines()
    assert shown[0] == "similarity 0.750" and "-b" in shown and "+B" in shown
    assert files.compare_files("a.txt", "a.txt").endswith("the texts are equal")
    (workspace / "c.bin").write_bytes(b"\0")
    for second, problem in [("c.bin", "not a text file; hash_file"), ("../secret.txt", "outside"), ("d", "no file")]:
        with pytest.raises(ToolError, match=problem):
            files.compare_files("a.txt", second)


def test_checksums_of_files(workspace: Path) -> None:
    (workspace / "a").write_bytes(b"abc")
    assert files.hash_file("a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.hash_file("a", "md5") == "900150983cd24fb0d6963f7d28e17f72"
    with pytest.raises(ToolError, match="no file"):
        files.hash_file("b")


def test_what_may_not_be_written(workspace: Path) -> None:
    os.symlink(workspace.parent, workspace / "out")
    files.write_text_file("plain", "x")
    for path, text, problem in [
        ("../secret.txt", "x", "outside"),
        ("out/secret.txt", "x", "outside"),
        (".", "x", "folder"),
        ("plain/below", "x", "cannot write"),
        ("big.txt", "x" * (files.MAX_WRITTEN_CHARS + 1), "at most"),
    ]:
        with pytest.raises(ToolError, match=problem):
            files.write_text_file(path, text)
    assert (workspace.parent / "secret.txt").read_text() == "outside"
    assert not (workspace / "big.txt").exists()
