"""A question of its field to each new expert, and what its answer tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autogen_core.models import ChatCompletionClient, UserMessage
from pydantic import BaseModel

from captain.decide import decide
from captain.library import AgentProfile, Library
from captain.library.lint_texts import text_faults
from captain.prompts import load_prompt

CONTENT = {
    "orders": "gives orders to others",
    "secrets": "speaks of handing out secrets",
    "injection": "poses as the system",
    "finishing-word": "has a finishing word of its own",
    "model-name": "names a model",
    "invisible-character": "holds invisible characters",
}
"""What a fault of a text means, said of what holds the text."""

_ANSWER_TOKENS = 50
_LEAKED_WORDS = 8
_REFUSAL = re.compile(
    r"^\W*(?:i'?m sorry|sorry|i (?:am sorry|am unable|cannot|can'?t|can not|won'?t|do not know|don'?t know)|"
    r"as an? (?:ai|language model)|unfortunately)\b",
    re.I,
)


class _Answers(BaseModel):
    answers: list[str]


class Prober:
    """Finds out whether new experts can be kept, by one call of the model that wrote them."""

    def __init__(self, client: ChatCompletionClient, library: Library) -> None:
        """
        Args:
            client: The model.
            library: Compares meanings.
        """
        self._client = client
        self._library = library

    async def doubts(self, experts: Sequence[tuple[AgentProfile, str]]) -> list[str]:
        """What speaks against keeping each expert, in order; an empty text where nothing does.

        Args:
            experts: Experts, each with a question of its field.
        """
        if not experts:
            return []
        listing = "\n\n".join(
            f"{number}. {profile.title}. {profile.instructions}\nQuestion: {question}"
            for number, (profile, question) in enumerate(experts, start=1)
        )
        decision = await decide(
            self._client,
            [UserMessage(content=load_prompt("write_answers", experts=listing), source="user")],
            _Answers,
            fallback=_Answers(answers=[]),
            max_tokens=_ANSWER_TOKENS * len(experts) + 20,
        )
        answers = [*decision.value.answers, *[""] * len(experts)]
        return [await self._doubt(*expert, answer) for expert, answer in zip(experts, answers, strict=False)]

    async def _doubt(self, profile: AgentProfile, question: str, answer: str) -> str:
        if not answer.strip():
            return "it did not answer a question of its field"
        if _REFUSAL.match(answer):
            return "it refused a question of its field"
        fault = next(text_faults(answer), None)
        if fault is not None:
            return f"its answer to a question of its field {CONTENT[fault.kind]}"
        if _repeats(answer, profile.instructions):
            return "its answer to a question of its field gives away its instructions"
        near = await self._library.likeness(f"{profile.brief()} {question}", answer)
        if near < self._library.config.library.probe_threshold:
            return "its answer to a question of its field is off the topic"
        return ""


def _repeats(answer: str, instructions: str) -> bool:
    """Whether an answer holds a longer run of words of the instructions."""
    said, secret = (re.findall(r"\w+", text.casefold()) for text in (answer, instructions))
    runs = {tuple(secret[start : start + _LEAKED_WORDS]) for start in range(len(secret) - _LEAKED_WORDS + 1)}
    return any(tuple(said[start : start + _LEAKED_WORDS]) in runs for start in range(len(said)))
