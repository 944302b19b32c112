"""The library as a run sees it: what was found and kept is recorded, so that a run that goes on finds the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter

from captain.durable.reading import on_record
from captain.durable.recording import Recording
from captain.library import AgentProfile, Hit, Library
from captain.library.keeping import Kept

if TYPE_CHECKING:
    from captain.tools import ToolSpec

Item = TypeVar("Item")
_HIT: TypeAdapter[Hit[Any]] = TypeAdapter(Hit[Any])


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
        return _hits(found, {profile.name: profile for profile in self._library.experts()})

    async def list_servers(self) -> dict[str, Any]:
        """As `Library.list_servers`; a run that goes on has the tools that it began with."""
        if not self._library.config.tools.enabled or not self._library.servers.settings:
            return {}

        async def work(_: str) -> dict[str, Any]:
            return await self._library.list_servers()

        known: dict[str, Any] = await self._recording.step("servers", sorted(self._library.servers.settings), work)
        with on_record("list of servers"):
            self._library.servers.adopt(known)
        return known

    async def search_tools(self, text: str, top_k: int | None = None) -> list[Hit[ToolSpec]]:
        """As `Library.search_tools`; tools that have left the library since are not found again."""
        await self.list_servers()

        async def work(_: str) -> list[dict[str, Any]]:
            return [_plain(hit) for hit in await self._library.search_tools(text, top_k)]

        found = await self._recording.step("search", {"of": "tool", "text": text, "top_k": top_k}, work)
        return _hits(found, {tool.name: tool for tool in self._library.tools()})

    async def keep(self, profile: AgentProfile) -> Kept:
        """As `Library.keep`, once: to keep the same expert again gives the one that was kept."""

        async def work(_: str) -> dict[str, Any]:
            kept = await self._library.keep(profile)
            return {"profile": kept.profile.model_dump(mode="json"), "refused": kept.refused}

        kept = await self._recording.step("keep", _said(profile), work)
        with on_record("new expert"):
            return Kept(AgentProfile.model_validate(kept["profile"]), bool(kept["refused"]))

    async def alike(self, profile: AgentProfile) -> AgentProfile | None:
        """As `Library.alike`."""

        async def work(_: str) -> dict[str, Any] | None:
            found = await self._library.alike(profile)
            return None if found is None else found.model_dump(mode="json")

        found = await self._recording.step("alike", _said(profile), work)
        with on_record("comparison of experts"):
            return None if found is None else AgentProfile.model_validate(found)

    async def likeness(self, text: str, other: str) -> float:
        """As `Library.likeness`."""

        async def work(_: str) -> float:
            return await self._library.likeness(text, other)

        found = await self._recording.step("likeness", [text, other], work)
        with on_record("comparison of texts"):
            return float(found)

    def record(self, expert: str, **use: Any) -> None:
        """As `Library.record`; a replay uses nobody."""
        if not self._recording.strict:
            self._library.record(expert, **use)


def _said(profile: AgentProfile) -> dict[str, Any]:
    """A new expert without its date and run, which differ when the same is done again."""
    return profile.model_dump(mode="json", exclude={"provenance"})


def _plain(hit: Hit[Any]) -> dict[str, Any]:
    values = {field.name: getattr(hit, field.name) for field in dataclasses.fields(hit)}
    return values | {"item": hit.item.name}


def _hits(rows: Any, known: Mapping[str, Item]) -> list[Hit[Item]]:
    with on_record("search"):
        return [_HIT.validate_python({**row, "item": known[row["item"]]}) for row in rows if row["item"] in known]
