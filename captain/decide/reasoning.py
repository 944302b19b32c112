"""Takes reasoning out of a reply."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"^[ \t]*<(think|thinking|thought|reasoning)>(.*?)(?:</\1>|\Z)", re.S | re.M | re.I)
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.I)
_OPEN = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.I)


def strip_reasoning(text: str) -> str:
    """Gives a reply without its `<think>…</think>` passages.

    A passage starts at the start of a line; one that never ends takes the rest of the text. Where only the closing tag
    stands, as with chat templates that open the passage themselves, all before it goes.
    """
    if "<" not in text:
        return text.strip()
    close, opening = _CLOSE.search(text), _OPEN.search(text)
    if close is not None and (opening is None or close.start() < opening.start()):
        text = text[close.end() :]
    return _BLOCK.sub("", text).strip()
