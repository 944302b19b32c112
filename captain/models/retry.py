"""Sending a request again: exponential back-off with jitter, or the pause that the endpoint asks for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from captain.models.failures import EndpointError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

FIRST_PAUSE = 0.5
LONGEST_BACK_OFF = 30.0


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    *,
    retries: int,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Runs `attempt` until it succeeds, fails for good or has been repeated `retries` times.

    Args:
        attempt: Sends the request; raises `EndpointError` when it fails.
        retries: Repetitions after the first attempt.
        sleep: Waits some seconds.

    Raises:
        EndpointError: The last failure, with the number of attempts in its message.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, EndpointError) and error.transient),
        stop=lambda state: state.attempt_number > _allowed(state, retries),
        wait=_pause,
        sleep=sleep,
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except EndpointError as error:
        made = retrying.statistics["attempt_number"]
        if made > 1 and error.args:
            error.args = (f"{error.args[0]} [{made} attempts]",)
        raise


def _failure(state: RetryCallState) -> EndpointError:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, EndpointError) else EndpointError("not sent")


def _allowed(state: RetryCallState, retries: int) -> int:
    most = _failure(state).retries
    return retries if most is None else min(retries, most)


def _pause(state: RetryCallState) -> float:
    asked = _failure(state).wait
    if asked is not None:
        return asked + random.uniform(0, 0.1 + 0.1 * asked)
    longest: float = min(LONGEST_BACK_OFF, FIRST_PAUSE * 2.0 ** (state.attempt_number - 1))
    return random.uniform(longest / 2, longest)
