"""The project as a whole: its public names, its wheel, its conventions, its speed at the start."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import captain

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {"captain": "captain", "agents_library": "agents_library", "tools_library": "tools_library"}
FOLDERS = {**PACKAGES, "scenarios": "scenarios", "captain_configs": "configs"}
"""Top-level names that are installed, and the folders they come from."""
SHIPPED = (".py", ".yaml", ".md", ".csv", ".txt")
HEAVY = "autogen_core autogen_agentchat autogen_ext chromadb torch transformers openai hydra omegaconf numpy pandas"
MODULE_LINES, FUNCTION_LINES = 400, 60
REFUSED_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}


def sources() -> Iterator[Path]:
    """Every module of the project, tests and benchmarks included."""
    for folder in (*FOLDERS.values(), "benchmarks", "docs", "tests"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def tracked() -> list[Path]:
    """The files under version control that are here."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this is no git checkout")
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def in_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()


def test_the_public_names_are_a_short_sorted_list() -> None:
    assert captain.__all__ == sorted(captain.__all__)
    assert len(captain.__all__) <= 25
    assert {name for name in captain.__all__ if getattr(captain, name) is None} == set()
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        captain.solv  # noqa: B018 - the access is what is tested


def test_packages_in_the_metadata_are_the_folders_on_disk() -> None:
    on_disk = set()
    for name, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            on_disk.add(".".join([name, *path.parent.relative_to(ROOT / folder).parts]))
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == on_disk


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy so that the build leaves nothing behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for path in tracked():
        target = source / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_these_top_level_names_and_no_others(wheel: zipfile.ZipFile) -> None:
    names = {name.partition("/")[0] for name in wheel.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == set(FOLDERS)


def test_the_wheel_holds_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = set()
    for name, folder in FOLDERS.items():
        for path in tracked():
            if path.is_relative_to(ROOT / folder) and (path.suffix in SHIPPED or path.name == "py.typed"):
                wanted.add(f"{name}/{path.relative_to(ROOT / folder).as_posix()}")
    assert held == wanted
    assert {name for name in wanted if name.endswith("prompts/review.md")}, "prompts are shipped"


def test_the_wheel_can_be_typed_against(wheel: zipfile.ZipFile) -> None:
    assert {f"{name}/py.typed" for name in ("captain", *PACKAGES, "scenarios")} <= set(wheel.namelist())


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_and_functions_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MODULE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES or "tests" in path.parts, f"{node.name}: {length} lines"
    assert path.stem not in REFUSED_NAMES


def test_importing_the_captain_is_light() -> None:
    code = (
        "import sys; from captain import Captain; Captain({'team.max_turns': 3});"
        f"print(*[name for name in {HEAVY.split()!r} if name in sys.modules])"
    )
    assert in_new_process(code) == ""


def test_the_command_line_starts_light() -> None:
    code = (
        "import contextlib, io, sys; from captain.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()) as shown: main(['--help'])\n"
        "assert 'solve' in shown.getvalue()\n"
        f"print(*[name for name in {HEAVY.split()!r} if name in sys.modules])"
    )
    assert in_new_process(code) == ""


def test_starting_takes_little_processor_time() -> None:
    """Processor time, not the clock: other work on the machine must not fail it."""
    measure = (
        "import time; start = time.process_time(); from captain import Captain; print(time.process_time() - start)"
    )
    assert min(float(in_new_process(measure)) for _ in range(3)) < 1.0


def test_the_ci_runs_the_commands_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'open("README.md"' in script and "blocks[:2]" in script
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    set_up, tests = (block.strip().splitlines() for block in blocks[:2])
    assert any("pip install -c constraints.txt" in line for line in set_up)
    assert set_up[-1].startswith('.venv/bin/captain solve "') and "=" not in set_up[-1].partition('" ')[2]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("$(BIN)", ".venv/bin")
    assert len(tests) == 2 and all(line in makefile for line in tests)
    assert not any(line.lstrip().startswith("#") or not line for line in [*set_up, *tests]), "lines are joined by &&"


def test_constraints_pin_every_dependency_and_no_local_build() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.!]+", line) for line in lines), "plain name==version, nothing local"
    pinned = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines}
    extras = PROJECT["project"]["optional-dependencies"]
    for requirement in [*PROJECT["project"]["dependencies"], *extras["dev"], *extras["mcp"]]:
        name = re.split(r"[\[<>=!~ ]", requirement)[0]
        assert re.sub(r"[-_.]+", "-", name).lower() in pinned, requirement


def test_no_path_of_a_developer_is_in_the_project() -> None:
    here = re.compile(r"(?<![\w.$}{])/(?:work|home|root|opt|Users)/\w+")
    found = []
    for path in tracked():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{n}: {line.strip()[:80]}" for n, line in enumerate(lines, 1) if here.search(line)
        ]
    assert found == []


def test_the_licence_and_the_changelog_fit_the_metadata() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert f"## {PROJECT['project']['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
