"""What a solve gives back: frozen data, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Status = Literal["solved", "unverified", "stopped", "paused", "failed"]
"""solved: every part was accepted on evidence that holds; unverified: there is an answer that no check supports;
stopped: a limit ended the run; paused: a person has to decide; failed: there is no answer."""

Verdict = Literal["accept", "retry", "recast", "replan"]


class Record(BaseModel):
    """A frozen piece of a result."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RoleUsage(Record):
    """What was spent, in all or by one role."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the endpoint served from its prefix cache (part of `prompt_tokens`)."""
    seconds: float = 0.0
    """Time spent waiting for endpoints, added over calls that may have run at once."""
    usd: float | None = None
    """Money, or None where a price is not known."""

    def plus(self, other: RoleUsage) -> RoleUsage:
        """The sum of two."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return RoleUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            seconds=self.seconds + other.seconds,
            usd=usd,
        )


class Usage(RoleUsage):
    """What a whole tree of teams spent. For a result, `seconds` is the wall clock of the solve."""

    by_role: dict[str, RoleUsage] = Field(default_factory=dict)

    def with_others(self, others: Iterable[Usage]) -> Usage:
        """The sum with what other Captains of the tree spent."""
        usage = self
        for other in others:
            roles = dict(usage.by_role)
            for name, one in other.by_role.items():
                roles[name] = roles[name].plus(one) if name in roles else one
            usage = Usage(**usage.plus(other).model_dump(exclude={"by_role"}), by_role=roles)
        return usage


class Evidence(Record):
    """A claim of the answer and what in the transcript supports it."""

    claim: str
    kind: Literal["execution", "tool", "examples", "agreement", "statement"]
    """execution: printed by a program; tool: returned by a tool; examples: the task's own examples were run against
    the answer; agreement: independent solutions agree; statement: a member said so, nothing more."""
    source: str
    """Who or what produced it: member, tool or program."""
    quote: str
    """The passage of the transcript."""


class SubtaskReport(Record):
    """How one subtask went."""

    id: str
    goal: str
    team: list[str]
    verdict: Verdict
    answer: str
    evidence: list[Evidence] = Field(default_factory=list)
    issues: list[str] = Field(default_factory=list)
    unsupported_claims: list[str] = Field(default_factory=list)
    contradictions: list[str] = Field(default_factory=list)
    """Answers of members that exclude each other and that no later check settled."""
    attempts: int = 1
    stop_reason: str = ""


class Failure(Record):
    """Something that failed on the way."""

    subtask: str
    """Its id; empty for planning, casting and finishing."""
    member: str
    """Who did it: a member, or the model's role; empty where the record does not say."""
    what: Literal["model", "tool", "program", "limit", "claim", "pause"]
    """model: an endpoint failed; tool, program: a call or a program did; limit: there was nothing left to spend;
    claim: a review refused or found unsupported what was said; pause: a person has to decide."""
    step: int | None
    """Which message of the subtask's chat, counted from 0; None where it was none."""
    detail: str

    def line(self) -> str:
        """One line for people."""
        place = f"subtask {self.subtask}" if self.subtask else "outside of a subtask"
        step = "" if self.step is None else f", step {self.step}"
        return f"{place}{step}{f', {self.member}' if self.member else ''}: {self.detail}"


class Result(Record):
    """The answer to a task, with what supports it and what it cost."""

    answer: str
    status: Status
    stop_reason: str
    output: Any = None
    """The typed answer when `output_type` was given, else None."""
    evidence: list[Evidence] = Field(default_factory=list)
    subtasks: list[SubtaskReport] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    """Goals of subtasks without an accepted answer."""
    unknown: list[str] = Field(default_factory=list)
    """Steps that an interruption cut off and that must not be repeated: nobody knows whether they took effect."""
    failures: list[Failure] = Field(default_factory=list)
    """What failed on the way, in the order of the record."""
    first_failure: Failure | None = None
    """The step that first went wrong, as far as the record shows."""
    usage: Usage = Usage()
    run_dir: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Gives the result as plain JSON data: the object that `captain solve --json` prints."""
        data = self.model_dump(mode="json")
        data["subtasks"] = [{**s, "team": list(s["team"])} for s in data["subtasks"]]
        return data
