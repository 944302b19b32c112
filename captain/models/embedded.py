"""The embedded model server: llama.cpp's own HTTP server in a thread of this process, on a free loopback port.

Each process has at most one server per model; it stops with the process. Settings are those that were measured to be
fastest without changing what the model says.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import platform
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from captain.config import ModelSpec, WeightsConfig
from captain.errors import ConfigError, ModelError
from captain.models.transport import Progress
from captain.models.weights import Notice, ensure

_READY_SECONDS = 300.0
_PROMPT_CACHE_MIB = 1024
"""Host memory for the prompts of conversations that lost their slot."""
_log = logging.getLogger(__name__)


class EmbeddedServer:
    """A running server.

    Attributes:
        base_url: The OpenAI-compatible address, `http://127.0.0.1:PORT/v1`.
        model: The name it answers to.
        context_window: Tokens that one request may use, prompt and reply together.
    """

    def __init__(self, base_url: str, model: str, context_window: int, runtime: object) -> None:
        """Wrap a started `runtime`; `ensure_server` is how to get one."""
        self.base_url = base_url
        self.model = model
        self.context_window = context_window
        self._runtime: object | None = runtime

    def close(self) -> None:
        """Stop the server and free its memory; a second call does nothing."""
        _SERVERS.forget(self)
        self._runtime = None  # The runtime stops in its destructor and has no other way.


def ensure_server(
    spec: ModelSpec,
    weights: WeightsConfig,
    *,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> EmbeddedServer:
    """The server of the embedded model that `spec` names, started when this process has none yet.

    Blocks while it fetches weights and starts: call it in a thread from async code. Safe to call from several threads.

    Args:
        spec: Its `weights`, `context_window`, `slots` and `threads` count.
        weights: Where the weights come from.
        progress: Told how far a fetch is.
        notice: Told what the user should know.

    Raises:
        ConfigError: The weights or the runtime cannot be used here, or the model already runs with a smaller context.
        ModelError: The runtime did not become ready.
    """
    if not spec.weights:
        raise ConfigError(f"model {spec.name!r} is embedded but names no weights; see `captain models list`")
    path = ensure(spec.weights, weights, progress, notice)
    server = _SERVERS.get(path, lambda: _start(spec, path))
    if server.context_window < spec.context_window:
        raise ConfigError(
            f"model {spec.name!r} wants a context of {spec.context_window} tokens, but {server.model!r} already runs "
            f"with {server.context_window} in this process; give both the same context_window"
        )
    return server


class _Servers:
    """The servers of this process, by weights file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Path, EmbeddedServer] = {}

    def get(self, path: Path, start: Callable[[], EmbeddedServer]) -> EmbeddedServer:
        with self._lock:
            if path not in self._running:
                self._running[path] = start()
            return self._running[path]

    def forget(self, server: EmbeddedServer) -> None:
        with self._lock:
            self._running = {path: kept for path, kept in self._running.items() if kept is not server}

    def close_all(self) -> None:
        for server in list(self._running.values()):
            server.close()

    def abandon(self) -> None:
        """In a forked child: the threads of the parent's servers do not exist here, and stopping them waits."""
        self._abandoned = self._running
        self._lock, self._running = threading.Lock(), {}


_SERVERS = _Servers()  # One per process by nature: the runtime's memory belongs to the process.
atexit.register(_SERVERS.close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SERVERS.abandon)


def _start(spec: ModelSpec, path: Path) -> EmbeddedServer:
    _check_machine()
    model = spec.model or spec.weights or path.stem
    begun = time.monotonic()
    runtime = _within(_READY_SECONDS, lambda: _runtime(spec, path, model), model)
    address = str(runtime.listening_address)
    _wait_until_healthy(address, begun + _READY_SECONDS, model)
    _log.info("embedded model %s is ready at %s after %.1f s", model, address, time.monotonic() - begun)
    return EmbeddedServer(f"{address}/v1", model, spec.context_window, runtime)


def _runtime(spec: ModelSpec, path: Path, model: str) -> Any:
    """Start the runtime; returns when the model is loaded."""
    with _openmp_settings():
        try:
            import xllamacpp
        except ImportError as error:
            raise ConfigError(_import_remedy(error)) from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {model}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = spec.slots
    params.n_ctx = spec.context_window * spec.slots
    params.cont_batching = True
    params.cache_prompt = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.fit_params = False  # It would shrink the context without a word.
    params.cpuparams.n_threads = spec.threads or _usable_cores()
    params.cpuparams_batch.n_threads = spec.threads or _usable_cores()
    params.n_threads_http = spec.slots + 2
    _draft_from_the_prompt(xllamacpp, params)
    params.verbosity = -1
    params.ui = False
    params.endpoint_slots = False
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ConfigError(
            f"the embedded runtime cannot serve {model!r} with {spec.slots} slots of {spec.context_window} tokens; "
            "a smaller context_window or fewer slots need less memory"
        ) from error


def _draft_from_the_prompt(xllamacpp: Any, params: Any) -> None:
    """Guess the next tokens where the last few stand in the text already, and let the model check the guess at once.

    The reply is the same; one that repeats what it was given, such as a repaired program, comes half as fast again.
    Only log-probabilities suffer: guessed tokens get 0.0, which `likelihood` detects and avoids.
    """
    params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    params.speculative.ngram_simple.size_n = 8
    params.speculative.ngram_simple.size_m = 16


@contextmanager
def _openmp_settings() -> Iterator[None]:
    """Settings that OpenMP reads once, when it is loaded; the user's own win, and child processes inherit none.

    Threads that spin for long between two steps take the cores from whatever runs beside them, and the other way
    round: with a short spin the server keeps most of its speed on a busy machine.
    """
    added = {name: value for name, value in {"GOMP_SPINCOUNT": "1000"}.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _check_machine() -> None:
    """Refuse a processor on which the runtime would die of an illegal instruction."""
    described = _processor()
    if platform.machine().lower() in ("x86_64", "amd64") and "flags" in described and " avx2" not in described:
        raise ConfigError("the embedded models need a processor with AVX2; use model=openai or model=compatible")


def _processor() -> str:
    """What Linux says about the processor; empty elsewhere."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _import_remedy(error: ImportError) -> str:
    if "libgomp" in str(error):
        return "the embedded models need the system library libgomp.so.1 (Debian, Ubuntu: apt-get install libgomp1)"
    return f"the embedded models need the package xllamacpp, which cannot be imported here: {error}"


def _usable_cores() -> int:
    """Cores that this process may use: its affinity and, in a container, its share of processor time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        return max(1, min(cores, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):
        return cores


def _within(seconds: float, start: Callable[[], Any], model: str) -> Any:
    """The result of `start`, which cannot be cancelled, given up after `seconds`."""
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(start())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name=f"start {model}", daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise ModelError(f"the embedded model {model!r} was not loaded within {seconds:.0f} s")
    return outcome.pop()


def _wait_until_healthy(address: str, deadline: float, model: str) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # A proxy has no business on loopback.
    while time.monotonic() < deadline:
        try:
            with opener.open(f"{address}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise ModelError(f"the embedded model {model!r} did not become ready at {address}")
