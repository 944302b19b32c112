"""The packaged experts: profiles as data, one YAML file per domain in `profiles/`.

To add an expert, write a file of the same form in a folder of your own and name the folder in `library.profiles`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from captain.library import AgentProfile

__all__ = ["packaged_profiles"]


def packaged_profiles() -> list[AgentProfile]:
    """Read the experts that ship with the framework, in the order of their files."""
    from captain.library import load_profiles

    return load_profiles([__name__])
