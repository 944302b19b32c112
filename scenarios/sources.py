"""Where tasks come from: written in the configuration, in a file, or read by a function; and the seeded draw."""

from __future__ import annotations

import csv
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field, ValidationError, field_validator, model_validator

from captain.config import Settings
from captain.diagnosis import describe_errors, unknown_name
from captain.errors import ConfigError
from captain.scenario import named_object

SLICES = 10
"""Seeds from `base_seed` to `base_seed + SLICES - 1` name disjoint slices of one permutation."""


class ScorerSpec(Settings):
    """A scorer by name and its options: `numeric` or `{path: my_package.scorer, option: value}`."""

    path: str
    """Dotted path of a function `(answer, expected, **options) -> bool`; a bare name is one of `scenarios.scorers`."""
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"path": value}
        if isinstance(value, Mapping) and "options" not in value:
            return {"path": value.get("path"), "options": {key: v for key, v in value.items() if key != "path"}}
        return value

    @field_validator("path")
    @classmethod
    def _full_path(cls, value: str) -> str:
        return value if "." in value else f"scenarios.scorers.{value}"


class Task(Settings):
    """One task with what is needed to judge its answer. Solvers see only `question` and `files`."""

    id: str
    question: str = Field(min_length=1)
    files: tuple[Path, ...] = ()
    expected: Any = Field(default=None, validation_alias=AliasChoices("answer", "expected"))
    scorer: ScorerSpec | None = None
    domain: str = "general"
    """Which instruction text goes with the question."""
    labels: dict[str, Any] = Field(default_factory=dict)
    """What `level` and `filter` choose by."""
    shareable: bool = True
    """False for items of data sets: no text of theirs, nor of answers to them, leaves the run's folder."""


class Source(Settings):
    """One source of tasks: exactly one of `tasks`, `file` and `reader`."""

    name: str
    tasks: list[dict[str, Any]] | None = None
    """The tasks themselves: `question`, `answer`, and if wanted `id`, `files`, `scorer`, `domain`, `labels`."""
    file: str | None = None
    """A file of tasks (`.jsonl`, `.yaml`, `.csv`); columns that are no field of a task become labels."""
    reader: str | None = None
    """Dotted path of a function that returns tasks."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Keyword arguments of the reader."""
    n: int | None = Field(default=None, ge=1)
    """How many to draw; absent takes all, in their order."""
    level: Any = None
    """Short for `filter: {level: ...}`."""
    filter: dict[str, Any] = Field(default_factory=dict)
    """Label -> the value, or a list of values, that is let through."""
    domain: str | None = None
    scorer: ScorerSpec | None = None
    """For tasks that name none."""

    @model_validator(mode="after")
    def _one_origin(self) -> Source:
        if sum(origin is not None for origin in (self.tasks, self.file, self.reader)) != 1:
            raise ValueError(f"source {self.name!r} needs exactly one of 'tasks', 'file' and 'reader'")
        return self


class Draw(Settings):
    """Which tasks of a pool are taken: slice `index` of the permutation that `seed` makes."""

    seed: int
    index: int = Field(default=0, ge=0)

    @classmethod
    def choose(cls, *, seed: int, base_seed: int, index: int | None = None) -> Draw:
        """Read the draw from a run's seed.

        An explicit `index` is the slice of the permutation of `base_seed`. Else `base_seed + k` (k < 10) is slice k
        of it, so that neighbouring seeds never share a task: slice 0 is reported, slice 1 is for development. Any
        other seed makes a permutation of its own, which shares tasks by chance.
        """
        if index is not None:
            return cls(seed=base_seed, index=index)
        offset = seed - base_seed
        return cls(seed=base_seed, index=offset) if 0 <= offset < SLICES else cls(seed=seed)

    def take(self, tasks: Sequence[Task], n: int, *, source: str) -> list[Task]:
        """Take n tasks, in an order that depends on seed and ids alone, not on the order of the pool.

        Raises:
            ConfigError: The pool is too small for this slice.
        """
        needed = (self.index + 1) * n
        if needed > len(tasks):
            raise ConfigError(
                f"source {source!r} has {len(tasks)} tasks after its filter; draw {self.index} of {n} needs {needed}"
            )
        ranked = sorted(tasks, key=lambda task: hashlib.sha256(f"{self.seed}:{source}:{task.id}".encode()).digest())
        return ranked[needed - n : needed]


