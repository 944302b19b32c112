"""Taking a task in, once: what members are told of its files is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from captain.briefing import Brief, take_in
from captain.durable.reading import on_record
from captain.durable.recording import Recording


async def taken_in(recording: Recording, task: str, files: Sequence[str | Path], folder: Path) -> Brief:
    """As `take_in`; a run that goes on is told what it was told first, whatever became of the files since.

    Raises:
        ConfigError: a file does not exist or shares its name with another.
    """

    async def work(_: str) -> dict[str, Any]:
        return asdict(await asyncio.to_thread(take_in, task, files, folder))

    request = {"task": task, "files": [Path(file).name for file in files]}
    brief = await recording.step("brief", request, work)
    with on_record("brief"):
        return TypeAdapter(Brief).validate_python(brief)
