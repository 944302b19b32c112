"""The commands of `captain library` and their options. Each body imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from captain.cli.options import ConfigDir, Json, Overrides

library = typer.Typer(help="Look into the libraries of experts and tools, and change your own.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name from `captain library list`.")]
Of = Annotated[str, typer.Option("--of", metavar="expert|tool", help="What to look for.")]


@library.command("list")
def library_list(
    overrides: Overrides = None,
    of: Annotated[str | None, typer.Option("--of", metavar="expert|tool", help="Only experts, or only tools.")] = None,
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="D", help="Only this domain of experts or category of tools.")
    ] = None,
    origin: Annotated[
        str | None, typer.Option("--origin", metavar="O", help="Only experts that are packaged, user or written.")
    ] = None,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> None:
    """List experts and tools, by domain."""
    from captain.cli.library import show_library

    show_library(overrides or [], of=of, domain=domain, origin=origin, config_dir=config_dir, as_json=as_json)


@library.command("search")
def library_search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is looked for, in plain words.")],
    overrides: Overrides = None,
    of: Of = "expert",
    top: Annotated[int, typer.Option("--top", metavar="K", min=1, help="How many hits to show.")] = 5,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> None:
    """Search experts or tools by meaning and words, and say where each score comes from."""
    from captain.cli.library import search_library

    search_library(text, overrides or [], of=of, top=top, config_dir=config_dir, as_json=as_json)


@library.command("show")
def library_show(
    name: Name,
    overrides: Overrides = None,
    of: Annotated[str | None, typer.Option("--of", metavar="expert|tool", help="Which, when both have it.")] = None,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> None:
    """Show all of one expert or tool: where it comes from, how it did, and how it is used."""
    from captain.cli.library_entry import show_entry

    show_entry(name, overrides or [], of=of, config_dir=config_dir, as_json=as_json)


@library.command("add")
def library_add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A YAML file of profiles.")],
    overrides: Overrides = None,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> None:
    """Check a file of profiles and copy its experts into your library.

    Exit code: 2 when it has faults, or says what an expert of the library says; nothing is added then.
    """
    from captain.cli.library_change import add_experts

    add_experts(file, overrides or [], config_dir=config_dir, as_json=as_json)


@library.command("lint")
def library_lint(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATHS OVERRIDES",
            help="Files, folders or packages of profiles, .py files of tools; the whole library when absent; settings.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail, too.")] = False,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> int:
    """Look for faults of profiles and tools.

    Exit code: 0 without errors, 2 with.
    """
    from captain.cli.library_change import show_faults

    return show_faults(words or [], strict=strict, config_dir=config_dir, as_json=as_json)


@library.command("index")
def library_index(
    overrides: Overrides = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Embed everything anew.")] = False,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> int:
    """Bring the index up to date and audit it; exit code 1 when the audit fails."""
    from captain.cli.library import build_index

    return build_index(overrides or [], rebuild=rebuild, config_dir=config_dir, as_json=as_json)


@library.command("stats")
def library_stats(overrides: Overrides = None, config_dir: ConfigDir = None, as_json: Json = False) -> None:
    """Show how often experts were seated, for which scenario, and how that went."""
    from captain.cli.library import show_stats

    show_stats(overrides or [], config_dir=config_dir, as_json=as_json)


@library.command("forget")
def library_forget(
    name: Name,
    overrides: Overrides = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> int:
    """Remove an expert of yours or a written one, with its record of use; never a packaged one."""
    from captain.cli.library_change import forget_expert

    return forget_expert(name, overrides or [], yes=yes, config_dir=config_dir, as_json=as_json)


@library.command("promote")
def library_promote(
    name: Name, overrides: Overrides = None, config_dir: ConfigDir = None, as_json: Json = False
) -> None:
    """Make a written expert your own."""
    from captain.cli.library_change import promote_expert

    promote_expert(name, overrides or [], config_dir=config_dir, as_json=as_json)


@library.command("edit")
def library_edit(name: Name, overrides: Overrides = None, config_dir: ConfigDir = None, as_json: Json = False) -> None:
    """Open an expert of yours or a written one in $EDITOR; without one, print its file."""
    from captain.cli.library_change import edit_expert

    edit_expert(name, overrides or [], config_dir=config_dir, as_json=as_json)
