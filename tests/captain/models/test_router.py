"""Which model serves which role, what `auto` takes, and what is refused."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from autogen_core.models import UserMessage

from captain.compose import load_config
from captain.config import CaptainConfig, ModelSpec
from captain.errors import ConfigError
from captain.models import ModelCall, ModelRouter
from captain.testing import serve

AUTO = CaptainConfig(model=ModelSpec(name="auto", provider="auto"))
HELLO = [UserMessage(content="hello", source="user")]


def compatible(base_url: str, **settings: Any) -> ModelSpec:
    return ModelSpec(**{"name": "m", "provider": "compatible", "model": "m1", "base_url": base_url, **settings})


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CAPTAIN_BASE_URL", "CAPTAIN_MODEL", "CAPTAIN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_auto_takes_the_embedded_model_where_nothing_is_configured(bare: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    spec = ModelRouter(AUTO, notices=told.append).spec("planner")
    assert (spec.provider, spec.weights, spec.native_tools) == ("embedded", "qwen2.5-coder-1.5b", False)
    assert len(told) == 1
    assert "qwen2.5-coder-1.5b" in told[0] and "free" in told[0]


def test_auto_takes_a_configured_endpoint(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("CAPTAIN_BASE_URL", "http://127.0.0.1:1/v1")
    bare.setenv("CAPTAIN_MODEL", "qwen3")
    told: list[str] = []
    spec = ModelRouter(AUTO, notices=told.append).spec("expert")
    assert (spec.provider, spec.model) == ("compatible", "qwen3")
    assert "http://127.0.0.1:1/v1" in told[0] and "price unknown" in told[0]


def test_auto_takes_a_key_first_and_keeps_what_the_user_set(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("OPENAI_API_KEY", "sk-secret")
    bare.setenv("CAPTAIN_BASE_URL", "http://127.0.0.1:1/v1")
    told: list[str] = []
    config = CaptainConfig(model=ModelSpec(name="auto", provider="auto", temperature=0.7))
    spec = ModelRouter(config, notices=told.append).spec("expert")
    assert (spec.provider, spec.temperature) == ("openai", 0.7)
    assert "https://api.openai.com/v1" in told[0] and "$0.4 / $1.6" in told[0] and "sk-secret" not in told[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"provider": "openai", "model": "x", "api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ({"provider": "compatible", "model": "x"}, "CAPTAIN_BASE_URL"),
        ({"provider": "compatible", "base_url": "http://127.0.0.1:1/v1"}, "CAPTAIN_MODEL"),
        ({"provider": "compatible", "model": "x", "base_url": "127.0.0.1:1"}, "'127.0.0.1:1'"),
        ({"provider": "embedded"}, "weights"),
    ],
)
def test_wrong_settings_are_named_before_anything_runs(
    bare: pytest.MonkeyPatch, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelRouter(CaptainConfig(model=ModelSpec(**{"name": "m", **settings})))


@pytest.mark.parametrize("settings", [{}, {"script": ["a"], "handler": "os.getcwd"}, {"handler": "os.no_such"}])
def test_a_scripted_model_needs_one_source_of_replies(settings: dict[str, Any]) -> None:
    router = ModelRouter(CaptainConfig(model=ModelSpec(**{"name": "m", "provider": "scripted", **settings})))
    with pytest.raises(ConfigError, match="script|handler"):
        router.client("expert")


def test_an_unknown_role_is_named() -> None:
    router = ModelRouter(CaptainConfig(model=ModelSpec(name="m", provider="scripted", script=["a"])))
    with pytest.raises(ConfigError, match="'cook'.*planner"):
        router.client("cook")  # type: ignore[arg-type]


async def test_roles_may_use_different_models_and_share_one_script() -> None:
    config = CaptainConfig(
        model=ModelSpec(name="a", provider="scripted", script=["one", "two"]),
        roles={"reflector": ModelSpec(name="b", provider="scripted", script=["other"])},
    )
    calls: list[ModelCall] = []
    router = ModelRouter(config, observer=calls.append)
    replies = [(await router.client(role).create(HELLO)).content for role in ("planner", "reflector", "expert")]
    assert replies == ["one", "other", "two"]
    assert [(call.role, call.model) for call in calls] == [("planner", "a"), ("reflector", "b"), ("expert", "a")]
    assert {role: used.calls for role, used in router.usage().by_role.items()} == {
        "planner": 1,
        "reflector": 1,
        "expert": 1,
    }


def test_one_endpoint_serves_several_event_loops_in_turn_and_at_once() -> None:
    answers: list[str] = []

    async def solve(base_url: str, text: str) -> None:
        router = ModelRouter(CaptainConfig(model=compatible(base_url, concurrency=2)))
        result = await router.client("expert").create([UserMessage(content=text, source="user")])
        await router.aclose()
        answers.append(str(result.content))

    with serve(lambda body: body["messages"][-1]["content"], latency=0.02) as server:
        asyncio.run(solve(server.base_url, "a"))
        asyncio.run(solve(server.base_url, "b"))
        threads = [threading.Thread(target=lambda i=i: asyncio.run(solve(server.base_url, f"t{i}"))) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
    assert answers[:2] == ["a", "b"]
    assert sorted(answers[2:]) == [f"t{i}" for i in range(8)]


async def test_a_router_works_on_after_it_was_closed() -> None:
    with serve(lambda body: "ok") as server:
        router = ModelRouter(CaptainConfig(model=compatible(server.base_url)))
        await router.client("expert").create(HELLO)
        await router.aclose()
        await router.client("expert").create(HELLO)
        await router.aclose()
    assert router.usage().calls == 2


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("embedded", "embedded"),
        ("embedded_small", "embedded"),
        ("embedded_tiny", "embedded"),
        ("openai", "openai"),
        ("compatible", "compatible"),
        ("auto", "auto"),
    ],
)
def test_the_models_that_ship_can_be_chosen_by_name(bare: pytest.MonkeyPatch, name: str, provider: str) -> None:
    bare.setenv("OPENAI_API_KEY", "sk-1")
    bare.setenv("CAPTAIN_BASE_URL", "http://127.0.0.1:1/v1")
    bare.setenv("CAPTAIN_MODEL", "some")
    config = load_config([f"model={name}"]).captain
    assert (config.model.name, config.model.provider) == (name, provider)
    assert ModelRouter(config).spec("expert").provider == ("openai" if name == "auto" else provider)
