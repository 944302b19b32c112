"""The page on libraries, followed word for word: its expert and its tool do the work of its `captain solve`."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from captain.cli import main
from captain.config import EmbeddingConfig, WeightsConfig
from captain.testing import serve

PAGE = (Path(__file__).parents[2] / "docs" / "libraries.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def model(body: dict[str, Any]) -> Any:
    """Plans the experts that the task speaks of, calls the tool that it is offered, and computes what is left."""
    asked = "\n".join(str(message.get("content") or "") for message in body["messages"])
    if body.get("response_format"):
        title = "Glaciologist" if "glacier" in asked else "Data analyst"
        part = {"goal": asked.split("\n")[-1], "method": "compute", "experts": [{"title": title, "does": "computes"}]}
        return json.dumps({"subtasks": [{**part, "depends_on": []}]})
    if "degree_days" not in {tool["function"]["name"] for tool in body.get("tools", ())}:
        return "```python\nprint('FINAL ANSWER:', 2 * 917 / 1000, 'km3')\n```"
    results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    if results:
        numbers = re.findall(r"^\d+\.\d+$", results[-1], re.MULTILINE)
        return f"FINAL ANSWER: {numbers[0]}"
    call = {"name": "degree_days", "arguments": json.dumps({"temperatures": [3, 7, -2]})}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]}


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of somebody who has an endpoint and nothing else."""
    from captain.embeddings import build_embedding

    def hashed(config: EmbeddingConfig, weights: WeightsConfig) -> Any:
        return build_embedding(EmbeddingConfig(provider="hash"), weights)

    monkeypatch.setattr("captain.library.library.build_embedding", hashed)
    monkeypatch.setattr("captain.cli.solve.fetch_missing", lambda config: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with serve(model) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        yield tmp_path
    sys.modules.pop("my_tools", None)


def follow(text: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Writes the files of a section and runs its first commands, gives the result of the solve among them."""
    for file, block in re.findall(r"^```\w+\n# ([\w./]+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(block, encoding="utf-8")
    found = re.search(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    result: dict[str, Any] = {}
    for line in found.group(1).splitlines():
        words = shlex.split(line)
        solves = words[1] == "solve"
        capfd.readouterr()
        assert main([*words[1:], *(["--json"] if solves else [])]) == 0, line
        if solves:
            result = json.loads(capfd.readouterr().out)
    assert result, "the section solves a task"
    return result


def test_the_expert_of_the_page_does_the_work(reader: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = follow(section("An expert in ten minutes"), reader, capfd)
    assert result["status"] == "solved" and result["answer"].startswith("1.834")
    assert result["subtasks"][0]["team"][0] == "glaciologist"
    journal = (Path(result["run_dir"]) / "journal.jsonl").read_text(encoding="utf-8")
    assert '"chosen": "glaciologist"' in journal and "title that was asked for" in journal
    capfd.readouterr()
    assert main(["library", "stats", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["selections"]["glaciologist"] == {"-": 1}


def test_the_tool_of_the_page_does_the_work(reader: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = follow(section("A tool in ten minutes"), reader, capfd)
    assert result["answer"].startswith("10")
    assert any(e["kind"] == "tool" and "degree_days" in e["source"] for e in result["evidence"]), result["evidence"]
