"""The embedded server: refusals offline, the rest with real weights (`-m model`)."""

from __future__ import annotations

import asyncio
import importlib.abc
import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from captain.config import ModelSpec, WeightsConfig
from captain.errors import ConfigError
from captain.models import embedded, weights
from captain.models.catalog import WeightFile, Weights
from captain.models.checksum import file_sha256
from captain.models.embedded import EmbeddedServer, ensure_server
from captain.models.likelihood import loglikelihood, loglikelihoods

TINY = ModelSpec(
    name="tiny", provider="embedded", model="smollm2", weights="smollm2-135m", context_window=2048, slots=2
)


@pytest.fixture
def junk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ModelSpec, WeightsConfig]:
    """Weights with the right hash that no runtime can load."""
    path = tmp_path / "junk.gguf"
    path.write_bytes(b"not a model")
    file = WeightFile(path.name, path.stat().st_size, file_sha256(path))
    monkeypatch.setattr(weights, "CATALOG", {"junk": Weights("junk", "Junk", "o/junk", "0" * 40, "none", (file,))})
    spec = ModelSpec(name="junk", provider="embedded", weights="junk", context_window=512)
    return spec, WeightsConfig(cache_dir=str(tmp_path / "cache"), paths={"junk": str(path)})


def test_a_file_that_cannot_be_loaded_is_a_clear_error(junk: tuple[ModelSpec, WeightsConfig]) -> None:
    with pytest.raises(ConfigError, match="cannot serve 'junk'"):
        ensure_server(*junk)


def test_an_old_processor_is_refused(junk: tuple[ModelSpec, WeightsConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(embedded, "_processor", lambda: "flags\t\t: fpu sse4_2 avx")
    with pytest.raises(ConfigError, match="AVX2"):
        ensure_server(*junk)


@pytest.mark.parametrize(
    ("message", "remedy"),
    [("libgomp.so.1: cannot open shared object file", "apt-get install libgomp1"), ("gone", "package xllamacpp")],
)
def test_a_missing_library_is_named(
    junk: tuple[ModelSpec, WeightsConfig], monkeypatch: pytest.MonkeyPatch, message: str, remedy: str
) -> None:
    class Broken(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "xllamacpp":
                raise ImportError(message)

    for name in [name for name in sys.modules if name.split(".")[0] == "xllamacpp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ConfigError, match=remedy):
        ensure_server(*junk)


def test_a_spec_without_weights_is_refused() -> None:
    with pytest.raises(ConfigError, match="'nameless'"):
        ensure_server(ModelSpec(name="nameless", provider="embedded"), WeightsConfig())


# --- with real weights ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    running = ensure_server(TINY, WeightsConfig())
    yield running
    running.close()


def ask(base_url: str, **body: Any) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=100) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.mark.model
def test_one_server_per_process_however_many_threads_ask(server: EmbeddedServer) -> None:
    found: list[EmbeddedServer] = []
    threads = [threading.Thread(target=lambda: found.append(ensure_server(TINY, WeightsConfig()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [server] * 4
    assert server.base_url.startswith("http://127.0.0.1:")


@pytest.mark.model
def test_it_answers_and_reuses_a_prompts_prefix(server: EmbeddedServer) -> None:
    long = "The meeting starts at nine and ends at noon. " * 20
    first = ask(server.base_url, messages=user(long + "When does it start?"), max_tokens=12, temperature=0)
    again = ask(server.base_url, messages=user(long + "When does it end?"), max_tokens=12, temperature=0)
    assert first["choices"][0]["message"]["content"].strip()
    assert first["model"] == "smollm2"
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 150


@pytest.mark.model
def test_a_json_schema_is_enforced(server: EmbeddedServer) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green"]}, "count": {"type": "integer"}},
        "required": ["colour", "count"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    reply = ask(server.base_url, messages=user("Tell me a story."), max_tokens=80, response_format=form)
    data = json.loads(reply["choices"][0]["message"]["content"])
    assert set(data) == {"colour", "count"} and data["colour"] in ("red", "green") and type(data["count"]) is int


@pytest.mark.model
def test_each_slot_has_the_whole_context(server: EmbeddedServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(server.base_url, messages=user("word " * 2100), max_tokens=1)
    assert caught.value.code == 400
    assert json.load(caught.value)["error"]["n_ctx"] == TINY.context_window


@pytest.mark.model
def test_a_larger_context_for_a_running_model_is_refused(server: EmbeddedServer) -> None:
    with pytest.raises(ConfigError, match="already runs with 2048"):
        ensure_server(TINY.model_copy(update={"context_window": 4096}), WeightsConfig())


@pytest.mark.model
async def test_likelihood_picks_the_right_expert(server: EmbeddedServer) -> None:
    experts = ("a mathematician who solves equations", "a chef who cooks Italian food", "a lawyer who writes contracts")
    prompts = [f"This expert is {expert}. Somebody asks this expert:" for expert in experts]
    tasks = (" Find the roots of x^2 - 5x + 6 = 0.", " How long do I boil spaghetti?", " Draft a sales agreement.")
    scores = await asyncio.gather(*(loglikelihoods(server.base_url, prompts, task, concurrency=2) for task in tasks))
    assert [row.index(max(row)) for row in scores] == [0, 1, 2]


@pytest.mark.model
async def test_a_text_that_stands_in_the_prompt_is_scored_in_full(server: EmbeddedServer) -> None:
    text = " The committee meets on Tuesday at nine, and every member brings a report about travel costs."
    prompt = f"Repeat after me.{text} Again:{text} And again:"
    whole = await loglikelihood(server.base_url, prompt, text)
    first = await loglikelihood(server.base_url, prompt, " The committee meets on Tuesday at nine, and every")
    rest = text.removeprefix(" The committee meets on Tuesday at nine, and every")
    second = await loglikelihood(server.base_url, prompt + text.removesuffix(rest), rest)
    assert whole == pytest.approx(first + second, abs=0.3)
    assert whole < -0.3


CHILD = """
import sys, urllib.request
from captain.config import ModelSpec, WeightsConfig
from captain.models.embedded import ensure_server
server = ensure_server(ModelSpec.model_validate_json(sys.argv[1]), WeightsConfig())
print(server.base_url, flush=True)
sys.stdin.read()
"""


def start_child() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, TINY.model_dump_json()]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def is_up(base_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base_url}/models", timeout=10) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@pytest.mark.model
def test_two_processes_serve_side_by_side_and_stop_when_they_end() -> None:
    children = [start_child(), start_child()]
    addresses = [child.stdout.readline().strip() for child in children if child.stdout]
    assert len(set(addresses)) == 2 and all(is_up(address) for address in addresses)
    begun = time.monotonic()
    for child in children:
        child.communicate("", timeout=30)
        assert child.returncode == 0
    assert time.monotonic() - begun < 20
    assert not any(is_up(address) for address in addresses)


@pytest.mark.model
def test_closing_stops_it_and_the_next_call_starts_another() -> None:
    first = ensure_server(TINY, WeightsConfig())
    first.close()
    first.close()
    assert not is_up(first.base_url)
    second = ensure_server(TINY, WeightsConfig())
    assert second is not first and is_up(second.base_url)
    second.close()
