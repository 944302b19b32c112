"""HTTP connections: one pool per event loop, shared by everything that talks from that loop.

Connections belong to the event loop that opened them, and a notebook or a server may run several loops in turn or at
once. A pool is closed when the last router that used it on its loop is closed.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from captain.models.bodies import ENCODINGS, bound_body

if TYPE_CHECKING:
    import ssl

    from openai import DefaultAsyncHttpxClient

CONNECT_TIMEOUT = 5.0
"""Seconds that making a connection may take."""


@dataclass
class _Pool:
    http: DefaultAsyncHttpxClient
    users: set[int] = field(default_factory=set)


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()
_lock = threading.Lock()


def lease(user: object) -> DefaultAsyncHttpxClient:
    """Gives the HTTP client of the running event loop and notes who uses it."""
    loop = asyncio.get_running_loop()
    with _lock:
        pool = _pools.get(loop)
        if pool is None or pool.http.is_closed:
            pool = _pools[loop] = _Pool(_http_client())
        pool.users.add(id(user))
        return pool.http


async def release(user: object) -> None:
    """Ends the use of all pools by `user`; pools that nobody uses any more are closed."""
    here = asyncio.get_running_loop()
    with _lock:
        idle = []
        for loop, pool in list(_pools.items()):
            pool.users.discard(id(user))
            if not pool.users or loop.is_closed():
                idle.append((loop, _pools.pop(loop)))
    for loop, pool in idle:
        if loop is here:
            await pool.http.aclose()
        elif loop.is_running():
            asyncio.run_coroutine_threadsafe(pool.http.aclose(), loop)


def _http_client() -> DefaultAsyncHttpxClient:
    """Builds the cheapest client there is: aiohttp's transport takes half the CPU time of the default one."""
    import openai

    settings: dict[str, Any] = {
        "follow_redirects": False,
        "headers": {"Accept-Encoding": ENCODINGS},
        "event_hooks": {"response": [bound_body]},
    }
    try:
        import aiohttp  # noqa: F401  (openai's own adapter needs it)
    except ImportError:
        return openai.DefaultAsyncHttpxClient(verify=_tls(), **settings)
    return openai.DefaultAioHttpClient(verify=_tls(), **settings)


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Reads the certificates once per process: this takes longer than many model calls."""
    import os
    import ssl

    import certifi

    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())
