"""What the whole process knows about an endpoint: how many requests are out, and whether it asked for a pause.

Solves may run in several threads, each with an event loop of its own, against one endpoint: so the bound on concurrency
and the cool-down after a refusal live here, once per address, and not in a client.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

MINUTE = 60.0


@dataclass(eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]
    limit: int
    admitted: bool = False


class Gate:
    """A first-come, first-served semaphore for tasks of several event loops and threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._queue: deque[_Waiter] = deque()

    async def enter(self, limit: int) -> None:
        """Waits until fewer than `limit` others are inside. Each `enter` needs one `leave`."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if not self._queue and self._inside < limit:
                self._inside += 1
                return
            waiter = _Waiter(loop, loop.create_future(), limit)
            self._queue.append(waiter)
        try:
            await waiter.turn
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def leave(self) -> None:
        """Makes room for the next in the queue."""
        with self._lock:
            self._inside -= 1
            self._admit()

    def _withdraw(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.admitted:
                self._inside -= 1
            else:
                self._queue.remove(waiter)
            self._admit()

    def _admit(self) -> None:
        while self._queue and self._inside < self._queue[0].limit:
            waiter = self._queue.popleft()
            try:
                waiter.loop.call_soon_threadsafe(_wake, waiter.turn)
            except RuntimeError:  # its event loop is closed: nobody waits any more
                continue
            waiter.admitted = True
            self._inside += 1


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


class Endpoint:
    """The shared state of one address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.has_answered = False
        """It sent any HTTP answer at all: it exists, so a refused connection may pass."""
        self.strict_roles = False
        """Its chat template wants user and assistant strictly in turn and no system message (learnt from its error)."""
        self._gate = Gate()
        self._quiet_until = 0.0
        self._sent: deque[float] = deque()
        self._pace = threading.Lock()

    @asynccontextmanager
    async def slot(self, limit: int, per_minute: int | None = None) -> AsyncIterator[None]:
        """Holds one of `limit` places at the endpoint, and starts only when no pause is asked for.

        Args:
            limit: How many may be inside at once.
            per_minute: How many may start in any minute.
        """
        while True:
            await self._pause()
            await self._gate.enter(limit)
            wait = self._until_next(per_minute) if time.monotonic() >= self._quiet_until else 0.0
            if wait is None:
                break
            self._gate.leave()
            await asyncio.sleep(wait)
        try:
            yield
        finally:
            self._gate.leave()

    def cool_down(self, seconds: float) -> None:
        """Holds back all requests to this endpoint for some seconds."""
        self._quiet_until = max(self._quiet_until, time.monotonic() + seconds)

    def _until_next(self, per_minute: int | None) -> float | None:
        """Takes a place among those of this minute and gives None, or the seconds until one is free."""
        if per_minute is None:
            return None
        with self._pace:
            now = time.monotonic()
            while self._sent and self._sent[0] <= now - MINUTE:
                self._sent.popleft()
            if len(self._sent) < per_minute:
                self._sent.append(now)
                return None
            return self._sent[0] + MINUTE - now

    async def _pause(self) -> None:
        while (left := self._quiet_until - time.monotonic()) > 0:
            await asyncio.sleep(left + random.uniform(0, min(1.0, 0.1 + 0.1 * left)))


_endpoints: dict[str, Endpoint] = {}
_endpoints_lock = threading.Lock()


def endpoint_at(address: str) -> Endpoint:
    """Gives the one state of an address in this process."""
    with _endpoints_lock:
        return _endpoints.setdefault(address, Endpoint(address))
