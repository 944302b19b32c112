"""README and docs are run, page by page: Python, commands and the files they show, against a loopback endpoint."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from captain.cli import main
from captain.compose import load_config
from captain.config import EmbeddingConfig, WeightsConfig
from captain.library import load_profiles
from captain.models.catalog import CATALOG
from captain.scenario import build_scenario
from captain.testing import serve

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"(?:# @package \w+\n)?# ([\w./-]+\.(?:py|yaml|csv))\n")
SET_UP = 2
"""The README's first blocks of commands are run by the CI itself, in a fresh environment."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the file that its first line (below Hydra's header) names."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """Its path, relative to the reader's folder."""
        match = FILE_NAME.match(self.text)
        return match.group(1) if match else None


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that are run, in order."""
    found = [Block(*match.groups()) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]
    if page == README:
        set_up = [block for block in found if block.language == "sh"][:SET_UP]
        found = [block for block in found if block not in set_up]
    return found


def example(schema: dict[str, Any], definitions: dict[str, Any], name: str = "") -> Any:
    """A value that fits a JSON schema."""
    if "$ref" in schema:
        return example(definitions[schema["$ref"].rpartition("/")[2]], definitions, name)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if "anyOf" in schema:
        return example(schema["anyOf"][0], definitions, name)
    match schema.get("type"):
        case "object":
            return {key: example(inner, definitions, key) for key, inner in schema.get("properties", {}).items()}
        case "array":
            return [example(schema["items"], definitions, name)] * schema.get("minItems", 0)
        case "string":
            return {"title": "Number theorist", "does": "works with prime numbers"}.get(
                name, "Solve the whole task now."
            )
        case "boolean":
            return True
        case kind:
            return 277050 if kind == "integer" else 0.5


def model(body: dict[str, Any]) -> Any:
    """The endpoint behind the docs: a value where one is asked for in a form, else a program that prints the answer."""
    wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if wanted is not None:
        import json

        return json.dumps(example(wanted, wanted.get("$defs", {})))
    return "```python\nprint(sum([277000, 50]))\nprint('FINAL ANSWER:', 277050)\n```"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of somebody who follows a page: a key, an endpoint, nothing else."""
    from captain.embeddings import build_embedding

    def hashed(config: EmbeddingConfig, weights: WeightsConfig) -> Any:
        # The default embedding needs weights, which tests without a network do not have.
        return build_embedding(EmbeddingConfig(provider="hash"), weights)

    monkeypatch.setattr("captain.library.library.build_embedding", hashed)
    for command in ("solve", "run"):
        monkeypatch.setattr(f"captain.cli.{command}.fetch_missing", lambda config: None)
    monkeypatch.delenv("CAPTAIN_DATA", raising=False)
    for name in ("XDG_DATA_HOME", "CAPTAIN_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "sales.csv").write_text("month,amount\n2026-01,120.5\n2026-02,99.0\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    with serve(model) as endpoint:
        for name, value in {"OPENAI_API_KEY": "test", "CAPTAIN_MODEL": "test"}.items():
            monkeypatch.setenv(name, value)
        for name in ("OPENAI_BASE_URL", "CAPTAIN_BASE_URL"):
            monkeypatch.setenv(name, endpoint.base_url)
        before = set(sys.modules)
        yield folder
        for name in set(sys.modules) - before:
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def run_python(text: str, namespace: dict[str, Any]) -> None:
    exec(compile(text, "<docs>", "exec"), namespace)
    for name in [name for name in namespace if name.startswith("test_")]:
        result = namespace.pop(name)()
        if inspect.isawaitable(result):
            asyncio.run(_wait(result))


async def _wait(result: Any) -> None:
    await result


def run_commands(text: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and (re.match(r"[A-Z_]+=", words[0]) or words[0] == "export"):
            words = words[1:]  # the reader's environment is set by the fixture
        if not words or words[:2] in (["pip", "install"], ["python", "-m"]):
            continue
        program = words[0].rpartition("/")[2]
        assert program == "captain", f"a command that is not tested: {line}"
        if words[1:3] == ["models", "fetch"]:
            assert words[3] in CATALOG, line  # it would reach the network
            continue
        assert main(words[1:]) == 0, line


def check_yaml(block: Block) -> None:
    """Profiles and configurations that are shown must load."""
    assert block.file is not None, f"a YAML block names its file at its top: {block.text[:80]!r}"
    path = Path(block.file)
    if "profiles" in yaml.safe_load(block.text):
        assert load_profiles([str(path)])
    elif path.parent.name in ("model", "scenario"):
        composed = load_config([f"{path.parent.name}={path.stem}"], config_dir=path.parents[1])
        if path.parent.name == "scenario":
            assert build_scenario(composed.scenario or {}, composed.parameters).name
    else:
        pytest.fail(f"{block.file} is neither profiles nor a configuration")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_works(page: Path, reader: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "docs"}
    for block in blocks_of(page):
        if block.file is not None:
            path = reader / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if block.language == "yaml":
            check_yaml(block)
        elif block.language == "sh":
            run_commands(block.text)
        elif block.language == "python" and block.file is None:
            run_python(block.text, namespace)


def test_every_language_is_known() -> None:
    """A block with a misspelt language would silently not be run."""
    used = {block.language for page in PAGES for block in blocks_of(page)}
    assert used <= {"python", "sh", "yaml", "text"}


def test_the_tables_of_settings_are_those_of_the_schema() -> None:
    path = ROOT / "docs" / "configuration_table.py"
    spec = importlib.util.spec_from_file_location("configuration_table", path)
    assert spec is not None and spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    text = tables.PAGE.read_text(encoding="utf-8")
    assert text == tables.page(text), "run: python docs/configuration_table.py"
    assert "|  |" not in tables.render(), "a setting has no meaning in captain/config.py"


def test_every_page_is_linked_and_every_link_leads_somewhere() -> None:
    links = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")
    linked = set()
    for page in PAGES:
        for target in links.findall(page.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            path = (page.parent / target).resolve()
            assert path.exists(), f"{page.name}: {target}"
            if page.name == "index.md":
                linked.add(path)
    assert {page for page in PAGES if page.name not in ("index.md", "README.md")} <= linked
