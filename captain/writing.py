"""Writing experts that are missing: drafted in one call per team, checked, probed in one more, and kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from autogen_core.models import ChatCompletionClient, UserMessage
from pydantic import BaseModel, Field

from captain.config import CaptainConfig, ModelSpec
from captain.decide import decide
from captain.errors import ConfigError
from captain.library import AgentProfile, Library
from captain.library.lint_texts import text_faults
from captain.library.profiles import Provenance
from captain.planning import Role
from captain.probing import CONTENT, Prober
from captain.prompts import load_prompt

_DRAFT_TOKENS = {"small": 150, "large": 300}
"""Tokens of one draft at most, by the strength of the writer."""
_SHORTEST_DESCRIPTION = 30
_WRITTEN = "written: nobody in the library fits"


class _Draft(BaseModel):
    description: str = Field(min_length=10, max_length=300)
    instructions: str = Field(min_length=20, max_length=900)
    probe: str = Field(default="", max_length=300)


class _Drafts(BaseModel):
    experts: list[_Draft]


@dataclass(frozen=True)
class Written:
    """An expert for a role that nobody in the library fits."""

    profile: AgentProfile
    reason: str
    """How the role was filled, for the record of the cast."""


@dataclass(frozen=True)
class _Candidate:
    """A draft on its way into the library."""

    profile: AgentProfile
    question: str
    not_kept: str = ""
    """Why it only serves in this run."""


class Writer:
    """Writes experts with a model and keeps those that pass."""

    def __init__(
        self, config: CaptainConfig, library: Library, client: ChatCompletionClient, *, spec: ModelSpec, run: str
    ) -> None:
        """
        Args:
            config: The settings.
            library: Where written experts are kept.
            client: The model that writes.
            spec: What the client was made from; its name becomes part of an expert's provenance.
            run: The name of the run, for the provenance.
        """
        self._config = config
        self._library = library
        self._client = client
        self._spec = spec
        self._run = run

    async def write(self, roles: Sequence[Role], taken: Sequence[str]) -> list[Written]:
        """One expert for each role, in order. At most two calls, however many roles there are.

        Args:
            roles: What is missing.
            taken: Names of experts who sit in the team or failed at the task.
        """
        drafts = await self._draft(roles)
        names = list(taken)
        written: list[Written | None] = []
        candidates: dict[int, _Candidate] = {}
        for number, role in enumerate(roles):
            draft = drafts[number] if number < len(drafts) else None
            fault = _fault(draft)
            profile = self._profile(role, None if fault else draft)
            # A title may be that of an expert who was turned down: the new one is somebody else.
            profile = profile.model_copy(update={"name": unique_name(profile.name, names)})
            names.append(profile.name)
            if draft is not None and not fault:
                question = draft.probe.strip() or f"What matters most in the work of a {role.title}?"
                candidates[number] = _Candidate(profile, question)
            written.append(Written(profile, f"made from the role: {fault}") if fault else None)
        kept = await self._keep_all(list(candidates.values()), taken)
        done = dict(zip(candidates, kept, strict=True))
        return [item or done[number] for number, item in enumerate(written)]

    async def _draft(self, roles: Sequence[Role]) -> list[_Draft]:
        listing = "\n".join(f"{number}. {role.text}" for number, role in enumerate(roles, start=1))
        decision = await decide(
            self._client,
            [UserMessage(content=load_prompt("write_experts", roles=listing), source="user")],
            _Drafts,
            fallback=_Drafts(experts=[]),
            max_tokens=_DRAFT_TOKENS[self._spec.strength] * len(roles) + 60,
        )
        return decision.value.experts

    async def _keep_all(self, candidates: Sequence[_Candidate], taken: Sequence[str]) -> list[Written]:
        settings = self._config.library
        if not settings.keep_written or not settings.enabled:
            return [Written(candidate.profile, _WRITTEN) for candidate in candidates]
        seated = list(taken)
        results: list[Written | _Candidate] = []
        for candidate in candidates:
            known = await self._library.alike(candidate.profile)
            result = candidate if known is None else _refused(candidate, known, seated)
            seated.append(result.profile.name)
            results.append(result)
        unprobed = [result for result in results if isinstance(result, _Candidate) and not result.not_kept]
        probed = iter(await self._probed(unprobed) if settings.probe else unprobed)
        done = []
        for result in results:
            if isinstance(result, _Candidate):
                done.append(await self._keep(result if result.not_kept else next(probed), seated))
            else:
                done.append(result)
        return done

    async def _probed(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        prober = Prober(self._client, self._library)
        doubts = await prober.doubts([(candidate.profile, candidate.question) for candidate in candidates])
        return [replace(candidate, not_kept=doubt) for candidate, doubt in zip(candidates, doubts, strict=True)]

    async def _keep(self, candidate: _Candidate, seated: Sequence[str]) -> Written:
        """Stores an expert that passed; a library that cannot be written costs no run."""
        profile = candidate.profile
        if candidate.not_kept:
            return Written(profile, f"{_WRITTEN}; not kept: {candidate.not_kept}")
        try:
            kept = await self._library.keep(profile)
        except ConfigError as error:
            return Written(profile, f"{_WRITTEN}; not kept: {error}")
        if not kept.refused:
            return Written(kept.profile, _WRITTEN)
        refused = _refused(candidate, kept.profile, seated)  # by an expert that was kept since
        return (
            refused if isinstance(refused, Written) else Written(profile, f"{_WRITTEN}; not kept: {refused.not_kept}")
        )

    def _profile(self, role: Role, draft: _Draft | None) -> AgentProfile:
        return AgentProfile(
            name=identifier(role.title),
            title=role.title,
            domain="written",
            description=_described(role, draft),
            instructions=_whole(draft.instructions) if draft else f"You are responsible for this: {role.description}",
            origin="written",
            provenance=Provenance(
                model=self._spec.model or self._spec.weights or self._spec.name,
                date=datetime.now(UTC).replace(microsecond=0),
                run=self._run or None,
            ),
        )


def unique_name(name: str, taken: Sequence[str]) -> str:
    """The name, with a number where it is taken."""
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name}_{number}"
        number += 1
    return unique


def identifier(title: str) -> str:
    """A title as a name that every endpoint accepts."""
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:48]
    return name if name and name[0].isalpha() else f"expert_{name}".strip("_")


def _fault(draft: _Draft | None) -> str:
    """Why a draft cannot be used at all; nothing when it can."""
    if draft is None:
        return "nothing was written"
    fault = next(text_faults("\n".join([draft.description, draft.instructions, draft.probe])), None)
    return "" if fault is None else f"what was written {CONTENT[fault.kind]}"


def _described(role: Role, draft: _Draft | None) -> str:
    """What is written about an expert, unless it only repeats a name."""
    written = _whole(draft.description) if draft else ""
    return written if len(written) >= _SHORTEST_DESCRIPTION else role.text


def _whole(text: str) -> str:
    """The text without a last sentence that was cut off."""
    text = text.strip()
    end = max(text.rfind(mark) for mark in ".!?。")
    return text[: end + 1] if end >= _SHORTEST_DESCRIPTION else text


def _refused(candidate: _Candidate, known: AgentProfile, seated: Sequence[str]) -> Written | _Candidate:
    """An expert who exists takes the place of a new one that says the same, unless it sits or failed already."""
    if known.name in seated:
        return replace(candidate, not_kept=f"{known.name!r} already does this")
    return Written(known, f"a new expert was refused: {known.name!r} already does this")
