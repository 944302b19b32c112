"""`python -m captain.testing --handler module.function`: the endpoint as a program.

Its first line on standard output is the base URL; it runs until it is terminated.
"""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING

from captain.errors import ConfigError
from captain.testing.application import Application
from captain.testing.server import build, faults_from_json, resolve, run

if TYPE_CHECKING:
    import uvicorn


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line and serves; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m captain.testing", description="A test endpoint.")
    parser.add_argument("--handler", required=True, help="dotted path of a function: request body -> reply")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--faults", default="[]", help="JSON list: how the first requests fail")
    parser.add_argument("--stop-at-eof", action="store_true", help="stop when standard input ends")
    options = parser.parse_args(arguments)
    try:
        application = Application(resolve(options.handler), options.latency, faults_from_json(options.faults))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    server, listener = build(application)
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/v1\n")
    sys.stdout.flush()
    if options.stop_at_eof:
        threading.Thread(target=stop_at_eof, args=(server,), daemon=True).start()
    run(server, listener)
    return 0


def stop_at_eof(server: uvicorn.Server) -> None:
    """Stops the server when whoever started it is gone."""
    sys.stdin.read()
    server.should_exit = server.force_exit = True


if __name__ == "__main__":
    sys.exit(main())
