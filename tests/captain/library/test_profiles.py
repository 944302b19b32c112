"""Reading profiles: what is accepted, and how each mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from captain.errors import ConfigError
from captain.library import AgentProfile, load_profiles

GOOD = """domain: science
profiles:
  - name: chemist
    title: Chemist
    description: Balances reactions.
    instructions: Work carefully.
    tools: [convert_units]
    tags: [chemistry]
"""


def write(folder: Path, text: str, name: str = "experts.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_profiles_come_from_files_and_folders(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD.replace("chemist", "physicist"), "more.yml")
    write(tmp_path, "not: profiles", "readme.txt")
    profiles = load_profiles([str(tmp_path)])
    assert [profile.name for profile in profiles] == ["chemist", "physicist"]
    assert profiles[0].domain == "science" and profiles[0].tools == ("convert_units",)
    assert profiles[0].origin == "user" and profiles[0].role == "expert" and profiles[0].kind == "assistant"


def test_profiles_come_from_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_experts_package"
    (package / "profiles").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    write(package / "profiles", GOOD + "    origin: written\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (profile,) = load_profiles(["some_experts_package"])
    assert profile.name == "chemist" and profile.origin == "packaged"
    with pytest.raises(ConfigError, match="did you mean 'some_experts_package'"):
        load_profiles(["some_expert_package"])


def test_a_field_may_override_the_domain_and_byte_order_marks_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + (GOOD + "    domain: chemistry\n").encode())
    assert load_profiles([str(path)])[0].domain == "chemistry"


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        ("    title: Chemist\n", "", 3, "lacks the field 'title'"),
        ("title: Chemist", "titel: Chemist", 4, "unknown field 'titel'; did you mean 'title'"),
        ("title: Chemist", "title: 3", 4, "'title' is 3"),
        ("title: Chemist", "title: ' '", 4, "'title'"),
        ("tools: [convert_units]", "tools: convert_units", 7, "'tools' is 'convert_units'"),
        ("tools: [convert_units]", "tools: [1]", 7, r"'tools\[0\]' is 1"),
        ("tags: [chemistry]", "kind: robot", 8, "'kind' is 'robot'"),
        ("tags: [chemistry]", "version: 0", 8, "'version' is 0"),
        ("name: chemist", "name: Data Analyst", 3, "the name 'Data Analyst' must be"),
        ("name: chemist", "name: 专家", 3, "the name '专家' must be"),
        ("name: chemist", "name: ✈️agent", 3, "ASCII letters"),
        ("name: chemist", f"name: {'a' * 65}", 3, "1 to 64"),
        ("domain: science\n", "", 2, "lacks the field 'domain'"),
        ("domain: science", "domian: science", 1, "unknown key 'domian'.*did you mean 'domain'"),
        ("    tags: [chemistry]", "    title: Again", 8, "'title' stands here and in line 4"),
        ("tags: [chemistry]", "tags: [chemistry", 9, "not valid YAML"),
        ("tags: [chemistry]", "\ttags: x", 8, "not valid YAML"),
        ("  - name: chemist", "  - chemist\n  - name: other", 3, "must be a mapping"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, old: str, new: str, line: int, complaint: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ConfigError, match=complaint) as caught:
        load_profiles([path])
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: "), message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "empty"),
        (b"- a\n- b\n", "expected the keys"),
        (b"domain: x\n", "expected a list 'profiles'"),
        (b"domain: x\nprofiles: 3\n", ":2: expected a list 'profiles'"),
        (b"domain: x\nprofiles: []\n", "holds no profiles"),
        ("domain: ü\n".encode("latin-1"), ":1: the file is not UTF-8"),
        (b"domain: \x00\n", "not valid YAML"),
        (b"? [a]\n: b\n", "a key must be a word"),
    ],
)
def test_files_of_another_form_are_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load_profiles([str(path)])
    assert str(path) in str(caught.value)


def test_missing_sources_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_profiles([str(tmp_path / "nowhere.yaml")])
    with pytest.raises(ConfigError, match="'jason' is neither a package nor a folder or file; did you mean 'json'"):
        load_profiles(["jason"])
    with pytest.raises(ConfigError, match="'json' holds no profiles"):
        load_profiles(["json"])


@pytest.mark.parametrize("name", ["chemist", "Chemist"])
def test_doubled_names_name_both_places(tmp_path: Path, name: str) -> None:
    first = write(tmp_path, GOOD, "a.yaml")
    second = write(tmp_path, GOOD.replace("name: chemist", f"name: {name}"), "b.yaml")
    with pytest.raises(ConfigError) as caught:
        load_profiles([first, second])
    assert f"{first}:3" in str(caught.value) and str(caught.value).startswith(f"{second}:3: ")


def test_a_user_cannot_shadow_a_packaged_expert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "packaged_experts_for_shadow"
    (package / "profiles").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    write(package / "profiles", GOOD)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = write(tmp_path, GOOD)
    with pytest.raises(ConfigError, match="taken by the profile of the package"):
        load_profiles(["packaged_experts_for_shadow", own])


def test_profiles_are_frozen() -> None:
    profile = AgentProfile(name="a", title="A", domain="d", description="x", instructions="y")
    with pytest.raises(ValueError, match="frozen"):
        profile.title = "B"  # type: ignore[misc]  # what is tested