def load_tasks(source: Source, draw: Draw) -> list[Task]:
    """Read, filter and draw the tasks of one source.

    Raises:
        ConfigError: A task, a file, a filter or the reader is wrong. `scenarios.benchmarks.MissingData`, a kind of it,
            when the data of the source are not on this machine.
    """
    tasks = [_completed(task, source) for task in _read(source)]
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise ConfigError(f"source {source.name!r} has two tasks with the id {task.id!r}")
        seen.add(task.id)
    wanted = dict(source.filter)
    if source.level is not None:
        wanted["level"] = source.level
    tasks = _filtered(tasks, wanted, source=source.name)
    return tasks if source.n is None else draw.take(tasks, source.n, source=source.name)


def _read(source: Source) -> Iterable[Task]:
    if source.tasks is not None:
        return [_task(row, source=source.name, number=i, folder=Path()) for i, row in enumerate(source.tasks)]
    if source.file is not None:
        return _from_file(Path(source.file).expanduser(), source.name)
    reader = named_object(source.reader or "", what="reader")
    known = inspect.signature(reader).parameters
    for name in source.options:
        if name not in known and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            raise ConfigError(unknown_name(f"option of {source.reader}", name, known))
    tasks: list[Task] = list(reader(**source.options))
    return tasks


def _from_file(path: Path, source: str) -> list[Task]:
    if not path.is_file():
        raise ConfigError(f"source {source!r}: no file {str(path)!r}")
    rows = []
    for row in _rows(path):
        fields = {key: value for key, value in row.items() if key in Task.model_fields or key == "answer"}
        labels = {key: value for key, value in row.items() if key not in fields}
        rows.append({**fields, "labels": {**labels, **(fields.get("labels") or {})}})
    return [_task(row, source=source, number=i, folder=path.parent) for i, row in enumerate(rows)]


def _rows(path: Path) -> list[dict[str, Any]]:
    import yaml

    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        elif path.suffix in (".yaml", ".yml"):
            content = yaml.safe_load(text)
            rows = content.get("tasks", []) if isinstance(content, dict) else content
        elif path.suffix == ".csv":
            rows = [_cells(row) for row in csv.DictReader(text.splitlines(keepends=True))]
        else:
            raise ConfigError(f"tasks cannot be read from {str(path)!r}: use .jsonl, .yaml or .csv")
    except (json.JSONDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{str(path)!r} is no list of tasks")
    return rows


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    cells = {key: value for key, value in row.items() if key is not None and value not in (None, "")}
    if "files" in cells:
        cells["files"] = [name.strip() for name in cells["files"].split(";") if name.strip()]
    return cells


def _task(row: Mapping[str, Any], *, source: str, number: int, folder: Path) -> Task:
    data = {"id": f"{source}/{number + 1}", **row}
    data["id"] = str(data["id"])
    for key in data:
        if key not in Task.model_fields and key != "answer":
            known = [*Task.model_fields, "answer"]
            raise ConfigError(f"source {source!r}, task {data['id']!r}: {unknown_name('field', key, known)}")
    try:
        task = Task.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"source {source!r}: {describe_errors(error, schema=Task, at=data['id'])}") from error
    files = tuple((folder / path.expanduser()).resolve() for path in task.files)
    for path in files:
        if not path.is_file():
            raise ConfigError(f"source {source!r}, task {task.id!r}: no file {str(path)!r}")
    return task.model_copy(update={"files": files})


def _completed(task: Task, source: Source) -> Task:
    changes: dict[str, Any] = {}
    if source.domain is not None and task.domain == "general":
        changes["domain"] = source.domain
    if task.scorer is None and source.scorer is not None:
        changes["scorer"] = source.scorer
    return task.model_copy(update=changes)


def _filtered(tasks: Sequence[Task], wanted: Mapping[str, Any], *, source: str) -> list[Task]:
    known = {label for task in tasks for label in task.labels}
    for label in wanted:
        if tasks and label not in known:
            raise ConfigError(f"source {source!r}: {unknown_name('label', label, known)}")
    allowed = {label: value if isinstance(value, list) else [value] for label, value in wanted.items()}
    chosen = [task for task in tasks if all(task.labels.get(label) in values for label, values in allowed.items())]
    if tasks and not chosen:
        raise ConfigError(f"source {source!r}: no task passes the filter {dict(wanted)!r}")
    return chosen
