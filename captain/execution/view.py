"""What a sandboxed program sees of this machine: system programs and libraries, the interpreter, and its own folder."""

from __future__ import annotations

import site
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from captain.errors import ConfigError

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_SETTINGS = (
    "alternatives",
    "ca-certificates",
    "fonts",
    "group",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "pki",
    "ssl",
    "timezone",
)
_NETWORK = ("gai.conf", "host.conf", "hosts", "protocols", "resolv.conf", "services")
DEVICES = ("null", "zero", "full", "random", "urandom")
"""The devices that a program has, all of them harmless."""


@dataclass(frozen=True)
class View:
    """A file system made of nothing but what is named here."""

    shown: tuple[Path, ...]
    """Files and folders that can be read, parents before what is in them."""
    links: tuple[tuple[str, str], ...]
    """Symbolic links: place and target."""
    folder: Path
    """The one folder that can be written."""
    own_tmp: bool
    """`/tmp` must be a file system of its own, because something that is shown or written lies below it."""

    def folders(self) -> list[str]:
        """Every folder that has to be made before anything can be mounted, parents first."""
        places = [*self.shown, self.folder, *(Path(place) for place, _ in self.links), Path("/dev/x"), Path("/proc/x")]
        made = {parent for place in places for parent in place.parents}
        made |= {place for place in (*self.shown, self.folder) if place.is_dir()}
        made |= {Path("/tmp")} if self.own_tmp else set()
        return sorted(str(path) for path in made if path != Path("/"))


def look(folder: Path, *, read: Sequence[str] = (), network: bool = False) -> View:
    """Say what a program may see.

    Args:
        folder: The run's folder, absolute and without symbolic links.
        read: Further files and folders of the user's choice.
        network: Show also the settings of name resolution.

    Raises:
        ConfigError: A path of `read` is absent or is the root folder.
    """
    links = [(path, str(Path(path).readlink())) for path in _SYSTEM if Path(path).is_symlink()]
    linked = {Path(place) for place, _ in links}
    names = (*_SETTINGS, *_NETWORK) if network else _SETTINGS
    settings = [Path("/etc", name) for name in names]
    wanted = [Path(path) for path in _SYSTEM if Path(path) not in linked] + settings
    wanted += [path for given in (*_interpreter(), *_chosen(read)) for path in (given, given.resolve())]
    shown = tuple(_outermost((path for path in wanted if path.exists()), linked))
    tmp = Path("/tmp")
    own_tmp = any(path == tmp or tmp in path.parents for path in (folder, *shown))
    temporary = str(folder / "tmp")
    links.append(("/dev/shm", temporary))
    if not own_tmp:
        links.append((str(tmp), temporary))
    return View(shown, tuple(links), folder, own_tmp)


def _interpreter() -> Iterator[Path]:
    yield from map(Path, {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix})
    if site.ENABLE_USER_SITE:
        yield Path(site.getusersitepackages())


def _chosen(read: Sequence[str]) -> Iterator[Path]:
    for given in read:
        path = Path(given).expanduser().absolute()
        if not path.exists():
            raise ConfigError(f"sandbox.read: {given!r} does not exist; correct or remove it")
        if path.resolve() == Path("/"):
            raise ConfigError(f"sandbox.read: {given!r} would show the whole machine; name the folders that are needed")
        yield path


def _outermost(paths: Iterable[Path], linked: set[Path]) -> Iterator[Path]:
    """Leave out what lies in a folder that is shown already, or behind a link whose target is."""
    kept: set[Path] = set()
    for path in sorted(set(paths)):
        if linked.isdisjoint((path, *path.parents)) and kept.isdisjoint(path.parents):
            kept.add(path)
            yield path
