"""How likely a model makes a given text: forced decoding at a llama.cpp server.

The text is turned into tokens, a grammar admits just these tokens in this order, and the log-probabilities that come
back are those the model gave them before the grammar was applied. A grammar over the text's characters would let the
server split it into other tokens and score something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from captain.errors import ModelError

if TYPE_CHECKING:
    import httpx

_SECONDS = 300.0


async def loglikelihood(
    base_url: str, prompt: str, text: str, *, model: str = "", http: httpx.AsyncClient | None = None
) -> float:
    """The log-probability of `text` as the continuation of `prompt`.

    Args:
        base_url: The server's OpenAI-compatible address, with or without `/v1`.
        prompt: Raw text that comes before, no chat template applied.
        text: What is scored; begin it with a space where it follows a word.
        model: The model's name, where the server has several.
        http: A client to use; a new one for this call when absent.

    Returns:
        The sum over the tokens of `text` of their natural logarithms of probability; 0.0 for an empty text.

    Raises:
        ModelError: The server cannot be reached, refuses, or does not return one log-probability per token.
    """
    if not text:
        return 0.0
    root = base_url.rstrip("/").removesuffix("/v1")
    if http is not None:
        return await _score(http, root, prompt, text, model)
    import httpx

    async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
        return await _score(client, root, prompt, text, model)


async def loglikelihoods(
    base_url: str, prompts: Sequence[str], text: str, *, model: str = "", concurrency: int = 4
) -> list[float]:
    """The log-probability of `text` after each of `prompts`, several at once.

    Args:
        base_url: The server's OpenAI-compatible address, with or without `/v1`.
        prompts: What comes before, one score each; put what they share first, the server computes it once.
        text: What is scored.
        model: The model's name, where the server has several.
        concurrency: Requests under way at once; the number of the server's slots is best.

    Returns:
        One sum of log-probabilities in nats per prompt, in order.

    Raises:
        ModelError: As for `loglikelihood`.
    """
    import httpx

    gate = asyncio.Semaphore(concurrency)

    async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:

        async def one(prompt: str) -> float:
            async with gate:
                return await loglikelihood(base_url, prompt, text, model=model, http=client)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(prompt)) for prompt in prompts]
        except BaseExceptionGroup as errors:  # The callers know nothing of groups; the first error cancelled the rest.
            raise errors.exceptions[0] from errors
    return [task.result() for task in tasks]


async def _score(client: httpx.AsyncClient, root: str, prompt: str, text: str, model: str) -> float:
    named = {"model": model} if model else {}
    tokens = await _tokens(client, root, {"content": text, **named})
    reply = await _post(client, f"{root}/v1/completions", _request(prompt, tokens, named))
    if _drafted(reply):
        return await _score_stepwise(client, root, prompt, tokens, named)
    return _sum(reply, tokens, root)


async def _score_stepwise(
    client: httpx.AsyncClient, root: str, prompt: str, tokens: list[int], named: dict[str, str]
) -> float:
    """One request per token. The server reports 0.0 for a token it guessed ahead; for a single one it guesses none."""
    before = await _tokens(client, root, {"content": prompt, "add_special": True, **named})
    total = 0.0
    for place, token in enumerate(tokens):
        reply = await _post(client, f"{root}/v1/completions", _request(before + tokens[:place], [token], named))
        if _drafted(reply):
            raise ModelError(f"{root} guesses tokens ahead and cannot score a text")
        total += _sum(reply, [token], root)
    return total


def _request(prompt: str | list[int], tokens: list[int], named: dict[str, str]) -> dict[str, Any]:
    grammar = "root ::= " + " ".join(f"<[{token}]>" for token in tokens)
    asked = {"prompt": prompt, "max_tokens": len(tokens), "logprobs": 1, "temperature": 0, "grammar": grammar}
    return {**asked, **named}


async def _tokens(client: httpx.AsyncClient, root: str, body: dict[str, Any]) -> list[int]:
    tokens = (await _post(client, f"{root}/tokenize", body)).get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        raise ModelError(f"{root} returned no token numbers; it is not a llama.cpp server")
    return tokens


def _drafted(reply: dict[str, Any]) -> bool:
    timings = reply.get("timings")
    return isinstance(timings, dict) and bool(timings.get("draft_n"))


def _sum(reply: dict[str, Any], tokens: list[int], root: str) -> float:
    try:
        content = reply["choices"][0]["logprobs"]["content"]
        found = [(item["id"], float(item["logprob"])) for item in content]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelError(f"{root} returned no log-probabilities") from error
    if [token for token, _ in found] != tokens:
        raise ModelError(f"{root} did not keep to the given tokens ({len(found)} of {len(tokens)} came back)")
    return sum(logprob for _, logprob in found)


async def _post(client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> dict[str, Any]:
    import httpx

    try:
        async with asyncio.timeout(_SECONDS):  # the library's own time-out is for each piece of an answer
            reply = await client.post(url, json=body)
        data = reply.json()
    except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
        raise ModelError(f"{url} cannot be used: {type(error).__name__} {error}".strip()) from error
    if reply.status_code != 200 or not isinstance(data, dict):
        raise ModelError(f"{url} answered {reply.status_code}: {str(data)[:300]}")
    return data
