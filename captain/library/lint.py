"""Looking a library over: all faults of its profiles and tools, each with its place and its remedy."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from captain.errors import CaptainError, ConfigError
from captain.library.keeping import FOLDERS
from captain.library.likeness import like_in_meaning
from captain.library.lint_kinds import Fault, LintReport
from captain.library.lint_profiles import Draft, between, entry_faults, files_of, pair_faults, read_drafts
from captain.library.lint_tools import ToolFaults, lint_modules

if TYPE_CHECKING:
    from captain.library.library import Library

__all__ = ["Fault", "LintReport", "lint_library"]


async def lint_library(library: Library, paths: Sequence[str] = (), *, instead_of: Path | None = None) -> LintReport:
    """Looks a library over.

    Args:
        library: The configured library. All of it is looked at when no paths are given.
        paths: Packages, folders or YAML files of profiles, and `.py` files of tools, to be looked at instead. They are
            compared with the configured library all the same.
        instead_of: A file of the library whose place the paths are to take.

    Raises:
        ConfigError: A path does not exist.
    """
    return await _Lint(library, paths, instead_of).run()


class _Lint:
    def __init__(self, library: Library, paths: Sequence[str], instead_of: Path | None) -> None:
        self._library = library
        self._config = library.config
        self._paths = [path for path in paths if not path.endswith(".py")]
        self._modules = [path for path in paths if path.endswith(".py")]
        self._all = not paths
        self._instead_of = instead_of
        self._faults: list[Fault] = []
        self._unchecked: list[str] = []

    async def run(self) -> LintReport:
        await self._library.list_servers()
        tools = await asyncio.to_thread(self._tools)
        drafts = await asyncio.to_thread(self._drafts)
        known = await asyncio.to_thread(self._known_tools, tools)
        checked = [draft for draft in drafts if draft.checked]
        for draft in checked:
            self._faults += entry_faults(draft, tools=known, settings=self._config.library)
        self._faults += pair_faults(drafts)
        if checked:
            self._faults += await asyncio.to_thread(self._alike, drafts)
        for draft in checked:
            self._faults += await self._dead_query(draft)
        faults = tuple(dict.fromkeys(sorted(self._faults, key=_by_place)))
        return LintReport(faults, len(checked), len(tools.names), tuple(dict.fromkeys(self._unchecked)))

    def _tools(self) -> ToolFaults:
        """The tools that are looked at."""
        if self._all:
            found = lint_modules(self._config.tools.modules if self._config.tools.enabled else ())
        else:
            with _importable(self._modules) as names:
                found = lint_modules(names)
        self._faults += found.faults
        return found

    def _known_tools(self, found: ToolFaults) -> set[str] | None:
        """The names that profiles may link to: also those of tools that are broken, which is told elsewhere."""
        names = set(found.names)
        if not self._all and self._config.tools.enabled:
            names |= set(lint_modules(self._config.tools.modules).names)
        if self._config.tools.mcp:
            try:
                names |= {tool.name for tool in self._library.tools()}
                silent = "; ".join(f"{name}: {error}" for name, error in self._library.servers.faults.items())
            except CaptainError as error:
                silent = str(error)
            if silent:
                self._unchecked.append(f"links to tools: {silent}")
                return None
        return names if self._config.tools.enabled else None

    def _drafts(self) -> list[Draft]:
        """The entries of the configured library and, after them, those of the paths."""
        given: list[Traversable] = [path for source in self._paths for path in files_of(source)]
        places = {Path(str(path)).resolve() for path in given}
        if self._instead_of is not None:
            places.add(self._instead_of.resolve())
        configured = [path for path in self._configured() if Path(str(path)).resolve() not in places]
        drafts, faults = read_drafts(configured, checked=self._all)
        more, further = read_drafts(given)
        self._faults += faults + further
        return drafts + more

    def _configured(self) -> Iterator[Traversable]:
        settings = self._config.library
        for setting, sources in (("library.profiles", settings.profiles), ("library.sources", settings.sources)):
            for source in sources:
                try:
                    yield from files_of(source)
                except ConfigError as error:
                    if self._all:
                        self._faults.append(Fault("bad-source", setting, source, str(error)))
        for origin in FOLDERS:
            folder = self._library.keeper.folder(origin)
            yield from sorted(folder.glob("*.yaml")) if folder.is_dir() else ()

    def _alike(self, drafts: Sequence[Draft]) -> list[Fault]:
        whole = [(draft, draft.profile.brief()) for draft in drafts if draft.profile is not None]
        try:
            vectors = self._library.embedding().encode([brief for _, brief in whole])
        except CaptainError as error:
            self._unchecked.append(f"near-duplicates by meaning: {error}")
            return []
        faults: list[Fault] = []
        for earlier, later, cosine in like_in_meaning(vectors, self._config.library.same_meaning):
            message = f"means nearly the same as {{other!r}} (cosine {cosine:.2f}), which stands"
            faults += between(whole[earlier][0], whole[later][0], "near-duplicate-meaning", message, "description")
        return faults

    async def _dead_query(self, draft: Draft) -> list[Fault]:
        query = draft.profile.tools_query if draft.profile is not None else None
        if not query or not self._config.tools.enabled:
            return []
        try:
            found = await self._library.search_tools(query, 1)
        except CaptainError as error:
            self._unchecked.append(f"queries for tools: {error}")
            return []
        return [] if found else [draft.fault("dead-tools-query", f"no tool is found by {query!r}", "tools_query")]


@contextmanager
def _importable(paths: Sequence[str]) -> Iterator[list[str]]:
    """Lets files of tools be imported by the names that it gives, as long as the block runs."""
    names = []
    for path in paths:
        file = Path(path).expanduser()
        if not file.is_file():
            raise ConfigError(f"{path!r} does not exist; give files and folders of profiles, or .py files of tools")
        names.append(file.stem)
    folders = [str(Path(path).expanduser().resolve().parent) for path in paths]
    sys.path[:0] = folders
    try:
        yield names
    finally:
        del sys.path[: len(folders)]


def _by_place(fault: Fault) -> tuple[str, int, str]:
    file, _, line = fault.where.rpartition(":")
    return (file, int(line), fault.kind) if line.isdecimal() else (fault.where, 0, fault.kind)
