"""Files of the workspace: list, read, compare, write."""

from __future__ import annotations

import fnmatch
import hashlib
import os
from pathlib import Path
from typing import Literal

from captain.errors import ToolError
from captain.tools import resolve_path, tool
from tools_library.tables import encoding_of, existing_file, is_binary
from tools_library.texts import compare_texts

MAX_LISTED = 200
MAX_LINES = 500
MAX_LINE_CHARS = 2000
MAX_WRITTEN_CHARS = 1_000_000


@tool
def list_files(folder: str = ".", pattern: str = "*") -> str:
    """List the files in a folder and its subfolders with their sizes.

    Hidden files and folders, and links to files, are left out.

    Args:
        folder: The folder; "." is the whole workspace.
        pattern: Only files whose name fits, for example "*.csv".

    Returns:
        One file a line with its size in bytes, at most 200, or "no files".

    Raises:
        ToolError: There is no such folder.
    """
    top = resolve_path(folder)
    if not top.is_dir():
        raise ToolError(f"there is no folder {folder!r}" + ("; it is a file" if top.is_file() else ""))
    lines: list[str] = []
    count = 0
    for root, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(root) / name
            if name.startswith(".") or file.is_symlink() or not fnmatch.fnmatch(name, pattern):
                continue
            count += 1
            if count <= MAX_LISTED:
                lines.append(f"{file.relative_to(top).as_posix()} ({file.stat().st_size} bytes)")
    if count > MAX_LISTED:
        lines.append(f"(and {count - MAX_LISTED} more files)")
    return "\n".join(lines) or "no files"


@tool
def read_text_file(path: str, first_line: int = 1, last_line: int = 200) -> str:
    """Read a range of lines of a text file, and learn how many lines it has.

    Args:
        path: The file.
        first_line: The first line to read; 1 is the first of the file.
        last_line: The last line to read; at most 500 lines are read at once.

    Returns:
        A line that says which lines these are and how many the file has, then the lines. Lines over 2000 characters are
        cut.

    Raises:
        ToolError: No such file, it is not a text file, or the lines do not exist.
    """
    file = existing_file(path)
    if first_line < 1 or last_line < first_line:
        raise ToolError(
            f"lines {first_line} to {last_line} make no range; first_line is 1 or more, last_line not smaller"
        )
    if is_binary(file):
        raise ToolError(f"{path!r} is not a text file")
    last = min(last_line, first_line + MAX_LINES - 1)
    lines: list[str] = []
    total = 0
    with file.open(encoding=encoding_of(file)) as stream:
        for total, line in enumerate(stream, 1):
            if first_line <= total <= last:
                text = line.rstrip("\n")
                lines.append(text if len(text) <= MAX_LINE_CHARS else f"{text[:MAX_LINE_CHARS]} … (cut)")
    if not total:
        return f"{path} is empty"
    if first_line > total:
        raise ToolError(f"{path!r} has only {total} lines; there is no line {first_line}")
    return "\n".join([f"lines {first_line} to {first_line + len(lines) - 1} of {total}:", *lines])


@tool
def compare_files(first: str, second: str) -> str:
    """Compare two text files line by line (diff), with their similarity from 0 to 1.

    Args:
        first: The older file.
        second: The newer file.

    Returns:
        The similarity, then the lines that went (-) and came (+).

    Raises:
        ToolError: No such file, it is not a text file, or it is too long.
    """
    texts = []
    for path in (first, second):
        file = existing_file(path)
        if is_binary(file):
            raise ToolError(f"{path!r} is not a text file; hash_file tells whether such files are equal")
        texts.append(file.read_text(encoding=encoding_of(file)))
    return compare_texts(*texts)


@tool
def hash_file(path: str, algorithm: Literal["sha256", "sha1", "md5", "sha512"] = "sha256") -> str:
    """Compute the checksum (hash) of a file of any kind, to verify a download or to see whether two files are equal.

    Args:
        path: The file.
        algorithm: The hash function.

    Returns:
        The digest in small hexadecimal letters.

    Raises:
        ToolError: No such file.
    """
    with existing_file(path).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


@tool
def write_text_file(path: str, text: str, append: bool = False) -> str:
    """Write a text to a file of the workspace, as UTF-8; folders on the way are made.

    An existing file is replaced unless append is true.

    Args:
        path: The file.
        text: All that the file shall hold, or what to add to it.
        append: true to add the text to the end of the file.

    Returns:
        What was written and how long the file is now.

    Raises:
        ToolError: The path is a folder or leads through a file, the text is too long, or the disk refuses.
    """
    file = resolve_path(path)
    if len(text) > MAX_WRITTEN_CHARS:
        raise ToolError(f"the text has {len(text)} characters; at most {MAX_WRITTEN_CHARS} can be written at once")
    existed = file.exists()
    if existed and not file.is_file():
        raise ToolError(f"{path!r} is a folder or a device; give the path of a file")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a" if append else "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except (OSError, UnicodeEncodeError) as error:
        raise ToolError(f"cannot write {path!r}: {getattr(error, 'strerror', None) or error}") from error
    done = "added to" if append and existed else "replaced" if existed else "written to"
    return f"{len(text)} characters {done} {path}; the file has {file.stat().st_size} bytes"
