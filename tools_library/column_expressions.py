"""Values that are computed for every row from the columns of a table, by an expression that is never run as Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from tools_library.tables import column_name, numbers

if TYPE_CHECKING:
    import pandas

_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'")
_PLAIN = re.compile(r"[A-Za-z]\w{0,29}", re.A)
_OVER_COLUMN = ("mean", "median", "std", "sum", "min", "max")


def computed(table: pandas.DataFrame, expression: str) -> pandas.Series[float]:
    """The value of an expression in each row; missing where a cell that it uses is missing or it is not defined.

    Columns stand under their names, those with signs in them in backticks. `mean(age)`, `median`, `std` (sample),
    `sum`, `min` and `max` of one column are numbers over all its rows.

    Raises:
        ToolError: The text is no expression, names no column, or names one that is not there or holds no numbers.
    """
    import numpy
    import pandas
    import sympy

    from tools_library.expressions import ExpressionError, parse

    text, columns = _named(table, expression)
    text = _aggregated(table, text, columns)
    try:
        parsed = parse(text, set(columns))
    except ExpressionError as error:
        raise ToolError(f"{error}; put a column name with spaces or signs into backticks") from error
    symbols = sorted(parsed.free_symbols, key=str)
    if not symbols:
        raise ToolError(f"{expression!r} names no column of the table, or does not depend on one")
    cells = pandas.DataFrame(
        {
            str(symbol): numbers(table, columns.get(str(symbol), str(symbol))).values.reindex(table.index)
            for symbol in symbols
        }
    )
    function = sympy.lambdify(symbols, parsed, modules=["scipy", "numpy"])
    complete = cells.dropna()
    with numpy.errstate(all="ignore"):
        try:
            found = numpy.broadcast_to(
                numpy.asarray(function(*(complete[name].to_numpy() for name in complete)), dtype=float), len(complete)
            )
        except (TypeError, ValueError, NameError) as error:
            raise ToolError(f"{expression!r} cannot be computed from columns: {error}") from error
    return pandas.Series(numpy.where(numpy.isfinite(found), found, numpy.nan), complete.index).reindex(table.index)


def _named(table: pandas.DataFrame, expression: str) -> tuple[str, dict[str, str]]:
    """The expression with a plain name for every column in it, and the column that each plain name stands for."""
    from tools_library.expressions import FUNCTIONS

    names = [str(name) for name in table.columns]
    columns = {name: name for name in names if _PLAIN.fullmatch(name) and name not in FUNCTIONS}

    def stand_in(name: str) -> str:
        known = [plain for plain, column in columns.items() if column == name]
        plain = known[0] if known else f"cells{len(columns)}"
        while not known and plain in names:
            plain += "x"
        columns.setdefault(plain, name)
        return f" {plain} "

    def quoted(match: re.Match[str]) -> str:
        return stand_in(column_name(table, next(filter(None, match.groups()))))

    text = _QUOTED.sub(quoted, expression)
    for name in sorted(names, key=len, reverse=True):
        if re.fullmatch(r"\w+(?: \w+)*", name) and name not in columns and not name[0].isdigit():
            function = r"(?!\s*\()" if name in FUNCTIONS else ""
            pattern = rf"(?<!\w){re.escape(name)}(?!\w){function}"
            if re.search(pattern, text):
                text = re.sub(pattern, stand_in(name), text)
    return text, columns


def _aggregated(table: pandas.DataFrame, text: str, columns: dict[str, str]) -> str:
    """The text with the number in place of `mean(column)` and its like."""

    def number(match: re.Match[str]) -> str:
        if match.group(2) not in columns:
            return match.group()
        values: Any = numbers(table, columns[match.group(2)]).values
        return f"({float(getattr(values, match.group(1))())!r})".replace("nan", "0/0")

    return re.sub(rf"\b({'|'.join(_OVER_COLUMN)})\(\s*(\w+)\s*\)", number, text)
