"""The backend of a replay: everything is on record, and nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from captain.errors import NotRecorded
from captain.models.requests import Reply, Request

if TYPE_CHECKING:
    from captain.models.endpoint import Endpoint


class OfflineBackend:
    """Refuses to send anything."""

    async def endpoint(self) -> Endpoint:
        """Raises `NotRecorded`: there is none."""
        raise NotRecorded("replay: a model was asked for something that was not recorded")

    async def send(self, request: Request) -> Reply:
        """Raises `NotRecorded`: nothing is sent."""
        raise NotRecorded("replay: a model was asked for something that was not recorded")
