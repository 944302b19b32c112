"""Composition: every shipped file is valid, every mistake is one line that helps, the host's Hydra stays untouched."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from captain.compose import config_from, load_config
from captain.config import CaptainConfig, EmbeddingConfig, ModelSpec
from captain.errors import ConfigError


def shipped(group: str) -> list[str]:
    folder = resources.files("captain_configs").joinpath(group)
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


@pytest.fixture
def user_configs(tmp_path: Path) -> Path:
    for group in ("model", "scenario"):
        (tmp_path / group).mkdir()
    (tmp_path / "model" / "mine.yaml").write_text("name: mine\nprovider: scripted\nscript: [hello]\n")
    (tmp_path / "scenario" / "my_own.yaml").write_text(
        "# @package _global_\n"
        "defaults:\n  - override /model: mine\n"
        "scenario: {_target_: my_package.MyScenario, n: 3}\n"
        "dataset: {name: x, limit: 4}\n"
        "team: {max_turns: 2}\n"
    )
    return tmp_path


def message(*overrides: str, config_dir: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(overrides, config_dir=config_dir)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("group", ["model", "embedding", "scenario"])
def test_every_shipped_file_composes(group: str) -> None:
    for name in shipped(group):
        composed = load_config([f"{group}={name}"])
        if group == "model":
            assert composed.captain.model.name == name
        if group == "scenario":
            assert composed.scenario_name == name
            assert composed.scenario is not None and "_target_" in composed.scenario


def test_yaml_defaults_equal_the_schema() -> None:
    composed = load_config()
    plain = CaptainConfig(model=ModelSpec(name="auto", provider="auto"))
    groups = set(CaptainConfig.model_fields) - {"model"}
    assert composed.captain.model_dump(include=groups) == plain.model_dump(include=groups)
    assert composed.captain.model.provider == "auto"
    assert composed.scenario is None and composed.parameters == {}


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("team.max_turns=6", "team.max_turns", 6),
        ("library.threshold=0.4", "library.threshold", 0.4),
        ("limits.calls=20", "limits.calls", 20),
        ("models.transport=hub", "models.transport", "hub"),
        ("models.paths.embedded=/a/b.gguf", "models.paths", {"embedded": "/a/b.gguf"}),
        ("models.paths.qwen2.5-coder-1.5b=/a/b.gguf", "models.paths", {"qwen2.5-coder-1.5b": "/a/b.gguf"}),
        ("model.seed=3", "model.seed", 3),
        ("+team.max_turns=6", "team.max_turns", 6),
        ("model.price={prompt: 1, completion: 2}", "model.price.completion", 2.0),
        ("~team.max_turns", "team.max_turns", 10),
        ('runs_dir="it\'s here"', "runs_dir", "it's here"),
    ],
)
def test_overrides_need_no_plus(override: str, path: str, value: object) -> None:
    found: Any = load_config([override]).captain
    for part in path.split("."):
        found = getattr(found, part)
    assert found == value


def test_role_names_become_specifications() -> None:
    config = load_config(["roles.reflector=scripted", "model=embedded"]).captain
    assert list(config.roles) == ["reflector"]
    assert config.roles["reflector"] == load_config(["model=scripted"]).captain.model


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("model=embeded", ["unknown model 'embeded'", "did you mean 'embedded'?"]),
        ("roles.expert=embeded", ["unknown model 'embeded'", "'embedded'"]),
        ("roles.reflctor=embedded", ["'roles.reflctor'", "'roles.reflector'"]),
        ("team.max_turn=3", ["unknown setting 'team.max_turn'", "'team.max_turns'"]),
        ("tem.max_turns=3", ["'team.max_turns'"]),
        ("max_turns=3", ["'team.max_turns'"]),
        ("+team.maxturns=3", ["'team.maxturns'", "'team.max_turns'"]),
        ("+nothing_alike=3", ["unknown setting 'nothing_alike'", "known are", "team"]),
        ("team.max_turns=many", ["'many'", "'team.max_turns'", "integer"]),
        ("limits.calls=0", ["0", "'limits.calls'", "greater than or equal to 1"]),
        ("team.mode=sttic", ["'sttic'", "'static'"]),
        ("team.max_turns=1,2", ["sweep", "--multirun"]),
        ("seed=李明", ["'seed=李明'", "'seed=\"李明\"'"]),
        ("library.user_dir='C:\\agents\\'", ["'library.user_dir=\"C:/agents/\"'"]),
        ("nonsense", ["'nonsense'", "KEY=VALUE"]),
        ("hydra.run.dir=x", ["Hydra itself"]),
        ("scenario=no_such_one", ["unknown scenario 'no_such_one'"]),
        ("scenario.n=3", ["unknown setting 'scenario.n'"]),
        ("model={name: x}", ["model=", "model.KEY=VALUE"]),
    ],
)
def test_mistakes_are_one_line_with_the_remedy(override: str, parts: list[str]) -> None:
    text = message(override)
    for part in parts:
        assert part in text


def test_a_key_in_an_override_is_not_repeated() -> None:
    text = message("model.api_key=sk-secret")
    assert "'model.api_key_env'" in text
    assert "sk-secret" not in text


def test_users_folder_adds_models_and_scenarios(user_configs: Path) -> None:
    composed = load_config(["scenario=my_own", "dataset.limit=9", "scenario.n=7"], config_dir=user_configs)
    assert composed.scenario_name == "my_own"
    assert composed.scenario == {"_target_": "my_package.MyScenario", "n": 7}
    assert composed.parameters == {"dataset": {"name": "x", "limit": 9}}
    assert composed.captain.model.script == ["hello"]
    assert composed.captain.team.max_turns == 2
    over = load_config(["scenario=my_own", "team.max_turns=5", "+dataset.extra=1"], config_dir=user_configs)
    assert over.captain.team.max_turns == 5
    assert over.parameters["dataset"]["extra"] == 1


@pytest.mark.parametrize(
    ("override", "near"),
    [("datset.limit=1", "dataset.limit"), ("+datset=1", "dataset"), ("scenario.m=1", "scenario.n")],
)
def test_keys_a_scenario_did_not_declare(user_configs: Path, override: str, near: str) -> None:
    assert f"did you mean {near!r}?" in message("scenario=my_own", override, config_dir=user_configs)


def test_folder_of_the_user_is_checked(user_configs: Path, tmp_path: Path) -> None:
    assert "'nowhere' does not exist" in message(config_dir=Path("nowhere"))
    (user_configs / "model" / "embedded.yaml").write_text("name: embedded\nprovider: scripted\n")
    assert "model/embedded.yaml" in message(config_dir=user_configs)


def test_broken_yaml_names_file_and_line(user_configs: Path) -> None:
    (user_configs / "model" / "broken.yaml").write_text("name: broken\nprovider: [scripted\n")
    text = message("model=broken", config_dir=user_configs)
    assert "broken.yaml" in text and "line" in text


def test_model_file_with_wrong_and_missing_fields(user_configs: Path) -> None:
    (user_configs / "model" / "wrong.yaml").write_text("name: wrong\nmodle: x\n")
    text = message("model=wrong", config_dir=user_configs)
    assert "'model.provider' is missing" in text
    assert "did you mean 'model.model'?" in text


def test_folder_with_quotes_and_blanks(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "mine" here'
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "mine.yaml").write_text("name: mine\nprovider: scripted\n")
    assert load_config(["model=mine"], config_dir=folder).captain.model.name == "mine"


def test_a_scenario_can_be_demanded() -> None:
    with pytest.raises(ConfigError, match="no scenario was given; add scenario=NAME"):
        load_config(scenario_required=True)


def test_works_inside_another_hydra_program_and_leaves_it_alone(tmp_path: Path) -> None:
    import hydra
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.utils import JobRuntime
    from hydra.version import getbase

    (tmp_path / "host.yaml").write_text("answer: 42\n")
    with hydra.initialize_config_dir(str(tmp_path), version_base="1.2", job_name="host"):
        before = GlobalHydra.instance().hydra
        load_config(["team.max_turns=6"])
        message("model=embeded")
        assert GlobalHydra.instance().hydra is before
        assert str(getbase()) == "1.2"
        assert JobRuntime.instance().get("name") == "host"
        assert hydra.compose("host").answer == 42


def test_repeatedly_and_in_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(lambda n: load_config([f"team.max_turns={n}"]).captain.team.max_turns, range(1, 13)))
    assert turns == list(range(1, 13))


def test_no_folder_is_made_or_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load_config(["team.max_turns=6"])
    assert Path(os.getcwd()) == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_relative_config_folder_is_relative_to_the_caller(user_configs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(user_configs.parent)
    assert load_config(["model=mine"], config_dir=Path(user_configs.name)).captain.model.name == "mine"


def test_python_settings_over_the_default() -> None:
    default = config_from(None)
    assert default == load_config().captain
    assert config_from(default) is default
    config = config_from({"model": "scripted", "team": {"max_turns": 4}, "limits.calls": 9, "embedding": "hash"})
    assert config.model.name == "scripted"
    assert (config.team.max_turns, config.team.max_experts, config.limits.calls) == (4, 3, 9)
    assert config.embedding.provider == "hash"


def test_python_models_given_as_data() -> None:
    spec = ModelSpec(name="mine", provider="compatible", base_url="http://127.0.0.1:1/v1", strength="small")
    assert config_from({"model": spec}).model == spec
    assert config_from({"model": {"name": "x", "provider": "scripted"}}).model == ModelSpec(
        name="x", provider="scripted"
    )
    assert config_from({"model": ModelSpec(name="auto", provider="auto", seed=3)}).model.model_fields_set >= {"seed"}
    assert "timeout" not in config_from({"model": ModelSpec(name="auto", provider="auto")}).model.model_fields_set
    assert config_from({"model.temperature": 0.7}).model.temperature == 0.7
    assert config_from({"roles": {"expert": spec, "writer": "scripted", "planner": None}}).roles["expert"] == spec
    assert config_from({"embedding": {"provider": "hash"}}).embedding == EmbeddingConfig(provider="hash")
    weights = config_from({"models": {"paths": {"qwen2.5-1.5b": "/a"}}}).models.paths
    assert weights == {"qwen2.5-1.5b": "/a"}


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"team": {"max_turn": 4}}, "did you mean 'team.max_turns'?"),
        ({"teem": {"max_turns": 4}}, "did you mean 'team'?"),
        ({"model": "embeded"}, "did you mean 'embedded'?"),
        ({"team.max_turns": "x"}, "wrong value 'x' for 'team.max_turns'"),
        ({"scenario": {"n": 3}}, "unknown setting 'scenario'"),
    ],
)
def test_python_mistakes(settings: dict[str, Any], part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_from(settings)
    assert part in str(caught.value)


def test_text_of_python_settings_is_taken_as_it_is() -> None:
    assert config_from({"runs_dir": "it's ${x} = {1},#"}).runs_dir == "it's ${x} = {1},#"


def test_something_else_than_a_mapping() -> None:
    with pytest.raises(ConfigError, match="a mapping, a CaptainConfig or None, not 'list'"):
        config_from([1])  # type: ignore[arg-type]  # the mistake under test
