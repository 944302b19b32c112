"""Which model serves which role, and the client for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, get_args

from captain.config import CaptainConfig, ModelSpec, Role, WeightsConfig
from captain.errors import ConfigError
from captain.models.calls import CallMemory, Meter, ModelCall
from captain.models.resolve import address_of, key_of, resolve
from captain.results import Usage

if TYPE_CHECKING:
    from captain.models.client import MeteredClient
    from captain.models.requests import Backend


class ModelRouter:
    """Gives each role its model client and adds up what all of them spend.

    One router serves one solve; its clients share connections and the bound on concurrency with all other routers of
    the process that talk to the same endpoint.
    """

    def __init__(
        self,
        config: CaptainConfig,
        *,
        observer: Callable[[ModelCall], None] | None = None,
        guard: Callable[[], None] | None = None,
        memory: CallMemory | None = None,
        notices: Callable[[str], None] | None = None,
    ) -> None:
        """Resolves the model of every role; nothing is sent, loaded or started yet.

        Args:
            config: The configuration.
            observer: Gets the record of each model call, answered or failed.
            guard: Called before each request; it raises `LimitExceeded` to stop the call.
            memory: Knows calls that were paid for already.
            notices: Gets lines for people, such as which model `auto` took and what it costs.

        Raises:
            ConfigError: A key, an address or a name is missing or wrong.
        """
        self._config = config
        self._observer = observer
        self._guard = guard
        self._memory = memory
        self._offline = memory is not None and memory.strict
        self._meter = Meter()
        self._clients: dict[str, MeteredClient] = {}
        self._backends: dict[str, Backend] = {}
        self._specs: dict[str, ModelSpec] = {}
        resolved: list[tuple[ModelSpec, ModelSpec]] = []
        for role in get_args(Role):
            given = config.roles.get(role, config.model)
            known = next((spec for other, spec in resolved if other is given), None)
            if known is None:
                known, notice = (given, None) if self._offline else resolve(given)
                resolved.append((given, known))
                if notice and notices is not None:
                    notices(notice)
            self._specs[role] = known

    def spec(self, role: Role) -> ModelSpec:
        """Gives the specification of the model that serves a role; its provider is never `auto`."""
        try:
            return self._specs[role]
        except KeyError:
            raise ConfigError(f"unknown role {role!r}; roles are {', '.join(self._specs)}") from None

    def specs(self) -> dict[Role, ModelSpec]:
        """Gives the resolved specification of every role."""
        return {role: self._specs[role] for role in get_args(Role)}

    def client(self, role: Role) -> MeteredClient:
        """Gives the client of a role; the same one each time."""
        spec = self.spec(role)
        if role not in self._clients:
            from captain.models.client import MeteredClient

            self._clients[role] = MeteredClient(
                role,
                spec=spec,
                backend=self._backend(spec),
                meter=self._meter,
                observer=self._observer,
                guard=self._guard,
                memory=self._memory,
            )
        return self._clients[role]

    def usage(self) -> Usage:
        """Gives what was spent until now; `seconds` is the time spent waiting for endpoints."""
        return self._meter.usage()

    @property
    def under_way(self) -> int:
        """Requests that are out at this moment and not yet counted in `usage()`."""
        return self._meter.under_way

    async def aclose(self) -> None:
        """Gives back the connections. The router may still be used: it opens new ones then."""
        from captain.models.connections import release

        await release(self)

    def _backend(self, spec: ModelSpec) -> Backend:
        name = spec.model_dump_json()
        if name not in self._backends:
            self._backends[name] = self._build(spec)
        return self._backends[name]

    def _build(self, spec: ModelSpec) -> Backend:
        if self._offline:
            from captain.models.offline import OfflineBackend

            return OfflineBackend()
        if spec.provider == "scripted":
            from captain.models.scripted import scripted_backend

            return scripted_backend(spec)
        from captain.models.client import model_info
        from captain.models.http import HttpBackend

        if spec.provider == "embedded":
            address = partial(_start_embedded, spec, self._config.models)
        else:
            address = partial(address_of, spec)
        return HttpBackend(spec, info=model_info(spec), key=key_of(spec), address=address, user=self)


def _start_embedded(spec: ModelSpec, weights: WeightsConfig) -> str:
    from captain.models.embedded import ensure_server

    return str(ensure_server(spec, weights).base_url)
