"""`captain library list | search | index | stats`: what there is, what a text finds, and how it has served."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from captain.cli.terminal import notice, one_line, output, say, table
from captain.errors import ConfigError

if TYPE_CHECKING:
    from captain.library import AgentProfile, Hit, Library
    from captain.tools import ToolSpec

ORIGINS = ("packaged", "user", "written")


def show_library(
    overrides: Sequence[str],
    *,
    of: str | None,
    domain: str | None,
    origin: str | None,
    config_dir: Path | None,
    as_json: bool,
) -> None:
    """Lists experts and tools, all or those of a domain or origin."""
    check_of(of)
    if origin is not None and origin not in ORIGINS:
        raise ConfigError(f"--origin takes {', '.join(ORIGINS)}, not {origin!r}")
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        experts = [] if of == "tool" else _by_domain(library.experts(), domain, origin)
        tools = [] if of == "expert" or origin else _by_category(tools_of(library), domain)
        if domain is not None and not experts and not tools:
            raise ConfigError(_unknown_domain(library, domain))
        emit({"experts": [describe_expert(e) for e in experts], "tools": [describe_tool(t) for t in tools]})
        if not as_json:
            _show_groups("expert", "domain", [(e.domain, e.name, e.description) for e in experts])
            if experts and tools:
                say()
            _show_groups("tool", "category", [(t.category, t.name, t.description) for t in tools])


def search_library(
    text: str, overrides: Sequence[str], *, of: str, top: int, config_dir: Path | None, as_json: bool
) -> None:
    """Shows the experts or tools that a text finds, best first, and where their scores come from."""
    check_of(of)
    if not text.strip():
        raise ConfigError("the text to search for is empty; say what the expert or tool should do")
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        if of == "expert":
            found = asyncio.run(library.search_experts(text, top))
            hits = [describe_expert(hit.item) | _scores(hit) for hit in found]
        else:
            found_tools = asyncio.run(library.search_tools(text, top))
            hits = [describe_tool(hit.item) | _scores(hit) for hit in found_tools]
        emit({"query": text, "of": of, "hits": hits})
        if as_json:
            return
        rows = [(f"{hit['score']:.3f}", hit["name"], hit["description"], hit["explanation"]) for hit in hits]
        table(("score", of, "what for", "why"), rows)
        if not hits:
            settings = "library" if of == "expert" else "tools"
            notice(f"no {of} is near enough; {settings}.threshold=0 shows the nearest")


def build_index(overrides: Sequence[str], *, rebuild: bool, config_dir: Path | None, as_json: bool) -> int:
    """Brings the index to the library and audits it.

    Returns:
        The exit code: 1 when the audit found something wrong.
    """
    from dataclasses import asdict

    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        tools_of(library)
        report = library.index(rebuild=rebuild)
        emit({**asdict(report), "audited": report.audited})
        if not as_json:
            for kind in report.kinds:
                work = (
                    f"{kind.embedded} embedded, {kind.reused} as before, {kind.removed} removed, {kind.seconds:.2f} s"
                )
                audit = "audited" if kind.audited else "THE AUDIT FAILED: run it with --rebuild"
                say(f"{kind.kind:<8} {kind.entries} entries: {work}; {audit}")
            say(f"in       {report.place}")
    return 0 if report.audited else 1


def show_stats(overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> None:
    """Shows how many experts and tools there are, and how often experts were seated."""
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        tools_of(library)
        stats = library.stats()
        emit(stats)
        if as_json:
            return
        say(f"{stats['experts']} experts, {stats['tools']} tools")
        rows = []
        for expert, scenarios in stats["selections"].items():
            for scenario, count in scenarios.items():
                uses = stats["uses"][expert][scenario]
                held = f"{uses['successes']:g} of {uses['judged']}" if uses["judged"] else "-"
                rows.append((count, (expert, scenario, str(count), held, str(uses["mean_tokens"]))))
        rows.sort(key=lambda row: -row[0])
        table(("expert", "scenario", "seated", "held", "tokens each"), [cells for _, cells in rows])


def open_library(overrides: Sequence[str], config_dir: Path | None) -> Library:
    """The library of a configuration."""
    from captain.compose import load_config
    from captain.library import Library

    return Library(load_config(overrides, config_dir=config_dir).captain)


def tools_of(library: Library) -> list[ToolSpec]:
    """All tools, those of MCP servers included."""
    asyncio.run(library.list_servers())
    return library.tools()


def check_of(of: str | None) -> None:
    """Refuses anything but `expert`, `tool` and nothing."""
    if of not in ("expert", "tool", None):
        raise ConfigError(f"--of takes expert or tool, not {of!r}")


def describe_expert(profile: AgentProfile) -> dict[str, Any]:
    """All of a profile, as JSON data."""
    return profile.model_dump(mode="json")


def describe_tool(tool: ToolSpec) -> dict[str, Any]:
    """What is known about a tool, as JSON data."""
    return {
        "name": tool.name,
        "category": tool.category,
        "description": tool.description,
        "parameters": {
            parameter.name: {"type": type_name(parameter.annotation), "description": parameter.description}
            for parameter in tool.parameters
        },
        "missing": tool.missing(),
    }


def type_name(annotation: Any) -> str:
    """A type as one writes it."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _scores(hit: Hit[Any]) -> dict[str, Any]:
    return {
        "score": hit.score,
        "dense": hit.dense,
        "lexical": hit.lexical,
        "similarity": hit.similarity,
        "success": hit.success,
        "cost": hit.cost,
        "explanation": hit.explain(),
    }


def _by_domain(experts: Iterable[AgentProfile], domain: str | None, origin: str | None) -> list[AgentProfile]:
    wanted = [e for e in experts if domain in (None, e.domain) and origin in (None, e.origin)]
    return sorted(wanted, key=lambda expert: expert.domain)


def _by_category(tools: Iterable[ToolSpec], category: str | None) -> list[ToolSpec]:
    return sorted((t for t in tools if category in (None, t.category)), key=lambda tool: tool.category)


def _unknown_domain(library: Library, domain: str) -> str:
    from captain.library.spelling import did_you_mean

    known = sorted({expert.domain for expert in library.experts()} | {tool.category for tool in library.tools()})
    if domain in known:
        return f"nothing of {domain!r} is of that kind or origin; leave --of or --origin out"
    return f"there is no domain {domain!r}{did_you_mean(domain, known) or '; there are ' + ', '.join(known)}"


def _show_groups(of: str, group: str, rows: Sequence[tuple[str, str, str]]) -> None:
    """Rows (group, name, text): one line each, under headings on a terminal, whole and with the group in a pipe."""
    if not sys.stdout.isatty():
        table((of, group, "what for"), [(name, of_group, text) for of_group, name, text in rows])
        return
    width = max((len(name) for _, name, _ in rows), default=0)
    room = max(20, get_terminal_size().columns - width - 4)
    for number, heading in enumerate(dict.fromkeys(of_group for of_group, _, _ in rows)):
        members = [(name, text) for of_group, name, text in rows if of_group == heading]
        say(f"{chr(10) if number else ''}{heading} ({len(members)})")
        for name, text in members:
            say(f"  {name:<{width}}  {one_line(text, limit=room)}")
