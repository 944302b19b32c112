"""Requests to the web that a model asked for: only public addresses, bounded in size and time, each hop checked."""

from __future__ import annotations

import asyncio
import codecs
import ipaddress
import os
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

from captain.errors import ToolError

if TYPE_CHECKING:
    import httpx

ALLOWED = "CAPTAIN_ALLOWED_HOSTS"
"""Environment variable: hosts (`name` or `name:port`, joined by commas) that may be private."""
_AGENT = "captain-agents (https://pypi.org/project/captain-agents/)"
_MOST_BYTES = 8_000_000
_MOST_FILE_BYTES = 50_000_000
_WRITTEN = re.compile("^text/|html|[/+]xml|json")
_SECONDS = 30.0
_CONNECT_SECONDS = 8.0
_HOPS = 5
_ATTEMPTS = 3
_AGAIN = frozenset({429, 500, 502, 503, 504})
_EMBEDDED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses whose last 32 bits are an IPv4 address that a gateway reaches."""


@dataclass(frozen=True)
class Page:
    """What an address gave."""

    address: str
    """Where it came from in the end, after redirects."""
    kind: str
    """The content type, without parameters."""
    content: bytes
    encoding: str | None
    """The character set that the server named, when it is a known one."""

    def text(self) -> str:
        """The content as text."""
        return self.content.decode(self.encoding or "utf-8", errors="replace")


def get(address: str, *, query: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> Page:
    """Fetch an address; not to be called inside a running event loop.

    Args:
        address: An http or https address.
        query: Parameters that are added to it.
        headers: More headers; they go to the first host only.

    Raises:
        ToolError: The address is not allowed, cannot be reached, answers an error, sends too much or takes too long.
    """
    import httpx

    try:
        url = httpx.URL(address.strip()).copy_merge_params(query or {})
        return asyncio.run(_bounded(url, headers or {}))
    except _TryAgain as error:
        raise ToolError(str(error)) from error
    except TimeoutError as error:
        raise ToolError(f"{address} gave no complete answer within {_SECONDS:g} s; use another source") from error
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise ToolError(
            f"{address} cannot be reached ({type(error).__name__}: {error}); check the address, or work without the web"
        ) from error


class _TryAgain(Exception):
    """The server asked to come back later."""


async def _bounded(url: httpx.URL, headers: dict[str, str]) -> Page:
    """A server that sends a byte now and then keeps no time limit of a single read, so one holds for the whole."""
    import httpx
    from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

    from tools_library.connections import CheckedTransport

    retrying = AsyncRetrying(
        retry=retry_if_exception_type((httpx.TransportError, _TryAgain)),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_exponential(multiplier=0.3, max=4),
        reraise=True,
    )
    limits, context = httpx.Timeout(_SECONDS, connect=_CONNECT_SECONDS), httpx.create_ssl_context()
    async with (
        asyncio.timeout(_SECONDS),
        httpx.AsyncClient(timeout=limits, transport=CheckedTransport(_places, context)) as direct,
        httpx.AsyncClient(timeout=limits, verify=context, trust_env=True) as by_proxy,
    ):
        return await retrying(_follow, (direct, by_proxy), url, headers)


async def _follow(
    clients: tuple[httpx.AsyncClient, httpx.AsyncClient], url: httpx.URL, headers: dict[str, str]
) -> Page:
    first = (url.scheme, url.netloc)
    for _ in range(_HOPS + 1):
        proxied = _proxied(url)
        if proxied:
            await _places(url)  # the direct connection asks for them itself
        own = headers if (url.scheme, url.netloc) == first else {}
        async with clients[proxied].stream("GET", url, headers={"User-Agent": _AGENT, **own}) as response:
            if not response.is_redirect or "location" not in response.headers:
                return await _read(response)
            url = response.url.join(response.headers["location"])
    raise ToolError(f"{url} redirects too often")


async def _read(response: httpx.Response) -> Page:
    address = str(response.url)
    if response.status_code in _AGAIN:
        raise _TryAgain(f"{address} answers {response.status_code}; try later or use another source")
    if response.status_code >= 400:
        raise ToolError(f"{address} answers {response.status_code}; check the address or use another source")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    most = _MOST_BYTES if not kind or _WRITTEN.search(kind) else _MOST_FILE_BYTES
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > most:
            raise ToolError(f"{address} sends more than {most / 1e6:g} MB; use another source")
    return Page(address, kind, bytes(content), _known(response.charset_encoding))


def _known(encoding: str | None) -> str | None:
    try:
        return codecs.lookup(encoding).name if encoding else None
    except LookupError:
        return None


async def _places(url: httpx.URL) -> list[str]:
    """The machines that an address stands for, all of them public; none when it may be used as it is.

    Raises:
        ToolError: It is no web address, its host is not known, or one of the machines is private.
    """
    if url.scheme not in ("http", "https") or not url.host:
        raise ToolError(f"{str(url)!r} is no web address; give one that begins with https://")
    if _is_allowed(url):
        return []
    host = url.raw_host.decode("ascii")
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        if _proxied(url):
            return []  # the proxy knows names that this machine need not know
        raise ToolError(f"the host {url.host!r} is not known: {error}") from error
    numbers = list(dict.fromkeys(str(place[4][0]) for place in found))
    for number in numbers:
        _refuse_private(number, url.host)
    return numbers


def _proxied(url: httpx.URL) -> bool:
    proxies = getproxies()
    return bool(proxies.get(url.scheme) or proxies.get("all")) and not proxy_bypass(url.host)


def _refuse_private(number: str, host: str) -> None:
    if not _is_public(ipaddress.ip_address(number.partition("%")[0])):
        raise ToolError(f"{host!r} is an address of a private network, which is not open to members")


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address belongs to the public network, as does the IPv4 address that it may hold."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if address in _EMBEDDED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not address.is_multicast


def _is_allowed(url: httpx.URL) -> bool:
    allowed = {name.strip().casefold() for name in os.environ.get(ALLOWED, "").split(",")}
    port = url.port or (443 if url.scheme == "https" else 80)
    return url.host.casefold() in allowed or f"{url.host.casefold()}:{port}" in allowed
