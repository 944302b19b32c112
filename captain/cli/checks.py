"""What `captain doctor` looks at: each check says what it found and, when something is missing, what to do."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from captain.config import CaptainConfig, ModelSpec, WeightsConfig
from captain.errors import CaptainError, ConfigError
from captain.execution.isolation import REMEDY, Isolation
from captain.tools import Needs

if TYPE_CHECKING:
    import httpx

REACH_SECONDS = 5.0
MINILM = "all-minilm-l6-v2"
EXTRAS = {
    "mcp": ("mcp", "tools of MCP servers"),
    "documents": ("markitdown", "documents and web pages as text"),
    "docker": ("docker", "isolated code execution"),
}

EXTRA_OF = {
    "openpyxl": "tables",
    "pyarrow": "tables",
    "markitdown": "documents",
    "pdfplumber": "documents",
    "bs4": "documents",
    "youtube_transcript_api": "documents",
}
"""Package that a tool may need -> the extra that brings it."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warning", "problem"]
    """`warning`: something is less than it could be; `problem`: tasks cannot be solved."""
    detail: str
    remedy: str | None = None


def check_all(config: CaptainConfig) -> Iterator[Check]:
    """Looks at everything, the most important first."""
    yield from check_models(config)
    yield from check_embedding(config)
    yield from check_library(config)
    yield from check_tools(config)
    yield from check_servers(config)
    yield from check_execution(config)
    yield from check_extras()


def check_models(config: CaptainConfig) -> Iterator[Check]:
    """Which model serves, and whether it can be reached."""
    from captain.models import ModelRouter
    from captain.models.resolve import describe

    try:
        router = ModelRouter(config)
    except ConfigError as error:
        yield Check("model", "problem", str(error), "set what is named, or use model=embedded")
        return
    seen: dict[str, tuple[ModelSpec, list[str]]] = {}
    for role in ("planner", "selector", "writer", "expert", "speaker", "reflector"):
        spec = router.spec(role)
        seen.setdefault(spec.model_dump_json(), (spec, []))[1].append(role)
    for spec, roles in seen.values():
        serves = "all roles" if len(seen) == 1 else ", ".join(roles)
        taken = "auto takes " if config.model.provider == "auto" and "expert" in roles else ""
        yield Check("model", "ok", f"{taken}{describe(spec)} ({serves})")
        yield from _check_backend(spec, config.models)


def check_embedding(config: CaptainConfig) -> Iterator[Check]:
    """Whether the library can be searched by meaning."""
    if not config.library.enabled:
        return
    if config.embedding.provider == "minilm":
        yield _check_weights("embedding", MINILM, config.models)
    else:
        model = f" {config.embedding.model}" if config.embedding.model else ""
        yield Check("embedding", "ok", f"{config.embedding.provider}{model} (loaded at first use)")


def check_library(config: CaptainConfig) -> Iterator[Check]:
    """What the library holds and whether its index is there."""
    from captain.library import Library

    if not config.library.enabled:
        yield Check("library", "warning", "switched off: every role is written anew", "library.enabled=true")
        return
    try:
        library = Library(config)
        found = f"{len(library.experts())} experts, {len(library.tools())} tools"
    except CaptainError as error:
        yield Check("library", "problem", str(error), "correct the file or setting that is named")
        return
    yield Check("library", "ok", found)
    yield _check_index(library.folder / "index")


def check_tools(config: CaptainConfig) -> Iterator[Check]:
    """Which tools cannot work here, and why."""
    from captain.library import load_tools

    if not config.tools.enabled:
        return
    try:
        tools = load_tools(config.tools.modules)
    except CaptainError as error:
        yield Check("tools", "problem", str(error), "correct tools.modules")
        return
    lacking = [(tool, reason) for tool in tools if (reason := "; ".join(tool.missing()))]
    yield Check("tools", "ok", f"{len(tools) - len(lacking)} of {len(tools)} tools can work")
    for tool, reason in lacking:
        yield Check("tools", "warning", f"{tool.name} cannot work: {reason}", _remedy(tool.needs))


def check_servers(config: CaptainConfig) -> Iterator[Check]:
    """Which MCP servers can be used, and which of their tools."""
    import asyncio

    from captain.mcp_servers.toolbox import Toolbox

    if not config.tools.enabled or not config.tools.mcp:
        return
    toolbox = Toolbox(config.tools.mcp)
    asyncio.run(toolbox.list())
    for server in config.tools.mcp:
        if server in toolbox.faults:
            yield Check("mcp", "warning", toolbox.faults[server], f"correct tools.mcp.{server} or the server")
            continue
        tools = [tool for tool in toolbox.tools(()).values() if tool.category == server]
        lacking = [(tool.name, tool.missing()[0]) for tool in tools if tool.missing()]
        yield Check("mcp", "ok", f"{server}: {len(tools) - len(lacking)} of {len(tools)} tools can be offered")
        for name, reason in lacking:
            yield Check("mcp", "warning", f"{server}: {name} cannot be offered: {reason}", "correct the server")


def check_execution(config: CaptainConfig) -> Iterator[Check]:
    """Whether members' programs run, and what holds them in."""
    import asyncio

    settings = config.execution
    if not settings.enabled:
        yield Check("execution", "warning", "switched off: no program is run", "execution.enabled=true")
        return
    try:
        with TemporaryDirectory() as folder:
            printed, isolation = asyncio.run(_try_program(config, Path(folder)))
    except CaptainError as error:
        yield Check("execution", "problem", str(error), "mend what is named, or sandbox.require=false")
        return
    if "42" not in printed:
        yield Check("execution", "problem", f"a test program failed: {printed}", "check the Python installation")
        return
    backend = f"docker, image {settings.docker_image}" if settings.backend == "docker" else "local"
    yield Check(
        "execution", "ok", f"{backend}: programs run, no keys in their environment, {settings.timeout:g} s each"
    )
    yield _check_isolation(config, isolation)


