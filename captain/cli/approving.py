"""A person's decision on the terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

from captain.cli.terminal import clean, notice

if TYPE_CHECKING:
    from captain.effects import Approval, ApprovalRequest, Approver

_SHOWN = 4000


def ask_on_terminal() -> Approver | None:
    """Gives what asks the person at the terminal; None when nobody is there, so that the run pauses."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    turn = asyncio.Lock()

    async def ask(request: ApprovalRequest) -> Approval:
        async with turn:  # one question at a time, also when teams work side by side
            return await asyncio.to_thread(_ask, request)

    return ask


def _ask(request: ApprovalRequest) -> Approval:
    """Asks until the answer is one of those offered; the end of input denies."""
    from captain.effects import Approval

    notice(f"\n{request.what} {clean(request.name)} wants to run: {clean(request.reason)}")
    notice(clean(json.dumps(request.arguments, ensure_ascii=False, indent=2))[:_SHOWN])
    while True:
        notice("[a]pprove, [e]dit the arguments, [d]eny?")
        answer = sys.stdin.readline()
        word = answer.strip().lower()
        if word in ("a", "approve"):
            return Approval(verdict="approve")
        if not answer or word in ("d", "deny"):
            notice("why? (one line, may be empty)")
            return Approval(verdict="deny", note=sys.stdin.readline().strip() if answer else "")
        if word in ("e", "edit"):
            notice("the arguments as one line of JSON:")
            try:
                edited = json.loads(sys.stdin.readline())
            except ValueError as error:
                notice(f"not JSON: {error}")
                continue
            if isinstance(edited, dict):
                return Approval(verdict="approve", arguments=edited)
            notice("the arguments must be a JSON object")
