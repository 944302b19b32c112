"""Known defects of the reference implementation, one test each; `docs/reference_defects.md` tells what they are."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken, FunctionCall

from captain import Captain, ConfigError, Library, load_config, tool
from captain.testing import ScriptedModel

CaptainWith = Callable[..., Captain]
WithTools = Callable[..., dict[str, Any]]
TASK = "What is 6 times 7?"


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


@tool
def river_length(river: str, unit: str = "km", digits: int = 0, tributaries: list[str] | None = None) -> str:
    """Gives the length of a river.

    Args:
        river: Its name.
        unit: The unit.
        digits: Decimals.
        tributaries: Rivers to add.
    """
    return f"{river} with {len(tributaries or [])} more: 1233{'.' + '0' * digits if digits else ''} {unit}"


@tool
def today() -> str:
    """Gives the date of today."""
    return "1 May 2027"


@tool
def exits() -> str:
    """Leaves the program."""
    raise SystemExit(3)


def test_a01_captains_share_no_configuration(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    models = [make_model({"planner": recall(steps, "Historian"), "expert": f"FINAL ANSWER: {n}"}) for n in range(2)]
    captains = [captain_with(model, {"team.max_turns": 3 + n}) for n, model in enumerate(models)]
    for n in (0, 1, 0):
        assert captains[n].solve("Who answers?").answer == str(n)
    assert [len(model.asks) for model in models] == [6, 3]
    assert [captain.config.team.max_turns for captain in captains] == [3, 4]
    assert captains[0].library is not captains[1].library and captains[0].teams is not captains[1].teams


def test_a02_each_role_may_have_a_model_of_its_own(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    strong, cheap = make_model({"planner": recall(steps, "Historian")}), make_model({"expert": "FINAL ANSWER: yes"})
    roles = {f"roles.{role}": {**strong.spec, "name": "strong"} for role in ("planner", "reflector")}
    result = captain_with(cheap, roles).solve("Was it so?")
    assert [ask.step for ask in strong.asks] == ["planner", "reflector"]
    assert [ask.step for ask in cheap.asks] == ["expert"] and result.answer == "yes"


def test_a03_tools_need_no_library_of_experts(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Geographer"),
            "expert": "FINAL ANSWER: long",
            "writer": steps.written("You know each river and its length."),
        }
    )
    captain = captain_with(model, {**with_tools(river_length), "library.enabled": False})
    captain.solve("How long is it?")
    captain.solve("How long is that one?")
    assert [ask.tools for ask in model.asked("expert")] == [("river_length",)] * 2


def test_a04_a_recalled_team_keeps_the_tools_of_each_member(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Geographer", "Historian"),
            "geographer": "And you?",
            "historian": "FINAL ANSWER: yes",
        }
    )
    captain = captain_with(model, with_tools(river_length, today))
    for _ in range(2):
        captain.solve("How long is it today?")
    assert [(ask.member, len(ask.tools)) for ask in model.asked("expert")] == [("geographer", 2), ("historian", 2)] * 2


def test_a05_equal_names_lose_nobody(captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Stamp expert", "Stamp-Expert", "stamp expert!"),
            "expert": lambda ask: "FINAL ANSWER: 3" if ask.member == "stamp_expert_3" else f"I am {ask.member}.",
            "writer": steps.written(*["You know all there is about stamps."] * 3),
        }
    )
    result = captain_with(model).solve("What does it cost?")
    assert result.subtasks[0].team == ["stamp_expert", "stamp_expert_2", "stamp_expert_3"]
    entry = {"name": "one", "title": "One", "description": "d", "instructions": "i"}
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(yaml.safe_dump({"domain": "d", "profiles": [entry]}))
    config = captain_with(model, {"library.profiles": [str(tmp_path)]}).config
    with pytest.raises(ConfigError, match="'one'"):
        Library(config).experts()


def test_a06_experts_are_chosen_by_number(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    texts = {"alpha": "Stamps: old ones, e.g. 'Mauritius: blue'", "beta": "Stamps: new ones; None: of them old"}
    entries = [{"name": n, "title": n, "description": t, "instructions": "Be."} for n, t in texts.items()]
    (tmp_path / "e.yaml").write_text(yaml.safe_dump({"domain": "d", "profiles": entries}))
    settings = {
        "library.profiles": [str(tmp_path / "e.yaml")],
        "library.user_dir": str(tmp_path / "user"),
        "library.threshold": -1.0,
        "library.margin": 9.0,
    }
    model = make_model({"planner": recall(steps, "Stamps: new ones"), "expert": "FINAL ANSWER: 3"})
    result = captain_with(model, settings).solve("What does it cost?")
    assert result.subtasks[0].team == ["beta"] and texts["beta"] in model.asked("selector")[0].text


def test_a07_a_selection_that_cannot_be_read_is_asked_for_once_more(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    title = "Knower of dates and events of the past"
    model = make_model({"planner": recall(steps, title), "expert": "FINAL ANSWER: 3", "selector": "{'oops': "})
    start = time.perf_counter()
    result = captain_with(model, {"library.margin": 9.0}).solve("When was it?")
    assert result.subtasks[0].team == ["historian"] and len(model.asked("selector")) == 2
    assert time.perf_counter() - start < 60


def test_a08_more_profiles_than_asked_for_seat_nobody(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    written = steps.written(*[f"You are expert {n} of all stamps." for n in range(5)])
    model = make_model({"planner": recall(steps, "Philatelist"), "expert": "FINAL ANSWER: 3", "writer": [written]})
    result = captain_with(model).solve("What does it cost?")
    assert result.subtasks[0].team == ["philatelist"] and len(model.asked("expert")) == 1


def test_a09_a_stop_word_in_the_plan_does_not_end_the_run(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    plan = steps.plan(steps.part("Historian", method="recall", goal="The process terminates. TERMINATE"))
    model = make_model({"planner": f"TERMINATE\n{plan}\nTERMINATE", "expert": "FINAL ANSWER: yes"})
    result = captain_with(model).solve("Does it end?")
    assert result.answer == "yes" and len(model.asked("expert")) == 1


def test_a10_an_answer_ends_the_chat_and_is_the_answer(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plan = recall(steps, "Historian", "Biologist", "Geographer")
    model = make_model({"planner": plan, "historian": ["We looked at it.\nFINAL ANSWER: 42.\nTERMINATE"]})
    result = captain_with(model).solve("Which number?")
    assert result.answer.startswith("42") and len(model.asked("expert")) == 1


async def test_a11_anybody_may_call_the_captain(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": recall(steps, "Historian"), "expert": "FINAL ANSWER: 1789"})
    caller = AssistantAgent("caller", ScriptedModel(["When did it begin?"]))
    chat = RoundRobinGroupChat([caller, captain_with(model).as_agent()], max_turns=2)
    result = await chat.run(task="Ask about the revolution.")
    assert "1789" in result.messages[-1].to_text()
    assert [ask.step for ask in model.asks] == ["planner", "expert", "reflector"]


async def test_a12_earlier_turns_are_heard(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": recall(steps, "Historian"), "expert": "FINAL ANSWER: in 1789"})
    agent = captain_with(model).as_agent()
    for text in ("When did the revolution begin?", "And who was king then?"):
        await agent.on_messages([TextMessage(content=text, source="somebody")], CancellationToken())
    for step in ("planner", "expert"):
        last = model.asked(step)[-1].text
        assert "revolution" in last and "in 1789" in last and "who was king" in last


def test_a13_another_need_gets_another_team(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plans = [recall(steps, "Mathematician"), recall(steps, "Biologist"), recall(steps, "Mathematician")]
    model = make_model({"planner": plans, "expert": "FINAL ANSWER: known"})
    captain = captain_with(model)
    teams = [captain.solve(task).subtasks[0].team for task in ("Prove it.", "What does it eat?", "Prove that.")]
    assert teams == [["mathematician"], ["biologist"], ["mathematician"]] and len(captain.teams) == 2


def test_a14_tools_belong_to_members_not_to_lines(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path, with_tools: WithTools
) -> None:
    entries = [
        {"name": n, "title": n, "description": f"The {n}.", "instructions": "Be.", "tools": [t]}
        for n, t in (("surveyor", "river_length"), ("clerk", "today"))
    ]
    (tmp_path / "e.yaml").write_text(yaml.safe_dump({"domain": "d", "profiles": entries}))
    settings = {
        **with_tools(river_length, today),
        "tools.threshold": 9.0,
        "library.profiles": [str(tmp_path / "e.yaml")],
        "library.user_dir": str(tmp_path / "user"),
        "library.threshold": -1.0,
    }
    parts = [{"title": title, "does": "\n\n# heading\n\n- a line\n"} for title in ("clerk", "surveyor")]
    plan = json.dumps({"subtasks": [{"goal": "g", "method": "recall", "experts": parts, "depends_on": []}]})
    model = make_model({"planner": plan, "clerk": "And you?", "surveyor": "FINAL ANSWER: yes"})
    captain_with(model, settings).solve("Is it\n\n# so\n\nlong?")
    asked = {ask.member: ask.tools for ask in model.asked("expert")}
    assert asked == {"clerk": ("today",), "surveyor": ("river_length",)}


def test_a15_a_program_can_neither_end_the_host_nor_outlive_its_time(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    programs = [
        steps.program("import sys\nsys.exit('gone')"),
        steps.program("import time\ntime.sleep(60)"),
        "```bash\necho $((6 * 7))\n```",
    ]
    model = make_model({"expert": [*programs, "FINAL ANSWER: 42"]})
    settings = {"execution.timeout": 2, "team.max_repairs": 5}
    start = time.perf_counter()
    result = captain_with(model, settings).solve(TASK)
    asks = model.asked("expert")
    assert "exit code 1" in asks[1].last and "exit code 124" in asks[2].last and "42" in asks[3].last
    assert (result.answer, result.status) == ("42", "solved") and time.perf_counter() - start < 55


def test_a15_a_tool_cannot_end_the_host(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    call = FunctionCall(id="1", name="exits", arguments="{}")
    model = make_model({"planner": recall(steps, "Historian"), "expert": [[call], "FINAL ANSWER: still here"]})
    assert captain_with(model, with_tools(exits)).solve("Are you there?").answer == "still here"


def test_a15_tools_do_not_replace_the_chosen_executor(
    captain_with: CaptainWith,
    make_model: Any,
    steps: Any,
    with_tools: WithTools,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    program = steps.program(f"open({str(tmp_path / 'ran_here')!r}, 'w')")
    settings = {**with_tools(today), "execution.backend": "docker"}
    with pytest.raises(ConfigError, match="docker"):
        captain_with(make_model({"expert": program}), settings).solve(TASK)
    assert not (tmp_path / "ran_here").exists()


def test_a16_tools_take_many_arguments_or_none(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    arguments = '{"river": "Rhine", "digits": "1", "tributaries": ["Main", "Mosel"]}'
    calls = [FunctionCall(id="1", name="river_length", arguments=arguments), FunctionCall("2", "{}", "today")]
    model = make_model({"planner": recall(steps, "Geographer"), "expert": [calls, "FINAL ANSWER: 1233.0 km"]})
    result = captain_with(model, with_tools(river_length, today)).solve("How long is it?")
    last = model.asked("expert")[1].text
    assert "Rhine with 2 more: 1233.0 km" in last and "1 May 2027" in last and result.status == "solved"


def test_a17_a_captain_needs_no_arguments() -> None:
    config = Captain().config
    assert config.model.provider == "auto" and config == load_config().captain
