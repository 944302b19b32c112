"""Runs symbolic calculations in a process of their own.

Symbolic work can take for ever and cannot be stopped inside a thread, so `compute` starts this module as a program,
which reads one JSON request from its input and writes one JSON reply. Time and memory are bounded.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping

SECONDS = 20.0
MEMORY_BYTES = 2 * 1024**3
_CPU_TIME_SIGNAL = int(getattr(signal, "SIGXCPU", 24))


def compute(operation: str, arguments: Mapping[str, str | int], *, seconds: float = SECONDS) -> str:
    """Run one operation of `tools_library.algebra` and its like in a new process and return its text.

    Args:
        operation: The name of the operation.
        arguments: The operation's own arguments.
        seconds: Processor time until the process is killed; on a busy machine it may last twice as long.

    Raises:
        ToolError: The input is wrong, or the calculation took too long or too much memory.
    """
    from captain.errors import ToolError

    request = json.dumps({"operation": operation, "arguments": dict(arguments), "seconds": seconds})
    command = [sys.executable, "-P", "-m", __name__]
    try:
        process = subprocess.run(
            command, input=request, capture_output=True, text=True, timeout=2 * seconds, check=False
        )
    except subprocess.TimeoutExpired:
        process = None
    if process is None or process.returncode == -_CPU_TIME_SIGNAL:
        raise ToolError(f"the calculation was stopped after {seconds:g} s; give a smaller or simpler problem")
    try:
        reply = json.loads(process.stdout)
    except ValueError:
        reason = process.stderr.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise ToolError(f"the calculation failed ({reason[0][:200]}); give a smaller or simpler problem") from None
    return text_of(reply)


def text_of(reply: Mapping[str, str]) -> str:
    """The text of a reply of `answer`.

    Raises:
        ToolError: The reply is an error.
    """
    from captain.errors import ToolError

    if "error" in reply:
        raise ToolError(reply["error"])
    return reply["text"]


def answer(operation: str, arguments: Mapping[str, str | int]) -> dict[str, str]:
    """Run one operation in this process, without bounds; the reply holds `text` or `error`."""
    from tools_library import algebra, analysis, equations, inequalities, matrices, odes, programs
    from tools_library.expressions import ExpressionError

    operations: dict[str, Callable[..., str]] = {
        **algebra.OPERATIONS,
        **analysis.OPERATIONS,
        **matrices.OPERATIONS,
        **programs.OPERATIONS,
        "solve": equations.solve,
        "inequality": inequalities.solve,
        "ode": odes.solve,
    }
    try:
        return {"text": operations[operation](**arguments)}
    except ExpressionError as error:
        return {"error": str(error)}
    except (MemoryError, RecursionError, OverflowError):
        return {"error": "the calculation is too large; give a smaller or simpler problem"}
    except (NotImplementedError, ValueError, TypeError, ZeroDivisionError) as error:
        return {"error": f"this cannot be calculated: {str(error)[:300] or type(error).__name__}"}


def main() -> None:
    """Answer the request on the standard input, within the bounds it names."""
    request = json.load(sys.stdin)
    _bound(request["seconds"])
    sys.set_int_max_str_digits(0)
    json.dump(answer(request["operation"], request["arguments"]), sys.stdout)


def _bound(seconds: float) -> None:
    try:
        import resource
    except ImportError:  # no such limits on Windows; the time-out of the parent still holds
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))


if __name__ == "__main__":
    main()
