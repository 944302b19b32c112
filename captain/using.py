"""The record of use: after a team's work, who of the library sat in it, how it went and what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from captain.casting import Casting
from captain.chat import Message
from captain.review import Reflection
from captain.scenario import current_scenario
from captain.seating import Seat


async def record_use(
    casting: Casting, seats: Sequence[Seat], thread: Sequence[Message], reflection: Reflection, *, key: str
) -> None:
    """Writes down one use of each expert of the library; the user's own members and experts not kept do not count.

    Args:
        casting: Knows the library and the run.
        seats: The team.
        thread: All that was said, with what each message cost.
        reflection: The last review.
        key: What tells this team's work from others of the run.
    """
    library = casting.library
    if not casting.config.library.enabled or not casting.config.library.use_record:
        return
    known = {expert.name: expert.instructions for expert in library.experts()}
    for seat in seats:
        if known.get(seat.profile.name) != seat.profile.instructions:
            continue
        calls, tokens = _spent(seat.name, thread)
        use: dict[str, Any] = {
            "key": f"{key}.{seat.name}",
            "scenario": current_scenario(),
            "run": casting.run,
            "outcome": _outcome(reflection),
            "calls": calls,
            "tokens": tokens,
        }
        await asyncio.to_thread(library.record, seat.profile.name, **use)


def _outcome(reflection: Reflection) -> float | None:
    """1: accepted on proof; 0: refused; None: accepted without proof, or the part itself was at fault."""
    if reflection.verdict == "accept":
        return 1.0 if any(evidence.kind != "statement" for evidence in reflection.evidence) else None
    return None if reflection.verdict == "replan" else 0.0


def _spent(member: str, thread: Sequence[Message]) -> tuple[int, int]:
    """The member's model calls and their tokens, as its messages tell them."""
    usages = [message.models_usage for message in thread if message.source == member and message.models_usage]
    return len(usages), sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)
