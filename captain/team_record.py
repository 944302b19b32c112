"""A cast team as the journal keeps it, so that a run that goes on seats the same people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autogen_agentchat.base import ChatAgent

from captain.errors import ConfigError
from captain.library import AgentProfile
from captain.planning import Role
from captain.seating import Seat
from captain.tools import ToolSpec


def describe_seat(seat: Seat) -> dict[str, Any]:
    """A seat as JSON data."""
    return {
        "name": seat.name,
        "role": seat.role.model_dump(mode="json"),
        "profile": seat.profile.model_dump(mode="json"),
        "tools": [tool.name for tool in seat.tools],
        "member": None if seat.agent is None else seat.agent.name,
    }


def seat_from(data: Mapping[str, Any], *, members: Sequence[ChatAgent], tool: Callable[[str], ToolSpec]) -> Seat:
    """A seat from what `describe_seat` gave.

    Args:
        data: The seat.
        members: The user's own agents.
        tool: Gives the tool of a name.

    Raises:
        ConfigError: A member or a tool of the record is not there any more.
    """
    agents = {member.name: member for member in members}
    name = data["member"]
    if name is not None and name not in agents:
        raise ConfigError(f"the recorded team has the member {name!r}, which was not given; give the same members")
    return Seat(
        name=data["name"],
        role=Role.model_validate(data["role"]),
        profile=AgentProfile.model_validate(data["profile"]),
        tools=tuple(tool(wanted) for wanted in data["tools"]),
        agent=None if name is None else agents[name],
    )
