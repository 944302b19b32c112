"""Tools of a test's own."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

_numbers = itertools.count()


@pytest.fixture
def with_tools(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Gives `with_tools(function, ...)`: settings under which a Captain has these tools and no others."""

    def settings(*functions: Callable[..., Any]) -> dict[str, Any]:
        module = types.ModuleType(f"captain_test_tools_{next(_numbers)}")
        for function in functions:
            function.__module__ = module.__name__
            setattr(module, function.__name__, function)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return {"tools.enabled": True, "tools.modules": [module.__name__], "tools.threshold": -1.0}

    return settings
