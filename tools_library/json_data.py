"""JSON files: look into them, turn them into tables and tables into them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from captain.errors import ToolError
from captain.tools import resolve_path, tool
from tools_library.conversion import window
from tools_library.table_formats import encoding_of, write_table
from tools_library.tables import existing_file, read_table

_MOST_BYTES = 50_000_000
_LINES = (".jsonl", ".ndjson")


@tool(needs_packages=("jmespath",))
def query_json(path: str, query: str = "", start: int = 0) -> str:
    """Read a JSON file, or take a part out of it: a field of nested objects, the items of a list that meet a condition.

    Args:
        path: The JSON file; one that ends in .jsonl or .ndjson holds one value a line and is a list.
        query: A JMESPath expression, for example "orders[0].price", "orders[*].name", "length(orders)",
            "orders[?price > `10`].name" or "keys(@)"; the whole file when empty.
        start: First character of the result to read, from 0; the end of a part says where the next begins.

    Returns:
        Up to 12,000 characters of what was found, as JSON.

    Raises:
        ToolError: No such file, it is no JSON, or the query is wrong.
    """
    data = _read(path)
    found = _search(data, query)
    if found is None and query:
        return f"(nothing there; the file holds {_outline(data)})"
    return window(json.dumps(found, ensure_ascii=False, indent=1), start, what="the result")


@tool(needs_packages=("jmespath",))
def json_to_table(path: str, save_as: str, query: str = "") -> str:
    """Convert a JSON or JSON-lines file to a CSV, Excel or Parquet file: one row for each object of a list.

    Fields of inner objects become columns such as "address.city".

    Args:
        path: The JSON file.
        save_as: The new file, ending in .csv, .tsv, .xlsx or .parquet.
        query: Where the list is in the file, as a JMESPath expression such as "data.orders"; the file itself when
            empty.

    Returns:
        How many rows and columns were written.

    Raises:
        ToolError: No such file, there is no list of objects, or save_as cannot be written.
    """
    import pandas

    data = _read(path)
    rows = _search(data, query)
    rows = [rows] if isinstance(rows, dict) else rows
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ToolError(f"there is no list of objects; the file holds {_outline(data)}: say where it is with query")
    return write_table(pandas.json_normalize(rows), save_as, source=path)


@tool
def table_to_json(path: str, save_as: str) -> str:
    """Convert a CSV, Excel or Parquet file to JSON: a list with one object for each row.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file, ending in .json, or in .jsonl for one object a line.

    Returns:
        How many objects were written.

    Raises:
        ToolError: No such file, it is not a table, or save_as cannot be written.
    """
    table, file = read_table(path), resolve_path(save_as)
    if file.suffix.lower() not in (".json", *_LINES):
        raise ToolError(f"save_as must end in .json or .jsonl, not {save_as!r}")
    lines = file.suffix.lower() in _LINES
    text = table.to_json(orient="records", lines=lines, force_ascii=False, date_format="iso", double_precision=15)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(text), encoding="utf-8")
    except OSError as error:
        raise ToolError(f"cannot write {save_as!r}: {error.strerror or error}") from error
    return f"{len(table)} objects with {len(table.columns)} fields written to {save_as}"


def _read(path: str) -> Any:
    file = existing_file(path)
    if file.stat().st_size > _MOST_BYTES:
        raise ToolError(f"{path!r} is larger than {_MOST_BYTES // 1_000_000} MB")
    try:
        return _parsed(file)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{path!r} is no JSON: {error}") from error


def _parsed(file: Path) -> Any:
    text = file.read_text(encoding=encoding_of(file))
    if file.suffix.lower() in _LINES:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return json.loads(text)


def _search(data: Any, query: str) -> Any:
    import jmespath
    from jmespath.exceptions import JMESPathError

    if not query.strip():
        return data
    try:
        return jmespath.search(query, data)
    except (JMESPathError, RecursionError) as error:
        raise ToolError(f"{query!r} is no JMESPath query for this file: {error}") from error


def _outline(data: Any) -> str:
    if isinstance(data, dict):
        shown = ", ".join(map(repr, list(data)[:20]))
        return f"an object with the fields {shown}{' ...' if len(data) > 20 else ''}"
    if isinstance(data, list):
        return f"a list of {len(data)}" + (f", the first being {_outline(data[0])}" if data else "")
    return f"the single value {json.dumps(data)[:100]}"
