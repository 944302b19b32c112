"""Where in the tree of work a step belongs, so that steps of parallel branches keep one identity each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_branch: ContextVar[str] = ContextVar("captain_branch", default="")


def current_branch() -> str:
    """The branch that the running code works on: parts joined by `/`; empty at the root."""
    return _branch.get()


@contextmanager
def on_branch(path: str) -> Iterator[None]:
    """Puts everything that the block starts on the branch `path`."""
    token = _branch.set(path)
    try:
        yield
    finally:
        _branch.reset(token)


def below(base: str, name: str) -> str:
    """The branch `name` under the branch `base`."""
    return f"{base}/{name}" if base else name
