"""`captain models`: the weights of the embedded models and of the default embedding."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.cli.terminal import notice, output, say, table
from captain.config import CaptainConfig, WeightsConfig

if TYPE_CHECKING:
    from captain.models.weights import WeightStatus

STEP = 10
"""Percent between two lines of progress where there is no terminal."""


def show_weights(overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> None:
    """Lists the catalogue with the state of each entry on this machine."""
    from captain.models.weights import status

    with output(as_json) as emit:
        states = status(_settings(overrides, config_dir))
        emit({"weights": [_describe(state) for state in states]})
        if not as_json:
            rows = [(state.name, f"{state.size / 2**20:.0f} MiB", state.state, str(state.path)) for state in states]
            table(("name", "size", "state", "path"), rows)


def fetch_weights(name: str, overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> None:
    """Fetches weights unless they are here, verifies them and shows where they are."""
    from captain.models.weights import ensure

    with output(as_json) as emit:
        settings = _settings(overrides, config_dir)
        with _fetch_progress() as progress:
            path = ensure(_weights_name(name), settings, progress, notice)
        emit({"name": _weights_name(name), "path": str(path), "verified": True})
        if not as_json:
            say(f"{path} verified")


def fetch_missing(config: CaptainConfig) -> None:
    """Fetches, with progress, the weights that a configuration needs and that are not here yet."""
    from captain.models.resolve import resolve
    from captain.models.weights import ensure, find

    specs = [resolve(spec)[0] for spec in (config.model, *config.roles.values())]
    names = {spec.weights for spec in specs if spec.provider == "embedded" and spec.weights}
    if config.embedding.provider == "minilm" and config.team.mode != "single":
        names.add("all-minilm-l6-v2")
    here = {state.name for state in _states(config.models) if state.state in ("verified", "unchecked")}
    for name in sorted(names - here):
        with _fetch_progress() as progress:
            ensure(find(name).name, config.models, progress, notice)


def verify_weights(name: str | None, overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> int:
    """Hashes weights anew: the named ones, or all that are here.

    Returns:
        The exit code: 1 when a file is damaged, or the named one is not complete.
    """
    from captain.models.weights import status, verify

    if name is not None and "=" in name:
        overrides, name = [name, *overrides], None
    with output(as_json) as emit:
        settings = _settings(overrides, config_dir)
        here = [state.name for state in status(settings) if state.state not in ("missing", "partial")]
        names = here if name is None else [_weights_name(name)]
        states = [verify(entry, settings) for entry in names]
        emit({"weights": [_describe(state) for state in states]})
        if not as_json:
            for state in states:
                remedy = "" if state.verified else f"; captain models fetch {state.name}"
                say(f"{state.name}: {state.state} ({state.path}){remedy}")
            if not states:
                say("no weights are here yet; captain models fetch NAME")
    return 0 if all(state.verified for state in states) else 1


def _states(settings: WeightsConfig) -> list[WeightStatus]:
    from captain.models.weights import status

    return status(settings)


def _settings(overrides: Sequence[str], config_dir: Path | None) -> WeightsConfig:
    from captain.compose import load_config

    return load_config(overrides, config_dir=config_dir).captain.models


def _weights_name(name: str) -> str:
    """Gives the catalogue's name for a name in `configs/model/` too: people know the one they solve with."""
    from captain.compose import load_config
    from captain.errors import ConfigError
    from captain.models.weights import CATALOG

    if name in CATALOG:
        return name
    try:
        return load_config([f'model="{name}"']).captain.model.weights or name
    except ConfigError:
        return name


def _describe(state: WeightStatus) -> dict[str, Any]:
    return {
        "name": state.name,
        "state": state.state,
        "verified": state.verified,
        "size": state.size,
        "path": str(state.path),
    }


@contextmanager
def _fetch_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Lends a function that shows how much is here: a bar on a terminal, a line every few percent elsewhere."""
    if not sys.stderr.isatty():
        yield _PlainProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=label)


class _PlainProgress:
    """Prints a line whenever another few percent are here."""

    def __init__(self) -> None:
        self._shown: tuple[str, int] = ("", -1)

    def __call__(self, done: int, total: int, label: str) -> None:
        step = (label, 100 * done // max(total, 1) // STEP)
        if step != self._shown:
            self._shown = step
            notice(f"{label}: {done / 2**20:.0f} of {total / 2**20:.0f} MiB")
