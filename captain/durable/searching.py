"""The library as a run sees it: what was found and kept is recorded, so that a run that goes on finds the same."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from captain.durable.recording import Recording
from captain.library import AgentProfile, Hit, Library
from captain.library.keeping import Kept

if TYPE_CHECKING:
    from captain.tools import ToolSpec


class RecordedLibrary:
    """A library whose searches and new experts are recorded; everything else is the library's own."""

    def __init__(self, library: Library, recording: Recording) -> None:
        self._library = library
        self._recording = recording

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    async def search_experts(self, text: str, top_k: int | None = None) -> list[Hit[AgentProfile]]:
        """As `Library.search_experts`; experts that have left the library since are not found again."""

        async def work(_: str) -> list[dict[str, Any]]:
            return [_plain(hit) for hit in await self._library.search_experts(text, top_k)]

        found = await self._recording.step("search", {"of": "expert", "text": text, "top_k": top_k}, work)
        known = {profile.name: profile for profile in self._library.experts()}
        return [_hit(row, known[row["item"]]) for row in found if row["item"] in known]

    async def search_tools(self, text: str, top_k: int | None = None) -> list[Hit[ToolSpec]]:
        """As `Library.search_tools`; tools that have left the library since are not found again."""

        async def work(_: str) -> list[dict[str, Any]]:
            return [_plain(hit) for hit in await self._library.search_tools(text, top_k)]

        found = await self._recording.step("search", {"of": "tool", "text": text, "top_k": top_k}, work)
        known = {tool.name: tool for tool in self._library.tools()}
        return [_hit(row, known[row["item"]]) for row in found if row["item"] in known]

    async def keep(self, profile: AgentProfile) -> Kept:
        """As `Library.keep`, once: to keep the same expert again gives the one that was kept."""

        async def work(_: str) -> dict[str, Any]:
            kept = await self._library.keep(profile)
            return {"profile": kept.profile.model_dump(mode="json"), "refused": kept.refused}

        kept = await self._recording.step("keep", profile.model_dump(mode="json"), work)
        return Kept(AgentProfile.model_validate(kept["profile"]), kept["refused"])


def _plain(hit: Hit[Any]) -> dict[str, Any]:
    values = {field.name: getattr(hit, field.name) for field in dataclasses.fields(hit)}
    return values | {"item": hit.item.name}


def _hit(row: dict[str, Any], item: Any) -> Hit[Any]:
    return Hit(**{**row, "item": item})
