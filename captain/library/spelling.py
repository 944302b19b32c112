"""The nearest known name, for messages about unknown ones."""

from __future__ import annotations

import difflib
import importlib.util
import pkgutil
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known name is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def neighbours(module: str) -> list[str]:
    """Importable modules that stand beside a dotted name, dotted themselves."""
    parent, _, _ = module.rpartition(".")
    if not parent:
        return [found.name for found in pkgutil.iter_modules()]
    try:
        spec = importlib.util.find_spec(parent)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return neighbours(parent)
    return [f"{parent}.{found.name}" for found in pkgutil.iter_modules(spec.submodule_search_locations)]
