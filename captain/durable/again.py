"""Executing a recorded run again: to go on where it ended, or to replay it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from captain.durable.reading import repair
from captain.durable.recording import Recording
from captain.durable.resuming import RecordedRun, read_run
from captain.errors import ConfigError
from captain.events import Event
from captain.journal import Run
from captain.results import Result

if TYPE_CHECKING:
    from autogen_agentchat.base import ChatAgent, Team

    from captain.captain import Captain
    from captain.effects import Approver


_NOT_COMPARED = ("usage", "run_dir", "output")


async def go_on(
    captain: type[Captain],
    run_dir: str | Path,
    *,
    overrides: Sequence[str] = (),
    members: Sequence[ChatAgent | Team] = (),
    approver: Approver | None = None,
    listener: Callable[[Event], None] | None = None,
) -> Result:
    """Goes on with a run; one that has ended with an answer gives its result."""
    recorded = read_run(run_dir, overrides)
    _check_members(recorded, members)
    if recorded.ended and (result := _ended(recorded)) is not None:
        return result
    run = Run(recorded.folder, elapsed=recorded.journal.elapsed)
    recorded = read_run(run_dir, overrides)  # nobody else writes any more
    repair(recorded.folder, recorded.journal)
    torn = [f"a torn last line of {recorded.journal.torn} bytes was cut off"] if recorded.journal.torn else []
    for line in [f"goes on with {len(recorded.journal.entries)} entries on record", *torn, *recorded.changes]:
        run.write("resumed", text=line)
        if listener is not None:
            listener(Event(kind="resumed", text=line))
    chief = captain(recorded.config, members=members, approver=approver)
    recording = Recording(run, recorded.journal.entries)
    return await chief.solve_recorded(recorded, recording, listener)


async def run_again(captain: type[Captain], run_dir: str | Path, *, members: Sequence[ChatAgent | Team] = ()) -> Result:
    """Replays a run in a folder that is thrown away; the recorded run is only read."""
    recorded = read_run(run_dir)
    _check_members(recorded, members)
    with tempfile.TemporaryDirectory(prefix="captain-replay-") as folder:
        (Path(folder) / "work").mkdir()
        run = Run(Path(folder))
        chief = captain(recorded.config, members=members)
        result = await chief.solve_recorded(recorded, Recording(run, recorded.journal.entries, strict=True), None)
    return result.model_copy(update={"run_dir": recorded.folder})


def differences(run_dir: str | Path, result: Result) -> list[str]:
    """Names the fields in which a result differs from the recorded one; times and places are not compared."""
    recorded = dict(read_run(run_dir).result)
    if not recorded.get("answer") and recorded.get("status") not in ("solved", "unverified", "failed", "stopped"):
        return ["status"]
    now = result.to_dict()
    return sorted(name for name in now if name not in _NOT_COMPARED and now[name] != recorded.get(name))


def _ended(recorded: RecordedRun) -> Result | None:
    """The result on disk; None when the file is damaged: the journal then gives it again."""
    try:
        return Result.model_validate(dict(recorded.result))
    except ValidationError:
        return None


def _check_members(recorded: RecordedRun, members: Sequence[ChatAgent | Team]) -> None:
    given = sorted(member.name for member in members)
    if given != sorted(recorded.members):
        raise ConfigError(
            f"the run was made with the members {', '.join(recorded.members) or 'none'}, not with "
            f"{', '.join(given) or 'none'}; give the same ones (from Python: Captain.resume(folder, members=[...]))"
        )
