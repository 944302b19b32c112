"""The bound on concurrency, over event loops and threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from captain.models.endpoint import Endpoint, Gate, endpoint_at


class Room:
    """Counts how many are in a room at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = self.visits = 0

    async def visit(self, endpoint: Endpoint, limit: int) -> None:
        async with endpoint.slot(limit):
            with self.lock:
                self.now += 1
                self.visits += 1
                self.most = max(self.most, self.now)
            await asyncio.sleep(0.005)
            with self.lock:
                self.now -= 1


async def crowd(room: Room, endpoint: Endpoint, limit: int) -> None:
    await asyncio.gather(*(room.visit(endpoint, limit) for _ in range(20)))


def test_the_bound_holds_over_threads() -> None:
    room, endpoint = Room(), Endpoint("x")
    threads = [threading.Thread(target=lambda: asyncio.run(crowd(room, endpoint, 3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert (room.visits, room.most) == (80, 3)


async def test_a_task_that_gives_up_waiting_takes_no_place() -> None:
    gate = Gate()
    await gate.enter(1)
    waiting = asyncio.ensure_future(gate.enter(1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.leave()
    await asyncio.wait_for(gate.enter(1), 1)


async def test_a_task_cancelled_in_the_moment_of_admission_gives_its_place_on() -> None:
    gate = Gate()
    await gate.enter(1)
    waiting = asyncio.ensure_future(gate.enter(1))
    await asyncio.sleep(0)
    gate.leave()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(gate.enter(1), 1)


async def test_the_first_to_come_is_the_first_to_enter() -> None:
    gate = Gate()
    await gate.enter(1)
    order: list[int] = []

    async def visit(number: int) -> None:
        await gate.enter(1)
        order.append(number)
        gate.leave()

    tasks = [asyncio.ensure_future(visit(number)) for number in range(5)]
    await asyncio.sleep(0)
    gate.leave()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3, 4]


def test_an_address_has_one_state() -> None:
    assert endpoint_at("http://one") is endpoint_at("http://one")
    assert endpoint_at("http://one") is not endpoint_at("http://two")
