"""Faults of profiles, read entry by entry so that one fault does not hide the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from captain.config import LibraryConfig
from captain.errors import ConfigError
from captain.library.factories import find_factory
from captain.library.likeness import like_in_words
from captain.library.lint_kinds import Fault
from captain.library.lint_texts import text_faults
from captain.library.profile_files import FoundEntry, entries_in
from captain.library.profiles import AgentProfile, source_files
from captain.library.sources import MEMBERS, PROFILES
from captain.library.spelling import did_you_mean

RESERVED = frozenset(
    {"executor", "user", "system", "assistant", "tool", "captain", "planner", "selector", "speaker", "reflector"}
)
LENGTHS = {"title": (3, 60), "description": (40, 400), "instructions": (80, 1200)}
"""Characters, from and to."""

_READ_BY_MODELS = ("title", "description", "instructions")
_READ_BY_SEARCHES = ("tags", "examples", "tools_query")
_EVERYWHERE = ("injection", "invisible-character")


@dataclass(frozen=True)
class Draft:
    """An entry of a file of profiles, however wrong it is."""

    entry: FoundEntry
    profile: AgentProfile | None
    """The expert, when the entry makes one."""
    checked: bool = True
    """Its own faults are asked for; else it is only there to be compared with."""

    @property
    def name(self) -> str:
        """How it calls itself."""
        return str(self.entry.values.get("name", "(without a name)"))

    def fault(self, kind: str, message: str, field: str | None = None) -> Fault:
        """A fault of the entry, at the line of one of its fields."""
        return Fault(kind, self.entry.where(field), self.name, message)


def read_drafts(paths: Iterable[Traversable], *, checked: bool = True) -> tuple[list[Draft], list[Fault]]:
    """The entries of files, and the faults that keep files from being read."""
    drafts: list[Draft] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            entries = entries_in(path)
        except ConfigError as error:
            faults.append(_file_fault(path, str(error)))
            continue
        for entry in entries:
            try:
                profile = AgentProfile.model_validate({**entry.defaults, **entry.values})
            except ValidationError:
                profile = None
            drafts.append(Draft(entry, profile, checked))
    return drafts, faults if checked else []


def files_of(source: str) -> list[Traversable]:
    """The files of profiles that a source or path holds.

    Raises:
        ConfigError: There is no such source, or nothing in it.
    """
    folder = Path(source).expanduser()
    if (folder / MEMBERS).is_file():
        return [folder / MEMBERS]
    _, paths = source_files(source)
    if not paths:
        raise ConfigError(f"{source!r} holds no YAML files of profiles (it may have them in a folder {PROFILES!r})")
    return paths


def entry_faults(draft: Draft, *, tools: Iterable[str] | None, settings: LibraryConfig) -> Iterator[Fault]:
    """The faults of one entry by itself.

    Args:
        draft: The entry.
        tools: Names of all tools; None when they are not known.
        settings: Says which modules factories may lie in.
    """
    yield from _field_faults(draft)
    yield from _length_faults(draft)
    yield from _content_faults(draft)
    if draft.name.casefold() in RESERVED:
        yield draft.fault("reserved-name", f"the name {draft.name!r} means something else in a team", "name")
    if not draft.entry.values.get("examples"):
        yield draft.fault("no-examples", "it has no examples")
    known = None if tools is None else set(tools)
    for tool in _texts(draft.entry.values.get("tools")):
        if known is not None and tool not in known:
            yield draft.fault("dead-tool", f"there is no tool {tool!r}{did_you_mean(tool, known)}", "tools")
    if draft.profile is not None and draft.profile.factory is not None:
        try:
            find_factory(draft.profile, settings.factories)
        except ConfigError as error:
            yield draft.fault("factory", str(error), "factory")


def pair_faults(drafts: Sequence[Draft]) -> Iterator[Fault]:
    """Names, titles and descriptions that two entries share."""
    for field, kind in (("name", "duplicate-name"), ("title", "duplicate-title")):
        first: dict[str, Draft] = {}
        for draft in drafts:
            value = draft.entry.values.get(field)
            if isinstance(value, str):
                earlier = first.setdefault(value.strip().casefold(), draft)
                if earlier is not draft:
                    yield from between(earlier, draft, kind, f"the {field} {value!r} also stands", field)
    whole = [draft for draft in drafts if draft.profile is not None]
    briefs = [draft.profile.brief() for draft in whole if draft.profile is not None]
    for earlier_row, later_row, share in like_in_words(briefs):
        message = f"shares {share:.0%} of its words with {{other!r}}, which stands"
        yield from between(whole[earlier_row], whole[later_row], "near-duplicate-words", message, "description")


def between(earlier: Draft, later: Draft, kind: str, message: str, field: str) -> Iterator[Fault]:
    """A fault of a pair, told of the one that is checked; `{other!r}` in the message is the other's name."""
    told, other = (later, earlier) if later.checked else (earlier, later)
    if told.checked:
        place = other.entry.where(field)
        yield told.fault(kind, f"{message.replace('{other!r}', repr(other.name))} at {place}", field)


def _field_faults(draft: Draft) -> Iterator[Fault]:
    values = {**draft.entry.defaults, **draft.entry.values}
    try:
        AgentProfile.model_validate(values)
    except ValidationError as error:
        problems = error.errors()
    else:
        return
    for problem in problems:
        field = str(problem["loc"][0]) if problem["loc"] else ""
        match problem["type"]:
            case "missing":
                yield draft.fault("missing-field", f"it lacks the field {field!r}")
            case "extra_forbidden":
                hint = did_you_mean(field, AgentProfile.model_fields)
                yield draft.fault("unknown-field", f"there is no field {field!r}{hint}", field)
            case _ if field == "name":
                yield draft.fault("bad-name", f"the name {problem['input']!r} does not work everywhere", field)
            case "string_too_short":
                yield draft.fault("missing-field", f"the field {field!r} is empty", field)
            case _:
                reason = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
                yield draft.fault("wrong-value", f"field {field!r} is {str(problem['input'])[:60]!r}: {reason}", field)


def _length_faults(draft: Draft) -> Iterator[Fault]:
    for field, (least, most) in LENGTHS.items():
        value = draft.entry.values.get(field)
        length = len(value.strip()) if isinstance(value, str) else 0
        if 0 < length < least:
            yield draft.fault("too-short", f"{field} has {length} characters, fewer than {least}", field)
        if length > most:
            yield draft.fault("too-long", f"{field} has {length} characters, more than {most}", field)


def _content_faults(draft: Draft) -> Iterator[Fault]:
    values: Mapping[str, Any] = draft.entry.values
    for field in (*_READ_BY_MODELS, *_READ_BY_SEARCHES):
        for fault in text_faults("\n".join(_texts(values.get(field)))):
            if field in _READ_BY_MODELS or fault.kind in _EVERYWHERE:
                yield draft.fault(fault.kind, f"in its {field}: {fault.quote!r}", field)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _file_fault(path: Traversable, message: str) -> Fault:
    """A fault of a whole file; its message begins with the place, which may hold a line."""
    where, text = str(path), message.removeprefix(str(path)).lstrip(":")
    line, _, rest = text.partition(":")
    if line.isdecimal():
        where, text = f"{where}:{line}", rest
    return Fault("broken-yaml", where if where != str(path) else f"{where}:1", Path(str(path)).name, text.strip())
