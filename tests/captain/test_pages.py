"""What the pages on members and MCP servers show is used by a solve, as it stands there."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from autogen_core import FunctionCall

from captain import Captain

DOCS = Path(__file__).parents[2] / "docs"
CaptainWith = Callable[..., Captain]


@pytest.fixture
def follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Gives `follow(page)`: a reader's folder with the files that the page shows."""

    def write(page: str) -> None:
        text = (DOCS / page).read_text(encoding="utf-8")
        for file, block in re.findall(r"^```\w+\n# ([\w./]+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(block, encoding="utf-8")

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield write
    sys.modules.pop("regulars", None)


def test_the_server_of_the_page_is_used(
    captain_with: CaptainWith, make_model: Any, steps: Any, follow: Callable[[str], None]
) -> None:
    follow("mcp.md")
    wanted = [FunctionCall(id="1", name="river_length", arguments=json.dumps({"river": "Rhine"}))]
    plan = steps.plan(steps.part("Geographer", method="recall"))
    model = make_model({"planner": plan, "expert": [wanted, wanted, "FINAL ANSWER: 1233"]})
    rivers = {"command": "python", "args": ["river_server.py"]}
    settings = {"tools.enabled": True, "tools.modules": [], "tools.mcp": {"rivers": rivers}}
    result = captain_with(model, settings).solve("How long is the river Rhine?")
    assert result.answer == "1233" and result.evidence[0].source == "river_length called by geographer"


def test_the_guest_of_the_page_is_seated(
    captain_with: CaptainWith, make_model: Any, steps: Any, follow: Callable[[str], None], tmp_path: Path
) -> None:
    follow("members.md")
    (tmp_path / "cafe" / "tastes.txt").write_text("black coffee\ngreen tea\n", encoding="utf-8")
    plan = steps.plan(steps.part("Guest of the café", method="recall"))
    model = make_model({"planner": plan, "filler": '{"guest": 1, "mood": null}', "expert": "FINAL ANSWER: tea"})
    settings = {
        "library.sources": ["cafe"],
        "library.factories": ["regulars"],
        "library.user_dir": str(tmp_path / "user"),
    }
    result = captain_with(model, settings).solve("What would guest 1 order?")
    assert result.answer == "tea" and result.subtasks[0].team == ["guest_1"]
    assert "You are a calm guest who likes green tea." in model.asked("expert")[0].text
