"""The Docker backend says what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock

from captain.config import ExecutionConfig, SandboxConfig
from captain.errors import ConfigError
from captain.execution import build_executor

DOCKER = ExecutionConfig(backend="docker")


def test_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(ConfigError, match=r"pip install 'captain-agents\[docker\]'"):
        build_executor(DOCKER, folder=tmp_path)


async def test_missing_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    executor = build_executor(DOCKER, folder=tmp_path)
    with pytest.raises(ConfigError, match="start the Docker engine") as caught:
        await executor.execute_code_blocks([CodeBlock("1", "python")], CancellationToken())
    assert "\n" not in str(caught.value)
    await executor.stop()


async def test_script_of_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script is run here by a shell in place of a container: exit codes, time limit and cut output."""
    pytest.importorskip("docker")
    from captain.execution import container

    local = build_executor(ExecutionConfig(), folder=tmp_path)

    async def start(config: ExecutionConfig, folder: Path, *, network: bool) -> object:
        return local

    monkeypatch.setattr(container, "_start_container", start)
    executor = build_executor(ExecutionConfig(backend="docker", timeout=1), folder=tmp_path)
    codes = {}
    for code in ("print('例')", "1 / 0", "import time; time.sleep(9)", "input()", "while True: print('x' * 1000)"):
        result = await executor.execute_code_blocks([CodeBlock(code, "python")], CancellationToken())
        codes[code] = result
    one, two, three, four, five = codes.values()
    assert (one.exit_code, one.output) == (0, "例")
    assert two.exit_code == 1 and 'File "program.py", line 1' in two.output and "ZeroDivisionError" in two.output
    assert three.exit_code == 124 and "longer than 1 seconds" in three.output
    assert four.exit_code == 1 and "input() cannot be used" in four.output
    assert five.exit_code != 0 and len(five.output) < 7000


@pytest.mark.parametrize("allowed", [False, True])
async def test_container_is_taken_off_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    """The engine is played by a stand-in that notes what is asked of it."""
    docker = pytest.importorskip("docker")
    from autogen_ext.code_executors import docker as backend

    names: list[str] = []
    client = mock.MagicMock()
    client.containers.get.side_effect = lambda name: mock.Mock(
        container=name, attrs={"NetworkSettings": {"Networks": {"bridge": {}, "other": {}}}}
    )

    def executor(**settings: Any) -> mock.AsyncMock:
        names.append(settings["container_name"])
        return mock.AsyncMock()

    monkeypatch.setattr(docker, "from_env", lambda: client)
    monkeypatch.setattr(backend, "DockerCommandLineCodeExecutor", executor)
    built = build_executor(DOCKER, folder=tmp_path, sandbox=SandboxConfig(network=allowed, require=True))
    assert (built.isolation.kind, built.isolation.weak) == ("docker", False)
    await built.start()
    left = [call.args[0] for call in client.networks.get.call_args_list]
    assert left == ([] if allowed else ["bridge", "other"])
    if not allowed:
        (taken, *_) = [call.args[0].container for call in client.networks.get.return_value.disconnect.call_args_list]
        assert [taken] == names
    await built.stop()
