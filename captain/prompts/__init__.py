"""Prompt texts: Markdown files beside this one, filled by a renderer that refuses a missing or surplus variable."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip())


def load_prompt(name: str, /, **values: str) -> str:
    """Gives the text `name`.md with its `$variables` replaced.

    Braces and dollar signs inside values stay as they are.

    Raises:
        KeyError: a variable of the text has no value, or a value has no variable.
    """
    template = _template(name)
    surplus = set(values) - set(template.get_identifiers())
    if surplus:
        raise KeyError(f"prompt {name!r} has no variable {sorted(surplus)[0]!r}")
    return template.substitute(values)
