"""Tables in files: CSV, TSV, Excel and Parquet, read and written by the ending of the name."""

from __future__ import annotations

import csv
import importlib.util
import zipfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import resolve_path

if TYPE_CHECKING:
    import pandas

MAX_TABLE_BYTES = 200 * 1024**2
MAX_UNPACKED_BYTES = 1024**3
EXCEL, PARQUET = (".xlsx", ".xlsm"), (".parquet", ".pq")
WRITABLE = (".csv", ".tsv", ".xlsx", ".parquet")


def read_frame(file: Path, *, sheet: str = "") -> pandas.DataFrame:
    """Read the table that a file holds.

    Args:
        file: An existing file; what it is, its ending tells. Other endings are read as text.
        sheet: The sheet of an Excel file; the first one when empty.

    Raises:
        ToolError: The file is too large, no table, or a package that reads it is not installed.
    """
    import pandas

    if file.stat().st_size > MAX_TABLE_BYTES:
        raise ToolError(f"{file.name!r} is larger than {MAX_TABLE_BYTES // 1024**2} MB")
    ending = file.suffix.lower()
    if ending == ".xls":
        raise ToolError(f"{file.name!r} is in the old Excel format; save it as .xlsx or .csv first")
    if sheet and ending not in EXCEL:
        raise ToolError(f"{file.name!r} has no sheets; only Excel files (.xlsx) have")
    try:
        if ending in EXCEL:
            return _read_excel(file, sheet)
        if ending in PARQUET:
            _need("pyarrow", file.name)
            return pandas.read_parquet(file, engine="pyarrow").reset_index(drop=True)
        return _read_text(file)
    except ToolError:
        raise
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ToolError(f"{file.name!r} cannot be read as a table: {error}") from error


def sheet_names(file: Path) -> list[str]:
    """The sheets of an Excel file; none for other files.

    Raises:
        ToolError: It is not an Excel file, or openpyxl is not installed.
    """
    import pandas

    if file.suffix.lower() not in EXCEL:
        return []
    _need("openpyxl", file.name)
    try:
        with pandas.ExcelFile(file, engine="openpyxl") as book:
            return [str(name) for name in book.sheet_names]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ToolError(f"{file.name!r} cannot be read as an Excel file: {error}") from error


def write_table(table: pandas.DataFrame, path: str, *, source: str = "") -> str:
    """Write a table to a new file of the workspace and say so in one line.

    Args:
        table: The table; its index is not written.
        path: The file, ending in .csv, .tsv, .xlsx or .parquet.
        source: The file that the table came from, which must not be replaced.

    Raises:
        ToolError: The ending is another one, the file is the source, a package is missing, or the disk refuses.
    """
    file = resolve_path(path)
    ending = file.suffix.lower()
    if ending not in WRITABLE:
        raise ToolError(f"save_as must end in {', '.join(WRITABLE)}, not {path!r}")
    if source and file == resolve_path(source.partition("#")[0]):
        raise ToolError(f"save_as must be a new file: {path!r} is the table that was read")
    _need({".xlsx": "openpyxl", ".parquet": "pyarrow"}.get(ending, ""), path)
    writers: dict[str, Any] = {
        ".csv": lambda: table.to_csv(file, index=False),
        ".tsv": lambda: table.to_csv(file, index=False, sep="\t"),
        ".xlsx": lambda: table.to_excel(file, index=False, engine="openpyxl"),
        ".parquet": lambda: table.to_parquet(file, index=False, engine="pyarrow"),
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        writers[ending]()
    except (OSError, ValueError, TypeError) as error:
        raise ToolError(f"cannot write {path!r}: {getattr(error, 'strerror', None) or error}") from error
    return f"{len(table)} rows and {len(table.columns)} columns written to {path}"


def is_binary(path: Path) -> bool:
    """Whether a file holds something other than text (a zero byte near its beginning)."""
    with path.open("rb") as stream:
        return b"\0" in stream.read(8192)


def encoding_of(path: Path) -> str:
    """`utf-8-sig` where the whole file is valid UTF-8, else `latin-1`."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            while stream.read(1 << 20):
                pass
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8-sig"


def _read_text(file: Path) -> pandas.DataFrame:
    import pandas

    if is_binary(file):
        raise ToolError(f"{file.name!r} is not a text file; CSV, TSV, .xlsx and .parquet tables can be read")
    encoding = encoding_of(file)
    with file.open(encoding=encoding) as stream:
        separator = max(",;\t|", key=stream.readline().count)
        stream.seek(0)
        first = [len(row) for row in islice((row for row in csv.reader(stream, delimiter=separator) if row), 2)]
    if len(first) == 2 and first[1] > first[0]:
        raise ToolError(f"the rows of {file.name!r} have {first[1]} cells but its header line names {first[0]} columns")
    return pandas.read_csv(
        file, sep=separator, encoding=encoding, skipinitialspace=True, low_memory=False, compression=None
    )


def _read_excel(file: Path, sheet: str) -> pandas.DataFrame:
    import pandas

    _need("openpyxl", file.name)
    with zipfile.ZipFile(file) as parts:
        if sum(part.file_size for part in parts.infolist()) > MAX_UNPACKED_BYTES:
            raise ToolError(f"{file.name!r} holds more than {MAX_UNPACKED_BYTES // 1024**2} MB when unpacked")
    names = sheet_names(file)
    alike = [name for name in names if name.strip().lower() == sheet.strip().lower()] if sheet else names[:1]
    if not alike:
        raise ToolError(f"{file.name!r} has no sheet {sheet!r}; its sheets: {', '.join(map(repr, names))}")
    return pandas.read_excel(file, sheet_name=alike[0], engine="openpyxl")


def _need(package: str, name: str) -> None:
    if package and importlib.util.find_spec(package) is None:
        raise ToolError(f"{name!r} needs the package {package!r}, which is not installed; use a CSV file instead")
