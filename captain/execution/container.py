"""The Docker backend: AutoGen's container executor, with our limits, file names and messages."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import math
import shlex
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock

from captain.config import ExecutionConfig, SandboxConfig
from captain.errors import ConfigError
from captain.execution.blocks import BlockExecutor
from captain.execution.isolation import Isolation
from captain.execution.messages import TIMEOUT_CODE, Program
from captain.execution.processes import Ending, Finished, cut_middle
from captain.execution.programs import Language

if TYPE_CHECKING:
    from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor

_BYTES_KEPT = 2_000_000
_VARIABLES = (
    "PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 PYTHONNODEBUGRANGES=1 MPLBACKEND=Agg LANG=C.UTF-8"
)


class ContainerExecutor(BlockExecutor):
    """Runs blocks in one container that sees the folder and nothing else of this machine.

    The container starts with the first block, and `stop` removes it together with everything that still runs in it.
    The image needs `python` and the packages that programs import; the default image has the standard library only.
    """

    def __init__(self, config: ExecutionConfig, sandbox: SandboxConfig, *, folder: Path) -> None:
        """Prepare the executor; the engine is not asked yet.

        Args:
            config: Image, time limit and cap on the output.
            sandbox: Whether the network is open.
            folder: The folder that the container sees.

        Raises:
            ConfigError: The `docker` extra is not installed.
        """
        super().__init__(config, folder=folder)
        self.isolation = Isolation("docker")
        self._network = sandbox.network
        self._inner: DockerCommandLineCodeExecutor | None = None
        self._starting = asyncio.Lock()
        _require_extra()

    async def start(self) -> None:
        """Start the container.

        Raises:
            ConfigError: No engine answers, or the image cannot be had.
        """
        async with self._starting:
            if self._inner is None:
                self._inner = await _start_container(self._config, self.folder, network=self._network)

    async def stop(self) -> None:
        """Remove the container with all that runs in it."""
        async with self._starting:
            inner, self._inner = self._inner, None
            if inner is not None:
                await inner.stop()

    async def _run(self, program: Program, language: Language) -> Finished:
        await self.start()
        if self._inner is None:
            raise ConfigError("execution.backend='docker': the container was stopped while a program waited for it")
        block = CodeBlock(code=_script(program, language, self._config.timeout), language="sh")
        token = CancellationToken()
        try:
            result = await self._inner.execute_code_blocks([block], token)
        except asyncio.CancelledError:
            token.cancel()
            raise
        except UnicodeDecodeError:
            return Finished("exit", 1, "The output is not UTF-8 text and cannot be shown.")
        ending: Ending = "timeout" if result.exit_code == TIMEOUT_CODE else "exit"
        output = cut_middle(result.output, self._config.max_output_chars)
        return Finished(ending, result.exit_code, output)


def _script(program: Program, language: Language, seconds: float) -> str:
    """Write the script that runs one file in the container: no input, output cut, its exit code kept."""
    name = shlex.quote(program.path.name)
    status = shlex.quote(f".{program.path.name}.status")
    command = f"python -u {name}" if language == "python" else f"$(command -v bash || echo sh) {name}"
    return "\n".join(
        [
            f"{{ timeout -k 2 {seconds:g} env {_VARIABLES} {command} </dev/null; echo $? >{status}; }} 2>&1"
            f" | head -c {_BYTES_KEPT}",
            f"code=$(cat {status}); rm -f {status}; exit $code",
        ]
    )


def _require_extra() -> None:
    if any(importlib.util.find_spec(module) is None for module in ("docker", "asyncio_atexit")):
        raise ConfigError(
            "execution.backend='docker' needs the extra 'docker': pip install 'captain-agents[docker]',"
            " or choose execution.backend=local"
        )


async def _start_container(config: ExecutionConfig, folder: Path, *, network: bool) -> DockerCommandLineCodeExecutor:
    from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor

    engine_error: type[Exception] = importlib.import_module("docker.errors").DockerException
    name = f"captain-{uuid.uuid4().hex}"
    inner = DockerCommandLineCodeExecutor(
        image=config.docker_image,
        container_name=name,
        work_dir=folder,
        timeout=math.ceil(config.timeout) + 10,  # a second net; the script's own limit comes first
        delete_tmp_files=True,
    )
    try:
        await inner.start()
        if not network:
            await asyncio.to_thread(_cut_off, name)
    except (engine_error, OSError, ValueError, RuntimeError) as error:
        with contextlib.suppress(engine_error):
            await inner.stop()
        reason = str(error).splitlines()[0][:200]
        raise ConfigError(
            f"execution.backend='docker', docker_image={config.docker_image!r}: no container ({reason});"
            " start the Docker engine, or choose execution.backend=local"
        ) from error
    return inner


def _cut_off(name: str) -> None:
    """Take a container off every network; AutoGen's executor cannot start it without."""
    client = importlib.import_module("docker").from_env()
    try:
        container = client.containers.get(name)
        for network in container.attrs["NetworkSettings"]["Networks"]:
            client.networks.get(network).disconnect(container)
    finally:
        client.close()
