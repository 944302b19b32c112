"""The folder of a run: `config.yaml`, `journal.jsonl`, `result.json` and `work/`, the place of its files."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import BaseModel

from captain.config import CaptainConfig
from captain.errors import ConfigError
from captain.secrets import scrub

JOURNAL = "journal.jsonl"
CONFIG = "config.yaml"
RESULT = "result.json"


def plain(value: Any) -> Any:
    """JSON data for what JSON does not know."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return str(value)


class Run:
    """One run on disk. The journal is append-only, one JSON object a line, written line by line in one piece.

    Only one process at a time works on a run; values of secret variables are taken out of what is written.
    """

    def __init__(self, folder: Path, *, elapsed: float = 0.0) -> None:
        """Opens a folder for writing.

        Args:
            folder: The run's folder.
            elapsed: Seconds that earlier processes worked on it.

        Raises:
            ConfigError: Another process works on it.
        """
        self.folder = folder
        self.elapsed = elapsed
        self._start = time.perf_counter() - elapsed
        self._writing = threading.Lock()
        self._in_use = FileLock(folder / ".lock", thread_local=False)
        try:
            self._in_use.acquire(timeout=0)
        except Timeout:
            raise ConfigError(f"another process works on the run {str(folder)!r}; wait for it or stop it") from None
        self._journal: int | None = os.open(folder / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

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
        run._write_file(CONFIG, yaml_of(config))
        run.finish({"status": "running"}, close=False)
        return run

    @property
    def work(self) -> Path:
        """The folder in which members' programs run and files lie."""
        return self.folder / "work"

    @property
    def closed(self) -> bool:
        """Whether its result is written and it is free for other processes."""
        return self._journal is None

    def write(self, kind: str, /, **data: Any) -> None:
        """Adds one event to the journal."""
        entry = {"t": round(time.perf_counter() - self._start, 3), "kind": kind, **data}
        line = scrub(json.dumps(entry, ensure_ascii=False, default=plain)) + "\n"
        with self._writing:
            if self._journal is None:
                raise ValueError(f"the journal of {self.folder} is closed")
            os.write(self._journal, line.encode("utf-8", "backslashreplace"))

    def finish(self, result: dict[str, Any], *, close: bool = True) -> None:
        """Writes `result.json`, whole or not at all, and closes the journal."""
        self._write_file(RESULT, scrub(json.dumps(result, ensure_ascii=False, indent=2, default=plain)) + "\n")
        if close:
            self.close()

    def close(self) -> None:
        """Gives the run free for other processes; closing twice does nothing."""
        with self._writing:
            if self._journal is not None:
                os.close(self._journal)
                self._journal = None
        self._in_use.release()

    def _write_file(self, name: str, text: str) -> None:
        part = self.folder / f".{name}.part"
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(self.folder / name)


def yaml_of(config: CaptainConfig) -> str:
    """A configuration as `config.yaml` holds it."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # ten times as fast, where libyaml is there
    data = config.model_dump(mode="json", exclude_none=True)
    return str(yaml.dump(data, Dumper=dumper, sort_keys=False, allow_unicode=True))
