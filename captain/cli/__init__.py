"""The command line. `main` is the entry point; everything heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from captain.errors import CaptainError, ConfigError, ModelError

__all__ = ["main"]

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code.

    Args:
        arguments: The words after `captain`; those of the process when absent.

    Returns:
        0 done, 1 the work failed, 2 something in the input is wrong (one line on stderr), 130 interrupted.
    """
    from typer import Abort, TyperException

    from captain.cli.app import app
    from captain.cli.terminal import complain, notice, prepare_streams

    prepare_streams()
    # Settings name classes and tools by dotted path; those of a project lie in the folder it is run from. Last, so that
    # nothing there can take the place of an installed module.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="captain", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help, which is no error
            notice(error.format_message())
        else:
            complain(error.format_message())
        return WRONG_INPUT
    except CaptainError as error:
        complain(str(error))
        return WRONG_INPUT if isinstance(error, ConfigError) or _unreachable(error) else FAILED
    except (KeyboardInterrupt, Abort):
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = sys.stderr
        return FAILED


def _unreachable(error: BaseException) -> bool:
    """Whether a model failed because nothing answers at its address: then the address given is the mistake."""
    cause: BaseException | None = error if isinstance(error, ModelError) else None
    while cause is not None:
        # The clients' own classes are recognised by name: importing them here would cost every start.
        if type(cause).__name__ in ("ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
