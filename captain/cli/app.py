"""The commands and their options. Each body imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from captain.cli.library_commands import library
from captain.cli.options import ConfigDir, Json, Overrides

app = typer.Typer(
    name="captain",
    help="A Captain splits a task, seats teams of experts from a library, and answers with evidence.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich help would cost every `--help` a fifth of a second
    pretty_exceptions_enable=False,
)
models = typer.Typer(help="List, fetch and verify the weights of the embedded models.", no_args_is_help=True)
app.add_typer(library, name="library")
app.add_typer(models, name="models")


@app.command()
def solve(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT OVERRIDES", help="The task (- reads it from stdin), then settings."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", metavar="PATH", help="Read the task from a file.")] = None,
    files: Annotated[
        list[Path] | None, typer.Option("--files", metavar="F", help="A file to hand over with the task; repeatable.")
    ] = None,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> int:
    """Solve one task and show the answer with its evidence.

    Exit code: 0 for solved or unverified, 1 for failed or stopped, 2 for wrong input.
    """
    from captain.cli.solve import solve_task

    return solve_task(words or [], file=file, files=files or [], config_dir=config_dir, as_json=as_json)


@app.command()
def run(
    overrides: Overrides = None,
    multirun: Annotated[
        bool, typer.Option("--multirun", "-m", help="Run every combination of comma lists and ranges in the settings.")
    ] = False,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> int:
    """Run a scenario: scenario=NAME and settings."""
    from captain.cli.run import run_scenarios

    return run_scenarios(overrides or [], multirun=multirun, config_dir=config_dir, as_json=as_json)


@app.command()
def doctor(overrides: Overrides = None, config_dir: ConfigDir = None, as_json: Json = False) -> int:
    """Check whether tasks can be solved here, and say what to do about what is missing."""
    from captain.cli.doctor import examine

    return examine(overrides or [], config_dir=config_dir, as_json=as_json)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The folder of the run.")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> int:
    """Go on with a run that was cut off, stopped by a limit, or waits for you."""
    from captain.cli.runs import resume_run

    return resume_run(folder, overrides or [], as_json=as_json)


@app.command()
def replay(
    folder: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The folder of the run.")],
    as_json: Json = False,
) -> int:
    """Run a recorded run again from its record alone: no model, tool, program or network."""
    from captain.cli.runs import replay_run

    return replay_run(folder, as_json=as_json)


@app.command()
def why(
    folder: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The folder of the run.")],
    as_json: Json = False,
) -> None:
    """Say what failed in a run, per subtask and member, and which step first went wrong."""
    from captain.cli.why import explain_run

    explain_run(folder, as_json=as_json)


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    typer.echo(installed("captain-agents"))


@models.command("list")
def models_list(overrides: Overrides = None, config_dir: ConfigDir = None, as_json: Json = False) -> None:
    """List the weights that can be fetched, and which are here."""
    from captain.cli.models import show_weights

    show_weights(overrides or [], config_dir=config_dir, as_json=as_json)


@models.command("fetch")
def models_fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `captain models list`.")],
    overrides: Overrides = None,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> None:
    """Fetch weights into the cache and verify them."""
    from captain.cli.models import fetch_weights

    fetch_weights(name, overrides or [], config_dir=config_dir, as_json=as_json)


@models.command("verify")
def models_verify(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="All that are here when absent.")] = None,
    overrides: Overrides = None,
    config_dir: ConfigDir = None,
    as_json: Json = False,
) -> int:
    """Check fetched weights against their SHA-256; exit code 1 when one differs."""
    from captain.cli.models import verify_weights

    return verify_weights(name, overrides or [], config_dir=config_dir, as_json=as_json)
