"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
ConfigDir = Annotated[
    Path | None, typer.Option("--config-dir", metavar="DIR", help="A folder with more model/ and scenario/ files.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="OVERRIDES", help="Settings, such as model=embedded_small team.max_turns=6."),
]
