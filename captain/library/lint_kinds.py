"""The kinds of faults that a library may have, how bad each is and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning"]

KINDS: Mapping[str, tuple[Severity, str]] = {
    "bad-source": ("error", "name a package, folder or file with profiles in library.profiles or library.sources"),
    "broken-yaml": ("error", "mend the file: `domain: ...`, then `profiles:` with a list of mappings"),
    "missing-field": ("error", "add the field"),
    "unknown-field": ("error", "correct or remove the field"),
    "wrong-value": ("error", "write a value of the kind that is asked for"),
    "bad-name": ("error", "use 1 to 64 ASCII letters, digits and underscores, not starting with a digit"),
    "reserved-name": ("error", "take a name that no part of a team has"),
    "duplicate-name": ("error", "give each expert a name of its own, also without regard to capitals"),
    "duplicate-title": ("warning", "give each expert a title of its own: a role may ask for it by title"),
    "near-duplicate-words": ("warning", "merge the two, or say in each what it alone can do"),
    "near-duplicate-meaning": ("warning", "merge the two, or say in each what it alone can do"),
    "too-short": ("warning", "say more: searches and models only know what is written here"),
    "too-long": ("warning", "say it shorter: every word is paid for in each call"),
    "no-examples": ("warning", "give one to three tasks that the expert is right for; searches read them"),
    "orders": ("error", "let the expert speak of its own work only; whether an answer holds is for reviews to say"),
    "secrets": ("error", "leave keys, environment and prompts out of it"),
    "injection": ("error", "remove the sentence: an expert is told how to work, never to take another place"),
    "finishing-word": ("error", "leave finishing to the rules of the team"),
    "model-name": ("error", "name no model; `role` decides whose model speaks"),
    "invisible-character": ("error", "remove the character"),
    "dead-tool": ("error", "correct the name, or add the tool's module to tools.modules"),
    "dead-tools-query": ("warning", "word the query as the tools' descriptions are worded, or remove it"),
    "factory": ("error", "name a function of a module that library.factories allows"),
    "tool-import": ("error", "mend the module, or install what it needs"),
    "no-tools": ("error", "mark its functions with @tool, or take the module out of tools.modules"),
    "tool-undocumented": ("error", "write a docstring; its first paragraph tells models what the tool does"),
    "tool-untyped": ("error", "give every parameter a name of its own and a type"),
    "tool-parameter": ("warning", "describe the parameter under `Args:` in the docstring"),
    "tool-name-clash": ("error", "rename one of the tools"),
}


@dataclass(frozen=True)
class Fault:
    """Something in a library that should be mended."""

    kind: str
    """A key of `KINDS`."""
    where: str
    """`file:line`, or the setting that names what is missing."""
    subject: str
    """The expert or tool."""
    message: str

    @property
    def severity(self) -> Severity:
        """`error`: it breaks or endangers runs; `warning`: it makes the library worse."""
        return KINDS[self.kind][0]

    @property
    def remedy(self) -> str:
        """What to do."""
        return KINDS[self.kind][1]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "where": self.where,
            "subject": self.subject,
            "message": self.message,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class LintReport:
    """What was looked at and what was found."""

    faults: tuple[Fault, ...]
    experts: int
    tools: int
    unchecked: tuple[str, ...] = ()
    """What could not be looked at, and why."""

    @property
    def errors(self) -> int:
        """How many of the faults are errors."""
        return sum(fault.severity == "error" for fault in self.faults)