def _check_isolation(config: CaptainConfig, isolation: Isolation) -> Check:
    if isolation.weak:
        tried = "; ".join(f"{kind}: {reason}" for kind, reason in isolation.obstacles.items())
        told = f" (not {tried})" if tried else ""
        remedy = "sandbox.kind=auto" if config.sandbox.kind in ("user", "none") else REMEDY
        return Check("sandbox", "warning", f"{isolation.kind}, weak: {'; '.join(isolation.lacks)}{told}", remedy)
    network = "the network is open to programs, as configured" if config.sandbox.network else "no network"
    return Check(
        "sandbox", "ok", f"{isolation.kind}: programs see their folder, the interpreter and the system; {network}"
    )


def check_extras() -> Iterator[Check]:
    """Which optional parts are not installed."""
    for extra, (module, purpose) in EXTRAS.items():
        if importlib.util.find_spec(module) is None:
            yield Check("extra", "warning", f"{extra} ({purpose}) is missing", f"pip install 'captain-agents[{extra}]'")
        else:
            yield Check("extra", "ok", f"{extra} ({purpose}) is installed")


def _remedy(needs: Needs) -> str:
    """What to do that a tool can work."""
    absent = [name for name in needs.packages if importlib.util.find_spec(name.partition(".")[0]) is None]
    wanted = dict.fromkeys(f"'captain-agents[{EXTRA_OF[name]}]'" if name in EXTRA_OF else name for name in absent)
    programs = [name for name in needs.programs if not shutil.which(name)]
    steps = [f"pip install {' '.join(wanted)}"] if wanted else []
    steps += [f"install the program {name}" for name in programs]
    steps += [f"export {name}=..." for name in needs.env if not os.environ.get(name)]
    return "; ".join(steps) or "install or set what is named"


def _check_index(folder: Path) -> Check:
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        remedy = "library.user_dir=FOLDER that can be written"
        return Check("index", "warning", f"{folder} cannot be written: every run embeds the library anew", remedy)
    if any(folder.glob("experts-*")):
        return Check("index", "ok", f"{folder} is there; entries that changed are embedded at the next search")
    return Check("index", "ok", f"{folder} is built at the first search")


def _check_backend(spec: ModelSpec, weights: WeightsConfig) -> Iterator[Check]:
    if spec.provider == "embedded":
        if importlib.util.find_spec("xllamacpp") is None:
            yield Check("runtime", "problem", "xllamacpp is not installed", "pip install xllamacpp")
        if spec.weights:
            yield _check_weights("weights", spec.weights, weights)
    elif spec.provider in ("openai", "compatible"):
        yield _check_endpoint(spec)


def _check_weights(name: str, entry: str, settings: WeightsConfig) -> Check:
    from captain.models.weights import find, status, verify

    try:
        size = f"{find(entry).size / 2**20:.0f} MiB"
        state = next(state for state in status(settings) if state.name == entry)
        if state.state == "unchecked":
            state = verify(entry, settings)
    except ConfigError as error:
        return Check(name, "problem", str(error), "captain models list")
    if state.verified:
        return Check(name, "ok", f"{entry} is here and verified ({state.path})")
    fetch = f"captain models fetch {entry}"
    if state.state == "damaged":
        return Check(name, "problem", f"{entry} is damaged ({state.path})", fetch)
    return Check(name, "warning", f"{entry} is not here yet; it is fetched at first use ({size})", fetch)


def _check_endpoint(spec: ModelSpec) -> Check:
    """Asks the endpoint for its models, which costs nothing."""
    import httpx

    from captain.models.failures import public_address
    from captain.models.resolve import address_of, key_of

    address = address_of(spec)
    place = public_address(address)
    try:
        headers = {"Authorization": f"Bearer {key_of(spec)}"}
        reply = httpx.get(f"{address.rstrip('/')}/models", headers=headers, timeout=REACH_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Check("endpoint", "problem", f"{place} cannot be reached ({error})", "start the server or mend base_url")
    if reply.status_code in (401, 403):
        remedy = f"check the key in {spec.api_key_env}" if spec.api_key_env else "name its api_key_env"
        return Check("endpoint", "problem", f"{place} refuses the key (HTTP {reply.status_code})", remedy)
    if reply.status_code >= 500:
        return Check("endpoint", "warning", f"{place} answers HTTP {reply.status_code}", "look at the server's log")
    return _check_model_name(spec, place, reply)


def _check_model_name(spec: ModelSpec, place: str, reply: httpx.Response) -> Check:
    try:
        names = [str(model["id"]) for model in reply.json()["data"]]
    except (ValueError, KeyError, TypeError):
        return Check("endpoint", "ok", f"{place} answers")
    if names and spec.model not in names:
        offered = ", ".join(names[:5])
        return Check("endpoint", "warning", f"{place} answers but lists no {spec.model!r}", f"model.model= {offered}")
    return Check("endpoint", "ok", f"{place} answers and has {spec.model!r}")


async def _try_program(config: CaptainConfig, folder: Path) -> tuple[str, Isolation]:
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock

    from captain.execution import build_executor

    executor = build_executor(config.execution, folder=folder, sandbox=config.sandbox)
    await executor.start()
    try:
        block = CodeBlock(code="print(6 * 7)", language="python")
        result = await executor.execute_code_blocks([block], CancellationToken())
    finally:
        await executor.stop()
    return result.output, executor.isolation
