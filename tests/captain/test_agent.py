"""AutoGen agents and teams inside a Captain's team, and the Captain inside others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken

from captain import Captain, ConfigError
from captain.testing import FunctionModel, ScriptedModel

CaptainWith = Callable[..., Captain]


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


def say(ask: Any) -> str:
    return "FINAL ANSWER: from the library"


def test_an_agent_of_the_users_takes_the_role_it_describes(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    brain = ScriptedModel(["FINAL ANSWER: Vaduz"])
    own = AssistantAgent("atlas", brain, description="Knows every geographer's map by heart.")
    model = make_model({"planner": recall(steps, "Geographer"), "expert": say})
    task = "Which is the capital of Liechtenstein?"
    result = captain_with(model, members=[own]).solve(task)
    assert result.answer == "Vaduz" and result.subtasks[0].team == ["atlas"]
    assert task in brain.calls[0].text and model.asked("expert") == []


def test_an_agent_of_the_users_works_beside_the_library(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    brain = ScriptedModel(["Liechtenstein lies between two countries. What do you think, historian?"])
    own = AssistantAgent("atlas", brain, description="Knows every geographer's map by heart.")
    model = make_model({"planner": recall(steps, "Geographer", "Historian"), "expert": "FINAL ANSWER: Vaduz"})
    result = captain_with(model, members=[own]).solve("Which is the capital?")
    assert result.subtasks[0].team == ["atlas", "historian"] and result.answer == "Vaduz"
    assert "atlas: Liechtenstein lies between two countries." in model.asked("historian")[0].text


def test_programs_of_an_own_agent_are_run(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    brain = ScriptedModel([steps.program("print('FINAL ANSWER:', 6 * 7)")])
    own = AssistantAgent("abacus", brain, description="Does the work of a mathematician.")
    result = captain_with(make_model({}), members=[own]).solve("What is 6 times 7?")
    assert result.answer == "42" and result.evidence[0].source == "program of abacus"


def test_an_own_agent_starts_each_task_afresh(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    brain = FunctionModel(lambda messages: f"FINAL ANSWER: {len(messages)} messages")
    own = AssistantAgent("atlas", brain, description="Knows every geographer's map by heart.")
    captain = captain_with(make_model({"planner": recall(steps, "Geographer")}), members=[own])
    answers = [captain.solve(f"What do you see? ({n})").answer for n in range(2)]
    assert answers[0] == answers[1] and "(0)" not in brain.calls[-1].text


def test_a_team_of_the_users_is_one_member(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    first = AssistantAgent("scout", ScriptedModel(["I see mountains.", "still mountains"]))
    second = AssistantAgent("clerk", ScriptedModel(["FINAL ANSWER: Vaduz"]))
    team = RoundRobinGroupChat([first, second], name="explorers", description="A geographer's team.", max_turns=2)
    model = make_model({"planner": recall(steps, "Geographer", "Historian"), "expert": say})
    result = captain_with(model, members=[team]).solve("Which is the capital?")
    assert result.answer == "Vaduz" and result.subtasks[0].team == ["explorers", "historian"]
    said = [(line["source"], line["text"]) for line in read_journal(result.run_dir, "message")]
    assert ("scout", "I see mountains.") in said and ("explorers", "FINAL ANSWER: Vaduz") in said


async def test_a_team_of_the_users_alone(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    inner = AssistantAgent("scout", ScriptedModel(["FINAL ANSWER: Vaduz"] * 2))
    team = RoundRobinGroupChat([inner], name="explorers", description="A geographer's team.", max_turns=1)
    captain = captain_with(make_model({"planner": recall(steps, "Geographer")}), members=[team])
    for _ in range(2):
        assert (await captain.solve_async("Which is the capital?")).answer == "Vaduz"


def test_a_team_stays_in_its_event_loop(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    inner = AssistantAgent("scout", ScriptedModel(["FINAL ANSWER: Vaduz"] * 2))
    team = RoundRobinGroupChat([inner], name="explorers", description="A geographer's team.", max_turns=1)
    captain = captain_with(make_model({"planner": recall(steps, "Geographer")}), members=[team])
    captain.solve("Which is the capital?")
    with pytest.raises(ConfigError, match="'explorers' is an AutoGen team"):
        captain.solve("Which is the capital?")


@pytest.mark.parametrize(
    ("names", "message"),
    [(["executor"], "'executor' is taken"), (["user"], "'user' is taken"), (["one", "one"], "two members")],
)
def test_names_of_members_are_checked(
    captain_with: CaptainWith, make_model: Any, names: list[str], message: str
) -> None:
    members = [AssistantAgent(name, ScriptedModel([])) for name in names]
    with pytest.raises(ConfigError, match=message):
        captain_with(make_model({}), members=members).solve("Do something.")


def test_a_member_has_to_be_an_agent_or_a_team(captain_with: CaptainWith, make_model: Any) -> None:
    with pytest.raises(ConfigError, match="not 'str'"):
        captain_with(make_model({}), members=["me"]).solve("Do something.")


async def test_the_captain_is_a_member_of_any_group_chat(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"planner": recall(steps, "Geographer"), "expert": "FINAL ANSWER: Vaduz"})
    clerk = AssistantAgent("clerk", ScriptedModel(["Where is the prince's castle?"]))
    chat = RoundRobinGroupChat([clerk, captain_with(model).as_agent()], termination_condition=MaxMessageTermination(3))
    result = await chat.run(task="Plan a journey.")
    last = result.messages[-1]
    assert last.source == "captain" and "Vaduz" in last.to_text()
    heard = model.asked("planner")[0].text
    assert "Plan a journey." in heard and "Where is the prince's castle?" in heard


async def test_a_second_question_may_lean_on_the_first(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": recall(steps, "Geographer"), "expert": "FINAL ANSWER: Vaduz"})
    agent = captain_with(model).as_agent("helper_of_mine", "Answers.")
    for question in ("Which is the capital of Liechtenstein?", "How many live there?"):
        reply = await agent.on_messages([TextMessage(content=question, source="user")], CancellationToken())
        assert reply.chat_message.source == "helper_of_mine"
    second = model.asked("planner")[1].text
    assert "Liechtenstein" in second and "Vaduz" in second and "How many live there?" in second
    await agent.on_reset(CancellationToken())
    await agent.on_messages([TextMessage(content="Hello?", source="user")], CancellationToken())
    assert "Liechtenstein" not in model.asked("planner")[2].text


def nested(captain_with: CaptainWith, make_model: Any, steps: Any, *, depth: int, **limits: Any) -> tuple[Captain, Any]:
    """Captains in each other's teams, the innermost with an expert of its own."""
    model = make_model({"planner": recall(steps, "Geographer"), "expert": "FINAL ANSWER: Vaduz"})
    captain = captain_with(model)
    for _ in range(depth - 1):
        member = captain.as_agent("deputy", "Does the work of a geographer.")
        captain = captain_with(model, limits, members=[member])
    return captain, model


def test_a_captain_in_a_captains_team_shares_journal_and_usage(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    captain, model = nested(captain_with, make_model, steps, depth=2)
    result = captain.solve("Which is the capital?")
    assert result.answer == "Vaduz" and result.subtasks[0].team == ["deputy"]
    assert len(list(result.run_dir.parent.iterdir())) == 1
    assert len(read_journal(result.run_dir, "model_call")) == len(model.asks) == result.usage.calls == 5
    assert len(read_journal(result.run_dir, "planned")) == 2
    assert json.loads((result.run_dir / "result.json").read_text())["answer"] == "Vaduz"


def test_a_captain_in_a_captains_team_spends_from_the_same_limits(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    captain, model = nested(captain_with, make_model, steps, depth=2, **{"limits.calls": 2})
    result = captain.solve("Which is the capital?")
    assert result.status == "stopped" and "2 calls" in result.stop_reason
    assert len(model.asks) == 2


def test_captains_sit_at_most_two_deep(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    captain, model = nested(captain_with, make_model, steps, depth=3)
    result = captain.solve("Which is the capital?")
    assert len(model.asked("planner")) == 2 and model.asked("expert") == []
    assert "max_depth=2" in result.answer and result.status != "solved"
