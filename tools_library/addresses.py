"""Requests to the web that a model asked for: only public addresses, bounded in size and time, each hop checked."""

from __future__ import annotations

import ipaddress
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies

from captain.errors import ToolError

if TYPE_CHECKING:
    import httpx

ALLOWED = "CAPTAIN_ALLOWED_HOSTS"
"""Environment variable: hosts (`name` or `name:port`, joined by commas) that may be private."""
_AGENT = "captain-agents (https://pypi.org/project/captain-agents/)"
_MOST_BYTES = 8_000_000
_SECONDS = 30.0
_HOPS = 5
_ATTEMPTS = 3
_AGAIN = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Page:
    """What an address gave."""

    address: str
    """Where it came from in the end, after redirects."""
    kind: str
    """The content type, without parameters."""
    content: bytes
    encoding: str | None
    """The character set that the server named."""

    def text(self) -> str:
        """The content as text."""
        return self.content.decode(self.encoding or "utf-8", errors="replace")


def get(address: str, *, query: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> Page:
    """Fetch an address.

    Args:
        address: An http or https address.
        query: Parameters that are added to it.
        headers: More headers; they go to the first host only.

    Raises:
        ToolError: The address is not allowed, cannot be reached, answers an error, or sends too much.
    """
    import httpx
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

    retrying = Retrying(
        retry=retry_if_exception_type((httpx.TransportError, _TryAgain)),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_exponential_jitter(initial=0.3, max=4),
        reraise=True,
    )
    try:
        return retrying(_follow, address, query, headers or {})
    except _TryAgain as error:
        raise ToolError(str(error)) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolError(
            f"{address} cannot be reached ({type(error).__name__}: {error}); check the address, or work without the web"
        ) from error


class _TryAgain(Exception):
    """The server asked to come back later."""


def _follow(address: str, query: dict[str, Any] | None, headers: dict[str, str]) -> Page:
    import httpx

    with httpx.Client(timeout=_SECONDS, follow_redirects=False, trust_env=True) as client:
        first = urlsplit(address).netloc
        for _ in range(_HOPS + 1):
            _check(address)
            own = headers if urlsplit(address).netloc == first else {}
            with client.stream("GET", address, params=query, headers={"User-Agent": _AGENT, **own}) as response:
                _check_peer(response, address)
                if response.is_redirect and "location" in response.headers:
                    address, query = urljoin(str(response.url), response.headers["location"]), None
                    continue
                return _read(response)
    raise ToolError(f"{address} redirects too often")


def _read(response: httpx.Response) -> Page:
    address = str(response.url)
    if response.status_code in _AGAIN:
        raise _TryAgain(f"{address} answers {response.status_code}; try later or use another source")
    if response.status_code >= 400:
        raise ToolError(f"{address} answers {response.status_code}; check the address or use another source")
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise ToolError(f"{address} sends more than {_MOST_BYTES // 1_000_000} MB; use another source")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Page(address, kind, bytes(content), response.charset_encoding)


def _check(address: str) -> None:
    """Refuse what is no public web address."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ToolError(f"{address!r} is no web address; give one that begins with https://")
    try:
        port = parts.port
        found = socket.getaddrinfo(
            parts.hostname, port or (443 if parts.scheme == "https" else 80), type=socket.SOCK_STREAM
        )
    except (OSError, ValueError, UnicodeError) as error:
        raise ToolError(f"the host {parts.hostname!r} is not known: {error}") from error
    if not _is_allowed(parts.hostname, port):
        for place in found:
            _refuse_private(str(place[4][0]), parts.hostname)


def _check_peer(response: httpx.Response, address: str) -> None:
    """Refuse an answer of another machine than those that were checked: a name may change between two look-ups."""
    parts = urlsplit(address)
    if getproxies():
        return  # then the peer is the user's own proxy, which looks the name up itself
    stream = response.extensions.get("network_stream")
    peer = stream.get_extra_info("server_addr") if stream is not None else None
    if peer and parts.hostname and not _is_allowed(parts.hostname, parts.port):
        _refuse_private(str(peer[0]), parts.hostname)


def _refuse_private(number: str, host: str) -> None:
    if not ipaddress.ip_address(number.partition("%")[0]).is_global:
        raise ToolError(f"{host!r} is an address of a private network, which is not open to members")


def _is_allowed(host: str, port: int | None) -> bool:
    allowed = {name.strip().casefold() for name in os.environ.get(ALLOWED, "").split(",")}
    return host.casefold() in allowed or f"{host.casefold()}:{port}" in allowed
