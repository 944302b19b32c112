"""`captain library`: what experts and tools there are, and which of them a text finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.cli.terminal import output, say, table
from captain.errors import ConfigError

if TYPE_CHECKING:
    from captain.library import AgentProfile, Hit, Library
    from captain.tools import ToolSpec


def show_library(overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> None:
    """Lists all experts and tools."""
    with output(as_json) as emit:
        library = _open(overrides, config_dir)
        experts = [_describe_expert(profile) for profile in library.experts()]
        tools = [_describe_tool(tool) for tool in library.tools()]
        emit({"experts": experts, "tools": tools})
        if not as_json:
            table(("expert", "domain", "what for"), [(e["name"], e["domain"], e["description"]) for e in experts])
            say()
            table(("tool", "category", "what for"), [(t["name"], t["category"], t["description"]) for t in tools])


def search_library(
    text: str, overrides: Sequence[str], *, of: str, top: int, config_dir: Path | None, as_json: bool
) -> None:
    """Shows the experts or tools that a text finds, best first, with their scores."""
    if of not in ("expert", "tool"):
        raise ConfigError(f"--of takes expert or tool, not {of!r}")
    if not text.strip():
        raise ConfigError("the text to search for is empty; say what the expert or tool should do")
    with output(as_json) as emit:
        library = _open(overrides, config_dir)
        if of == "expert":
            found = asyncio.run(library.search_experts(text, top))
            hits = [_describe_expert(hit.item) | _scores(hit) for hit in found]
        else:
            found_tools = asyncio.run(library.search_tools(text, top))
            hits = [_describe_tool(hit.item) | _scores(hit) for hit in found_tools]
        emit({"query": text, "of": of, "hits": hits})
        if not as_json:
            rows = [(f"{hit['score']:.3f}", hit["name"], hit["description"]) for hit in hits]
            table(("score", of, "what for"), rows)


def _open(overrides: Sequence[str], config_dir: Path | None) -> Library:
    from captain.compose import load_config
    from captain.library import Library

    return Library(load_config(overrides, config_dir=config_dir).captain)


def _describe_expert(profile: AgentProfile) -> dict[str, Any]:
    keys = {"name", "title", "domain", "description", "tools", "kind", "role", "origin"}
    return profile.model_dump(mode="json", include=keys)


def _describe_tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "category": tool.category,
        "description": tool.description,
        "missing": tool.missing(),
    }


def _scores(hit: Hit[Any]) -> dict[str, Any]:
    return {"score": hit.score, "dense": hit.dense, "lexical": hit.lexical}
