"""Whatever stands in a file of profiles: profiles, or one clear ConfigError."""

from __future__ import annotations

import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from captain.errors import ConfigError
from captain.library.profiles import AgentProfile, load_profiles

FUZZ = settings.get_profile("fuzz")
SECONDS = 3.0
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # of long reprs
VALID = [
    files("agents_library").joinpath("profiles", name).read_bytes()[:6000].rpartition(b"\n  - name:")[0]
    for name in ("astronomy.yaml", "finance.yaml")
]
ATOMS = [
    *[
        b"domain: d\n",
        b"profiles:\n",
        b"  - name: a\n",
        b"    title: T\n",
        b"    description: d\n",
        b"    tools: [a]\n",
    ],
    *[
        b"    instructions: |\n      x\n",
        b"    kind: factory\n",
        b"    factory: a.b:c\n",
        b"    parameters:\n      n: {}\n",
    ],
    *[
        b"- ",
        b": ",
        b"? ",
        b"&a ",
        b"*a ",
        b"<<: *a\n",
        b"!!python/object:os.system ",
        b"!!binary ",
        b"!!set ",
        b"!!int ",
    ],
    *[
        b"!!timestamp ",
        b"!!omap ",
        b"!!null ",
        b"!!float ",
        b"!x ",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"|",
        b">",
        b"%YAML 1.1\n",
    ],
    *[
        b"---\n",
        b"...\n",
        b"#",
        b"'",
        b'"',
        b"\\x00",
        b"\t",
        b"\n",
        b"  ",
        b"\r",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xfe\xff",
        b"\0",
    ],
    *[
        b"\xed\xa0\x80",
        b"2024-13-45",
        b"2001-01-01",
        b"1e400",
        b".nan",
        b"0x",
        b"1:60:60",
        b"null",
        b"yes",
        b"~",
        b"=",
        b"<<",
    ],
    *[b"    version: 9999999999999999999999\n", b"    version: 1\n", b"    origin: user\n", b"    role: expert\n"],
    *[b"    provenance: {model: m, date: 2024-01-01}\n", b"    provenance: {model: m, date: 9e99}\n", b"9" * 5000],
]
BYTES = st.lists(
    st.tuples(st.sampled_from(ATOMS) | st.binary(max_size=4), st.sampled_from([1, 1, 1, 1, 2, 5, 3000])), max_size=14
).map(lambda pieces: b"".join(piece * times for piece, times in pieces)[:100_000])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates() | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from([*AgentProfile.model_fields, "nmae", "", "0", "parameters.x", "1"])


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A good file with some bytes cut out, doubled, swapped or put in."""
    content = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(content)))
        last = draw(st.integers(first, min(len(content), first + 60)))
        piece = draw(st.sampled_from([b"", content[first:last] * 2, *ATOMS]) | st.binary(max_size=5))
        content = content[:first] + piece + content[last:]
    return content


def load(folder: Path, content: bytes) -> list[AgentProfile]:
    """Loads a file; an error must be one line that names it."""
    file = folder / "experts.yaml"
    file.write_bytes(content)
    start = time.process_time()
    try:
        return load_profiles([str(file)])
    except ConfigError as error:
        assert str(file) in str(error) and "\n" not in str(error) and len(str(error)) < 2000
        return []
    finally:
        assert time.process_time() - start < SECONDS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profiles")


LAUGHS = [f"- &{chr(97 + n)} [{','.join(['*' + chr(96 + n)] * 10)}]" for n in range(1, 10)]


@FUZZ
@given(content=BYTES)
@example(content=("profiles:\n- &a [x, x]\n" + "\n".join(LAUGHS)).encode())
@example(content=("profiles:\n- name: a\n  tags:\n  - &a [x, x]\n  " + "\n  ".join(LAUGHS)).encode())
@example(content=b"profiles: &a [*a]")
@example(content=b"profiles: [&a {<<: *a, name: x}]")
@example(content=b"profiles: !!omap [a: 1]")
@example(content=b"profiles: [{name: !!bool x}]")
@example(content=b"profiles: [{name: !!timestamp x}]")
@example(content=b"domain: !!omap [1]\nprofiles: [{name: a}]")
@example(content=b"? " + b"2024-13-45" * 3000)
@example(content=b"[" * 100_000)
@example(content=b"profiles: [{version: " + b"9" * 10_000 + b"}]")
def test_any_bytes(folder: Path, content: bytes) -> None:
    load(folder, content)


@FUZZ
@given(content=mutated())
def test_good_files_with_something_wrong(folder: Path, content: bytes) -> None:
    for profile in load(folder, content):
        assert profile.name and profile.origin == "user"


@FUZZ
@example(profile={1: 1, None: 2}, whole=True)
@example(profile={"tools": ["x"] * 3, "parameters": {"a": {"type": "string", 1: 2}}, "kind": "factory"}, whole=True)
@given(profile=st.dictionaries(FIELDS, VALUES, max_size=6), whole=st.booleans())
def test_any_values_of_fields(folder: Path, profile: dict[str, Any], whole: bool) -> None:
    good = {"name": "a", "title": "T", "description": "D", "instructions": "I"} if whole else {}
    try:
        content = yaml.safe_dump({"domain": "d", "profiles": [{**good, **profile}]}).encode("utf-8", "surrogatepass")
    except (yaml.YAMLError, UnicodeError):
        assume(False)
    load(folder, content)


@pytest.mark.parametrize("content", VALID)
def test_what_is_mutated_is_good(folder: Path, content: bytes) -> None:
    assert len(load(folder, content)) >= 1
