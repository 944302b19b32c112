"""`captain resume` and `captain replay`: runs of earlier processes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from captain.cli.solve import ANSWERED, show_result
from captain.cli.terminal import complain, notice, output, progress, say
from captain.errors import ConfigError, NotRecorded


def resume_run(folder: Path, overrides: Sequence[str], *, as_json: bool) -> int:
    """Goes on with a run and shows its result.

    Returns:
        The exit code: 0 with an answer, 1 without, 130 when interrupted.
    """
    from captain import Captain
    from captain.cli.approving import ask_on_terminal

    with output(as_json) as emit:
        try:
            with progress() as show:
                work = Captain.resume_async(folder, overrides=overrides, approver=ask_on_terminal(), listener=show)
                result = asyncio.run(work)
        except KeyboardInterrupt:
            notice(f"interrupted; what was done is kept in {folder}")
            return 130
        emit(result.to_dict())
        if not as_json:
            show_result(result)
    return 0 if result.status in ANSWERED else 1


def replay_run(folder: Path, *, as_json: bool) -> int:
    """Replays a run from its record alone and compares the results.

    Returns:
        The exit code: 0 when the result is the recorded one, 1 when not.

    Raises:
        ConfigError: It is no folder of a run, or the code asks for something that was not recorded.
    """
    from captain import Captain
    from captain.durable.again import differences

    with output(as_json) as emit:
        try:
            result = Captain.replay(folder)
        except NotRecorded as error:
            raise ConfigError(str(error)) from error
        differing = differences(folder, result)
        emit(result.to_dict() | {"same": not differing, "differing": differing})
        if not as_json:
            show_result(result)
            say(f"replay    {'the same result' if not differing else 'differs in ' + ', '.join(differing)}")
    if differing:
        complain(f"the replay differs from the recorded result in {', '.join(differing)}")
    return 1 if differing else 0
