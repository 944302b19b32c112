"""Choosing among options: by likelihood where the endpoint can tell it, else by number."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, Field, create_model

from captain.decide.decide import decide
from captain.errors import ConfigError

if TYPE_CHECKING:
    from autogen_core.models import ChatCompletionClient


@runtime_checkable
class Likelihood(Protocol):
    """A client that can say how likely a model would go on with a given text."""

    async def loglikelihood(self, prompt: str, text: str) -> float | None:
        """Gives the natural logarithm of the probability of `text` after `prompt`; None where the endpoint cannot."""
        ...


async def score_options(client: ChatCompletionClient, prompts: Sequence[str], text: str) -> list[float] | None:
    """Scores options by how likely each makes a text; free of position bias.

    Args:
        client: A client; one that offers `Likelihood` can score.
        prompts: One per option, for instance its description.
        text: What is compared, for instance the task.

    Returns:
        A log-likelihood (0 or below) per prompt, or None where the endpoint cannot tell.
    """
    if not isinstance(client, Likelihood):
        return None
    scores = await asyncio.gather(*(client.loglikelihood(prompt, text) for prompt in prompts))
    known = [score for score in scores if score is not None]
    return known if len(known) == len(scores) else None


async def score_continuations(client: ChatCompletionClient, prompt: str, texts: Sequence[str]) -> list[float] | None:
    """Scores texts by how likely a model goes on with each after one prompt.

    One after the other, so that the endpoint reads the prompt once and keeps it.

    Args:
        client: A client; one that offers `Likelihood` can score.
        prompt: What comes before, raw.
        texts: What may follow; begin each with a space where it follows a word.

    Returns:
        A log-likelihood (0 or below) per text, or None where the endpoint cannot tell.
    """
    if not isinstance(client, Likelihood):
        return None
    scores: list[float] = []
    for text in texts:
        score = await client.loglikelihood(prompt, text)
        if score is None:
            return None
        scores.append(score)
    return scores


@dataclass(frozen=True)
class Choice:
    """What was chosen, and by how clear a vote."""

    index: int | None
    """The option, counted from 0 in the order given; None: none of them."""
    votes: tuple[float, ...]
    """The share of the votes that each option got; what is missing to 1 are abstentions and unusable replies."""
    how: Literal["voted", "abstained", "unreadable", "only", "no_options"]


async def choose(
    client: ChatCompletionClient,
    question: str,
    options: Sequence[str],
    *,
    permutations: int = 2,
    abstain: bool = True,
) -> Choice:
    """Lets a model choose an option by its number, asked with the options in several orders.

    The orders are rotations, so the same input always gives the same prompts. The option with most votes wins; of equal
    ones the first given. With `abstain` the model may say that none fits, and does so when that has most votes.

    Args:
        client: Any AutoGen client.
        question: What the options are for.
        options: One line each.
        permutations: How many orders, at most as many as there are options.
        abstain: Offer "none of these".

    Raises:
        ConfigError: `permutations` is below 1.
    """
    if permutations < 1:
        raise ConfigError(f"permutations={permutations!r} must be 1 or more")
    if not options:
        return Choice(None, (), "no_options")
    if len(options) == 1 and not abstain:
        return Choice(0, (1.0,), "only")
    count = min(permutations, len(options))
    orders = [_rotated(len(options), turn * len(options) // count) for turn in range(count)]
    picks = await asyncio.gather(*(_pick(client, question, options, order, abstain) for order in orders))
    votes = tuple(picks.count(index) / count for index in range(len(options)))
    none = picks.count(_NONE) / count
    best = max(votes)
    if best == 0 and none == 0:
        return Choice(None, votes, "unreadable")
    if none >= best:
        return Choice(None, votes, "abstained")
    return Choice(votes.index(best), votes, "voted")


_NONE = -1
_UNREADABLE = -2


def _rotated(length: int, shift: int) -> list[int]:
    return [(place + shift) % length for place in range(length)]


async def _pick(
    client: ChatCompletionClient, question: str, options: Sequence[str], order: Sequence[int], abstain: bool
) -> int:
    """Asks once; gives the index of the option, or that there is none."""
    from autogen_core.models import UserMessage

    lines = [f"{number}. {options[index]}" for number, index in enumerate(order, start=1)]
    if abstain:
        lines.append("0. none of these")
    text = question.rstrip() + "\n\n" + "\n".join(lines) + '\n\nAnswer with the number: {"number": N}'
    pick = _pick_type(0 if abstain else 1, len(options))
    unread = pick.model_construct(number=_UNREADABLE)
    decision = await decide(client, [UserMessage(content=text, source="user")], pick, fallback=unread)
    number = int(getattr(decision.value, "number"))  # noqa: B009  # the type is made at run time
    if number == _UNREADABLE:
        return _named(decision.raw, options)
    return order[number - 1] if number else _NONE


def _named(reply: str, options: Sequence[str]) -> int:
    """The option whose text, or what stands before its colon, is the whole reply."""
    word = _words(reply)
    named = [n for n, option in enumerate(options) if word in (_words(option), _words(option.partition(":")[0]))]
    return named[0] if word and len(named) == 1 else _UNREADABLE


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _pick_type(lowest: int, highest: int) -> type[BaseModel]:
    bounded: Any = (int, Field(ge=lowest, le=highest))
    return create_model("Pick", number=bounded)
