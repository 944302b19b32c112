"""`captain library show`: all of one expert or tool."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.cli.library import check_of, describe_expert, describe_tool, open_library, tools_of, type_name
from captain.cli.terminal import clean, output, say
from captain.errors import ConfigError

if TYPE_CHECKING:
    from captain.library import AgentProfile, Library
    from captain.tools import ToolSpec


def show_entry(name: str, overrides: Sequence[str], *, of: str | None, config_dir: Path | None, as_json: bool) -> None:
    """Shows one expert or tool."""
    check_of(of)
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        expert = None if of == "tool" else next((e for e in library.experts() if e.name == name), None)
        tool = None if expert or of == "expert" else next((t for t in tools_of(library) if t.name == name), None)
        if expert is not None:
            data, lines = _expert(library, expert)
        elif tool is not None:
            data, lines = _tool(tool)
        else:
            raise ConfigError(_unknown(library, name, of))
        emit(data)
        if not as_json:
            for label, text in lines:
                if text:
                    first, *more = clean(text).split("\n")
                    say(f"{label:<13} {first}")
                    for line in more:
                        say(f"{'':<13} {line}")


def _expert(library: Library, expert: AgentProfile) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    stats = library.stats()
    selections, uses = stats["selections"].get(expert.name, {}), stats["uses"].get(expert.name, {})
    file = _place(library, expert)
    data = {"of": "expert", **describe_expert(expert), "file": file, "selections": selections, "uses": uses}
    lines = [
        ("expert", f"{expert.name}: {expert.title}"),
        ("domain", expert.domain),
        ("origin", _origin(expert)),
        ("file", file),
        ("what for", expert.description),
        ("instructions", expert.instructions),
        ("kind", f"{expert.kind}, speaks with the model of the role {expert.role!r}"),
        ("factory", _factory(expert)),
        ("tools", ", ".join(expert.tools)),
        ("tools query", expert.tools_query or ""),
        ("tags", ", ".join(expert.tags)),
        ("examples", "\n".join(expert.examples)),
        ("outcomes", _outcomes(selections, uses)),
        ("how to use", f"a role with the title {expert.title!r} takes it; else it is found by what it is described as"),
    ]
    return data, lines


def _tool(tool: ToolSpec) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    needs = tool.needs
    effects = [text for text, on in (("reaches the network", needs.network), ("has effects", needs.side_effects)) if on]
    parameters = [
        f"{p.name}: {type_name(p.annotation)}{'' if p.required else f' = {p.default!r}'}  {p.description}"
        for p in tool.parameters
    ]
    file = inspect.getsourcefile(inspect.unwrap(tool.function)) or ""
    data = {
        "of": "tool",
        **describe_tool(tool),
        "needs": {"packages": list(needs.packages), "env": list(needs.env), "programs": list(needs.programs)},
        "network": needs.network,
        "side_effects": needs.side_effects,
        "file": file,
    }
    lines = [
        ("tool", tool.name),
        ("category", tool.category),
        ("file", file),
        ("what for", tool.description),
        ("parameters", "\n".join(parameters)),
        ("needs", ", ".join([*needs.packages, *needs.env, *needs.programs])),
        ("effects", ", ".join(effects)),
        ("missing", "; ".join(tool.missing())),
        ("how to use", f"write tools: [{tool.name}] into a profile; else it is found by its description"),
    ]
    return data, lines


def _place(library: Library, expert: AgentProfile) -> str:
    """File and line of an expert."""
    from captain.library.keeping import FOLDERS
    from captain.library.profiles import find_kept
    from captain.library.sources import find_configured

    found = find_configured(library.config.library)
    for origin in FOLDERS:
        found += find_kept(library.keeper.folder(origin), origin)
    return next((item.where for item in found if item.profile.name == expert.name), "")


def _origin(expert: AgentProfile) -> str:
    made = expert.provenance
    if made is None:
        return expert.origin
    when = made.date.strftime("%Y-%m-%d")
    return f"{expert.origin}, written by {made.model} on {when}{f' for the run {made.run}' if made.run else ''}"


def _factory(expert: AgentProfile) -> str:
    if expert.factory is None:
        return ""
    return f"{expert.factory}({', '.join(f'{name}: {p.type}' for name, p in expert.parameters.items())})"


def _outcomes(selections: dict[str, int], uses: dict[str, dict[str, Any]]) -> str:
    if not selections:
        return "not seated yet"
    lines = []
    for scenario, count in selections.items():
        use = uses[scenario]
        place = "single tasks" if scenario == "-" else f"scenario {scenario}"
        lines.append(f"{place}: seated {count} times, held {use['successes']:g} of {use['judged']} that were judged")
    return "\n".join(lines)


def _unknown(library: Library, name: str, of: str | None) -> str:
    from captain.library.spelling import did_you_mean

    experts = [] if of == "tool" else [expert.name for expert in library.experts()]
    tools = [] if of == "expert" else [tool.name for tool in library.tools()]
    return f"the library has no {of or 'expert or tool'} {name!r}{did_you_mean(name, [*experts, *tools])}"
