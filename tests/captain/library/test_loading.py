"""Tools read from modules."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from captain.errors import ConfigError
from captain.library import load_tools

GOOD = '''
from captain.tools import tool

@tool
def {name}(text: str) -> str:
    """Shout a text."""
    return text.upper()

def plain(text: str) -> str:
    return text
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_marked_functions_are_collected(folder: Path) -> None:
    (folder / "loading_good.py").write_text(GOOD.format(name="shout"))
    (folder / "loading_importer.py").write_text("from loading_good import shout\n" + GOOD.format(name="call_out"))
    specs = load_tools(["loading_good", "loading_importer", "loading_good"])
    assert [(spec.name, spec.category) for spec in specs] == [
        ("shout", "loading_good"),
        ("call_out", "loading_importer"),
    ]


def test_a_package_stands_for_the_modules_in_it(folder: Path) -> None:
    package = folder / "loading_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "second.py").write_text(GOOD.format(name="shout"))
    (package / "first.py").write_text(GOOD.format(name="call_out"))
    (package / "words.py").write_text("WORDS = ('a',)\n")
    names = ["loading_package", "loading_package.second"]
    assert [spec.name for spec in load_tools(names)] == ["call_out", "shout"]
    (package / "worse.py").write_text("1 / 0\n")
    importlib.invalidate_caches()
    with pytest.raises(ConfigError, match=r"loading_package\.worse.*ZeroDivisionError"):
        load_tools(["loading_package"])


@pytest.mark.parametrize(
    ("module", "content", "complaint"),
    [
        ("loading_typo", None, "does not exist; did you mean 'loading_type'"),
        ("loading_needs", "import no_such_package_at_all", "needs the package 'no_such_package_at_all'"),
        ("loading_broken", "1 / 0", "fails at its import: ZeroDivisionError"),
        ("loading_syntax", "def (", "fails at its import: SyntaxError"),
        ("loading_empty", "", "marks no function"),
        (
            "loading_silent",
            "from captain.tools import tool\n@tool\ndef f(x: int) -> int:\n    return x",
            "no docstring",
        ),
        ("loading_untyped", 'from captain.tools import tool\n@tool\ndef f(x):\n    "Do."', "'x' has no type"),
        ("loading_unknown", 'from captain.tools import tool\n@tool\ndef f(x: "Nope"):\n    "Do."', "cannot be read"),
    ],
)
def test_wrong_modules_are_named(folder: Path, module: str, content: str | None, complaint: str) -> None:
    (folder / "loading_type.py").write_text(GOOD.format(name="shout"))
    if content is not None:
        (folder / f"{module}.py").write_text(content)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load_tools([module])
    assert module in str(caught.value)


def test_two_tools_of_one_name_are_refused(folder: Path) -> None:
    (folder / "loading_one.py").write_text(GOOD.format(name="search"))
    (folder / "loading_two.py").write_text(GOOD.format(name="search"))
    with pytest.raises(ConfigError, match="two tools are named 'search': in 'loading_one' and 'loading_two'"):
        load_tools(["loading_one", "loading_two"])
