"""Sweeps: `a=1,2` and `a=range(1,4)` in Hydra's grammar, spread over every combination."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from captain.errors import ConfigError


def expand(overrides: Sequence[str]) -> list[list[str]]:
    """Gives one list of overrides per run: the product of all comma lists and ranges.

    Raises:
        ConfigError: An override is no override, or sweeps over an interval or a pattern, which have no list of values.
    """
    return [list(run) for run in itertools.product(*(_values(text) for text in overrides))]


def _values(text: str) -> list[str]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException:
        return [text]  # composing will say what is wrong with it
    if not override.is_sweep_override():
        return [text]
    if not override.is_discrete_sweep() or "glob(" in text:
        raise ConfigError(f"{text!r} has no list of values; write KEY=A,B,C or KEY=range(START,STOP)")
    key = override.get_key_element()
    return [f"{key}={value}" for value in override.sweep_string_iterator()]
