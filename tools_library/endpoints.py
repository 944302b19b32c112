"""Models that see and hear, behind endpoints of the OpenAI kind that the user names in the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from captain.errors import ToolError

if TYPE_CHECKING:
    from openai import OpenAI

_SECONDS = 50.0


@contextmanager
def endpoint(name: str) -> Iterator[OpenAI]:
    """A client of the endpoint that `CAPTAIN_{name}_URL` gives, with the key in `CAPTAIN_{name}_API_KEY` if it is set.

    Args:
        name: `VISION` or `AUDIO`.

    Raises:
        ToolError: The endpoint cannot be reached or refuses; the message tells neither its address nor the key.
    """
    import openai

    key = os.environ.get(f"CAPTAIN_{name}_API_KEY") or "none"
    try:
        with openai.OpenAI(
            base_url=os.environ[f"CAPTAIN_{name}_URL"], api_key=key, timeout=_SECONDS, max_retries=2
        ) as client:
            yield client
    except openai.APIStatusError as error:
        raise ToolError(f"the endpoint in CAPTAIN_{name}_URL answers {error.status_code}; do without it") from error
    except openai.OpenAIError as error:
        problem = type(error).__name__
        raise ToolError(f"the endpoint in CAPTAIN_{name}_URL cannot be used ({problem}); do without it") from error
