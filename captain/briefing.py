"""What every team is told first: the task, word for word, and a card for each file that came with it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from captain.errors import ConfigError
from captain.trust import as_data

_MOST_COLUMNS = 40
_TABLES = {".csv", ".tsv"}


@dataclass(frozen=True)
class Brief:
    """A task and its files as members see them."""

    task: str
    cards: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """The columns of all tables."""

    @property
    def question(self) -> str:
        """The first paragraph, where the task is more than one: what follows tells the form of the answer."""
        return self.task.split("\n\n", 1)[0]

    @property
    def file_names(self) -> str:
        """The files by name, for the planner."""
        names = ", ".join(self.names)
        if not all(re.fullmatch(r"[\w.+-]{1,60}", name) for name in self.names):
            names = as_data(names, "the files")  # a name may be a whole sentence
        return f"\n\nFiles: {names}" if self.names else ""

    @property
    def tables(self) -> bool:
        """Whether a table came with the task."""
        return any(Path(name).suffix.lower() in _TABLES for name in self.names)

    @property
    def entry_point(self) -> str | None:
        """The function that the task asks to be written: the last one that it gives as a mere head."""
        heads = list(re.finditer(r"^def\s+([A-Za-z_]\w*)\s*\(", self.task, re.MULTILINE))
        return heads[-1].group(1) if heads else None

    @property
    def asks_for_code(self) -> bool:
        """Whether the task asks for a program, by its words."""
        return bool(
            self.entry_point or re.search(r"\b(function|program|script|code|class|implement)\b", self.task, re.I)
        )

    def text(self) -> str:
        """The task and its files."""
        shown = as_data("\n".join(self.cards), "the files") if self.cards else ""
        cards = f"\n\nFiles in the current folder:\n{shown}" if self.cards else ""
        return f"TASK\n{self.task}{cards}"


def take_in(task: str, files: Sequence[str | Path], folder: Path) -> Brief:
    """Checks task and files and copies the files into the working folder.

    Raises:
        ConfigError: the task is empty, or a file does not exist or shares its name with another.
    """
    if not task.strip():
        raise ConfigError("the task is empty; say what is to be solved")
    names: list[str] = []
    for file in files:
        path = Path(file).expanduser()
        if not path.is_file():
            raise ConfigError(f"no such file: {str(file)!r}")
        if path.name in names:
            raise ConfigError(f"two files are called {path.name!r}; rename one of them")
        shutil.copyfile(path, folder / path.name)
        names.append(path.name)
    cards = [_file_card(folder / name) for name in names]
    return Brief(
        task=task.strip(),
        cards=tuple(text for text, _ in cards),
        names=tuple(names),
        columns=tuple(column for _, columns in cards for column in columns),
    )


def _file_card(path: Path) -> tuple[str, list[str]]:
    """Describes a file in a few lines: a table by its columns and first rows, a text by its first lines."""
    card = _table_card(path) if path.suffix.lower() in _TABLES else None
    return card or (_text_card(path), [])


def _text_card(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(600)
    try:
        lines = head.decode("utf-8", errors="strict" if len(head) < 600 else "ignore").splitlines()[:5]
    except UnicodeDecodeError:
        return f"- {path.name}: binary file, {size} bytes"
    return f"- {path.name}: text, {size} bytes, begins:\n" + "\n".join(f"    {line[:160]}" for line in lines)


def _table_card(path: Path) -> tuple[str, list[str]] | None:
    import pandas as pd

    try:
        table = pd.read_csv(path, sep="\t" if path.suffix.lower() == ".tsv" else ",", low_memory=False)
    except (ValueError, UnicodeDecodeError):
        return None
    columns = ", ".join(_column(table[name], str(name)) for name in list(table.columns)[:_MOST_COLUMNS])
    if len(table.columns) > _MOST_COLUMNS:
        columns += f", and {len(table.columns) - _MOST_COLUMNS} more"
    rows = table.iloc[:2, :_MOST_COLUMNS].to_csv(index=False, header=False).strip()[:500]
    card = f"- {path.name}: table, {len(table)} rows\n  columns: {columns}\n  first rows:\n{rows}"
    return card, [str(name) for name in table.columns]


def _column(values: object, name: str) -> str:
    import pandas as pd

    assert isinstance(values, pd.Series)
    kind = "number" if pd.api.types.is_numeric_dtype(values) else "text"
    missing = int(values.isna().sum())
    return f"{name!r} {kind}" + (f" {missing} missing" if missing else "")
