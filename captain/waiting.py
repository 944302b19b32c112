"""The edge between sync and async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end: here, or in a thread of its own when a loop already runs in this one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    box: list[T | BaseException] = []

    def target() -> None:
        try:
            box.append(asyncio.run(work))
        except BaseException as error:
            box.append(error)

    # With the caller's context, so that a solve inside another one's team belongs to the same tree.
    thread = threading.Thread(target=copy_context().run, args=(target,), name="captain-solve")
    thread.start()
    thread.join()
    outcome = box[0]
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
