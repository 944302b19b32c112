"""A bound on what an endpoint may send: neither a huge body nor a small one that unpacks to a huge one is kept."""

from __future__ import annotations

import sys
import zlib
from collections.abc import AsyncIterator
from typing import Any

LARGEST_BODY = 8 * 2**20
"""Bytes of one answer, unpacked; a million tokens of text are about half of it."""
ENCODINGS = "gzip, deflate"
"""The packings that are asked for and understood."""


class BodyRefused(Exception):
    """An answer that is not read to its end."""


async def bound_body(response: Any) -> None:
    """Puts a bounded reader before the body of a response; a hook for clients of `httpx` and `httpx2`.

    Args:
        response: A response whose body was not read yet.

    Raises:
        BodyRefused: It says itself that it is too large, or it is packed in a way that was not asked for.
    """
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise BodyRefused(f"the answer is packed as {packing[:40]!r}, which was not asked for")
    length = response.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > LARGEST_BODY:
        raise BodyRefused(_too_large())
    unpack = None
    if packing not in ("identity", ""):
        del response.headers["content-encoding"]
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 32 if "gzip" in packing else zlib.MAX_WBITS)
    library = sys.modules[type(response).__module__.partition(".")[0]]
    response.stream = _bounded(library.AsyncByteStream, response.stream, unpack)


def _too_large() -> str:
    return f"the answer is longer than {LARGEST_BODY // 2**20} MB, which no reply can be"


def _bounded(kind: type[Any], stream: Any, unpack: Any) -> Any:
    """A stream of the library's own kind, for it accepts no other."""

    class Bounded(kind):  # type: ignore[misc]  # which of two libraries is in use is known at run time only
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = LARGEST_BODY
            async for piece in stream:
                data = piece if unpack is None else _unpacked(unpack, piece, left + 1)
                left -= len(data)
                if left < 0:
                    raise BodyRefused(_too_large())
                yield data

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def _unpacked(unpack: Any, piece: bytes, most: int) -> bytes:
    try:
        data: bytes = unpack.decompress(piece, most)
    except zlib.error as error:
        raise BodyRefused(f"the answer cannot be unpacked ({error})") from error
    return data
