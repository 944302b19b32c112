"""Connections to machines that were checked: a name cannot move between the check and the connection."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Sequence

import httpx

Places = Callable[[httpx.URL], Awaitable[Sequence[str]]]
"""For an address: the numbers of machines that may be connected to; none when its name may be used as it is."""


class CheckedTransport(httpx.AsyncBaseTransport):
    """Looks up and checks the host of each request once, and connects to what was checked.

    The server still sees the name, in the `Host` header and in TLS, whose certificate is checked against it.

    Args:
        places: Where a request may go; what it raises is raised.
        context: How certificates are checked.
    """

    def __init__(self, places: Places, context: ssl.SSLContext) -> None:
        self._places = places
        # a kept connection belongs to a number; another name at that number has to show its own certificate
        self._inner = httpx.AsyncHTTPTransport(verify=context, limits=httpx.Limits(max_keepalive_connections=0))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the first of its places that can be connected to."""
        numbers = await self._places(request.url)
        if not numbers:
            return await self._inner.handle_async_request(request)
        for number in numbers[:-1]:
            try:
                return await self._inner.handle_async_request(_sent_to(request, number))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # the next place may answer
        return await self._inner.handle_async_request(_sent_to(request, numbers[-1]))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def _sent_to(request: httpx.Request, number: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=number),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )
