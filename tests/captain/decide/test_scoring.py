import re

import pytest

from captain.decide import choose, score_options
from captain.errors import ConfigError
from captain.testing import FunctionModel, ScriptedModel

OPTIONS = ["a cook", "a chemist", "a lawyer"]


def picks(option):
    """A model that always finds the same option, wherever it stands."""

    def answer(messages):
        number = re.search(rf"^(\d+)\. {option}$", messages[-1].content, re.M)[1]
        return f'{{"number": {number}}}'

    return FunctionModel(answer)


async def test_the_same_option_in_all_orders():
    model = picks("a chemist")
    choice = await choose(model, "Who mixes acids?", OPTIONS, permutations=3)
    assert (choice.index, choice.how, choice.votes) == (1, "voted", (0.0, 1.0, 0.0))
    firsts = [re.search(r"1\. (.*)", call.text)[1] for call in model.calls]
    assert sorted(firsts) == sorted(OPTIONS)


async def test_a_model_that_always_says_one_spreads_its_votes():
    choice = await choose(FunctionModel(lambda messages: '{"number": 1}'), "Who?", OPTIONS, permutations=3)
    assert choice.votes == pytest.approx((1 / 3, 1 / 3, 1 / 3)) and choice.index == 0


async def test_abstaining():
    choice = await choose(picks("none of these"), "Who flies?", OPTIONS)
    assert (choice.index, choice.how) == (None, "abstained")
    model = ScriptedModel(['{"number": 0}', '{"number": 2}'] * 2)
    choice = await choose(model, "Who?", OPTIONS, abstain=False, permutations=1)
    assert choice.index == 1 and "none of these" not in model.calls[0].text


async def test_unreadable_votes_are_no_votes():
    choice = await choose(FunctionModel(lambda messages: "the best one"), "Who?", OPTIONS)
    assert (choice.index, choice.how, sum(choice.votes)) == (None, "unreadable", 0)


async def test_nothing_to_ask():
    model = ScriptedModel([])
    assert (await choose(model, "Who?", [])).index is None
    assert (await choose(model, "Who?", ["a cook"], abstain=False)).index == 0
    with pytest.raises(ConfigError, match="permutations=0"):
        await choose(model, "Who?", OPTIONS, permutations=0)


class Scoring(ScriptedModel):
    async def loglikelihood(self, prompt, text):
        return None if prompt == "unknown" else -float(len(prompt))


async def test_scores_come_from_the_client_or_not_at_all():
    assert await score_options(Scoring([]), ["abc", "a"], "task") == [-3.0, -1.0]
    assert await score_options(Scoring([]), ["abc", "unknown"], "task") is None
    assert await score_options(ScriptedModel([]), ["abc"], "task") is None
