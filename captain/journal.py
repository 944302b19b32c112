"""The folder of a run: `config.yaml`, `journal.jsonl`, `result.json` and `work/`, the place of its files."""

from __future__ import annotations

import json
import secrets
import time
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel

from captain.config import CaptainConfig
from captain.errors import ConfigError


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return str(value)


class Run:
    """One run on disk. The journal is append-only, one JSON object a line, flushed line by line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._start = time.perf_counter()
        self._journal: TextIO = (folder / "journal.jsonl").open("a", encoding="utf-8", errors="backslashreplace")

    @classmethod
    def create(cls, runs_dir: str | Path, config: CaptainConfig, *, label: str = "solve") -> Run:
        """Makes a folder of its own, also for runs that start in the same second.

        Raises:
            ConfigError: the folder cannot be written.
        """
        name = f"{datetime.now():%Y%m%d-%H%M%S}-{label}-{secrets.token_hex(3)}"
        folder = Path(runs_dir).expanduser() / name
        try:
            (folder / "work").mkdir(parents=True)
            run = cls(folder.resolve())
        except OSError as error:
            raise ConfigError(
                f"cannot write a run into {str(runs_dir)!r} ({error.strerror}); set runs_dir=FOLDER"
            ) from None
        run._write_file("config.yaml", _yaml(config.model_dump(mode="json", exclude_none=True)))
        run.finish({"status": "running"}, close=False)
        return run

    @property
    def work(self) -> Path:
        """The folder in which members' programs run and files lie."""
        return self.folder / "work"

    def write(self, kind: str, /, **data: Any) -> None:
        """Adds one event to the journal."""
        entry = {"t": round(time.perf_counter() - self._start, 3), "kind": kind, **data}
        self._journal.write(json.dumps(entry, ensure_ascii=False, default=_plain) + "\n")
        self._journal.flush()

    def finish(self, result: dict[str, Any], *, close: bool = True) -> None:
        """Writes `result.json`, whole or not at all, and closes the journal."""
        self._write_file("result.json", json.dumps(result, ensure_ascii=False, indent=2, default=_plain) + "\n")
        if close:
            self._journal.close()

    def _write_file(self, name: str, text: str) -> None:
        part = self.folder / f".{name}.part"
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(self.folder / name)


def _yaml(data: dict[str, Any]) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # ten times as fast, where libyaml is there
    return str(yaml.dump(data, Dumper=dumper, sort_keys=False, allow_unicode=True))
