"""Keys of the environment, taken out of every text that is written down."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 8
"""Shorter values are words like any other, and taking them out would spoil texts."""


def scrub(text: str, *, environment: Mapping[str, str] | None = None) -> str:
    """Gives the text with the values of secret variables replaced by their names.

    Args:
        text: Anything that is about to be written, also JSON.
        environment: Where the secrets stand; the environment of this process when absent.
    """
    for name, value in (os.environ if environment is None else environment).items():
        if len(value) >= _SHORTEST and value in text and _NAME.search(name) and not _is_plain(value):
            text = text.replace(value, f"[{name}]")
    return text


def _is_plain(value: str) -> bool:
    """Paths and numbers are no keys, whatever the variable is called."""
    return value.isdigit() or os.path.exists(value)
