"""ZIP archives: what they hold, and taking it out safely."""

from __future__ import annotations

import fnmatch
import shutil
import stat
import zipfile
import zlib
from pathlib import Path

from captain.errors import ToolError
from captain.tools import resolve_path, tool
from tools_library.tables import existing_file

_MOST_BYTES = 200_000_000
_MOST_FILES = 2_000
_MOST_LISTED = 200


@tool
def list_archive(path: str) -> str:
    """List the files in a ZIP archive with their sizes, without unpacking it.

    Args:
        path: The archive.

    Returns:
        How many files it holds and one file a line with its size in bytes, at most 200.

    Raises:
        ToolError: No such file, or it is no ZIP archive.
    """
    with _opened(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    lines = [f"{entry.filename} ({entry.file_size} bytes)" for entry in entries[:_MOST_LISTED]]
    more = [f"(and {len(entries) - len(lines)} more files)"] if len(entries) > len(lines) else []
    return "\n".join([f"{len(entries)} files, {sum(entry.file_size for entry in entries)} bytes", *lines, *more])


@tool
def extract_archive(path: str, folder: str, pattern: str = "*") -> str:
    """Unpack a ZIP archive, or some files of it, into a folder of the workspace.

    Links are left out, and no file is written outside of the folder or over another one.

    Args:
        path: The archive.
        folder: Where to put the files; it is made when absent.
        pattern: Only files whose path in the archive fits, for example "*.csv".

    Returns:
        How many files were written, and their paths.

    Raises:
        ToolError: No such file, it is no ZIP archive or damaged or locked, it holds too much, or a file of it would
            land outside of the folder or on another file.
    """
    with _opened(path) as archive:
        entries = [
            entry
            for entry in archive.infolist()
            if not entry.is_dir() and not _is_link(entry) and fnmatch.fnmatch(entry.filename, pattern)
        ]
        targets = _targets(entries, folder)
        try:
            for entry, target in zip(entries, targets, strict=True):
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, target.open("xb") as stream:
                    shutil.copyfileobj(source, stream)
        except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ToolError(f"{path!r} cannot be unpacked: {getattr(error, 'strerror', None) or error}") from error
    names = [f"{folder.rstrip('/')}/{entry.filename}" for entry in entries]
    more = [f"(and {len(names) - _MOST_LISTED} more files)"] if len(names) > _MOST_LISTED else []
    return "\n".join([f"{len(names)} files written", *names[:_MOST_LISTED], *more])


def _opened(path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(existing_file(path))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ToolError(f"{path!r} is no ZIP archive: {error}") from error


def _targets(entries: list[zipfile.ZipInfo], folder: str) -> list[Path]:
    """Where each file goes; all are checked before the first one is written."""
    if len(entries) > _MOST_FILES or sum(entry.file_size for entry in entries) > _MOST_BYTES:
        limits = f"{_MOST_FILES:,} files or {_MOST_BYTES // 1_000_000} MB"
        raise ToolError(f"the archive holds more than {limits}; take a part of it with pattern")
    top = resolve_path(folder).resolve()
    targets = []
    for entry in entries:
        target = (top / entry.filename).resolve()
        if not target.is_relative_to(top) or target == top or "\\" in entry.filename:
            raise ToolError(f"the archive holds {entry.filename!r}, which would land outside of the folder")
        if target.exists():
            raise ToolError(f"{folder}/{entry.filename} is there already; choose another folder")
        targets.append(target)
    return targets


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)
