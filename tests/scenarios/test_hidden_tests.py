from __future__ import annotations

import pytest

from scenarios.hidden_tests import hidden_tests, program_in

PROMPT = 'import math\n\n\ndef half(x: int) -> int:\n    """Half of x, rounded down."""\n'
EXPECTED = {"prompt": PROMPT, "entry_point": "half", "test": "def check(candidate):\n    assert candidate(5) == 2\n"}


@pytest.mark.parametrize(
    "answer",
    [
        "def half(x):\n    return x // 2",
        "Here it is:\n\n```python\ndef half(x):\n    return math.floor(x / 2)\n```\nIt works.",
        "```python\nprint('first try')\n```\n```python\ndef half(x):\n    return x // 2\n```",
        "The function is\ndef half(x):\n    return x // 2\n",
        "    return math.floor(x / 2)",
        "return x // 2",
        "y = x\n    return y // 2",
        "```python\n    return x // 2\n```",
        "half = lambda x: x // 2",
        "from __future__ import annotations\ndef half(x):\n    return x // 2",
    ],
)
def test_the_program_is_found(answer: str) -> None:
    program = program_in(answer, entry_point="half", prompt=PROMPT)
    assert program is not None
    space: dict[str, object] = {}
    exec(compile(program, "answer.py", "exec", dont_inherit=True), space)
    assert space["half"](5) == 2  # type: ignore[operator]


@pytest.mark.parametrize("answer", ["I do not know.", "", "```python\ndef half(x:\n```"])
def test_no_program(answer: str) -> None:
    assert program_in(answer, entry_point="half", prompt=PROMPT) is None


async def test_right_program_passes() -> None:
    assert await hidden_tests("```python\nprint(1)\ndef half(x):\n    return math.floor(x / 2)\n```", EXPECTED)


async def test_tests_without_check_function() -> None:
    assert await hidden_tests("def half(x): return x // 2", {"entry_point": "half", "test": "assert half(4) == 2"})
    assert not await hidden_tests("def half(x): return x", {"entry_point": "half", "test": "assert half(4) == 2"})


@pytest.mark.parametrize(
    "answer",
    [
        "def half(x):\n    return x",
        "import os\nos._exit(0)\ndef half(x):\n    return 2",
        "raise SystemExit(0)\ndef half(x):\n    return 2",
        "def other(x):\n    return 2",
    ],
)
async def test_wrong_program_fails(answer: str) -> None:
    assert not await hidden_tests(answer, EXPECTED)


async def test_endless_program_is_stopped() -> None:
    assert not await hidden_tests("def half(x):\n    while True: pass", EXPECTED, timeout=2)
