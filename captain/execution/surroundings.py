"""The environment of a program that a member wrote: rebuilt from a list of allowed names, so that no key is in it."""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Mapping
from pathlib import Path

MARKER = "CAPTAIN_PROGRAM"
"""The variable that every process of one execution inherits; leftovers are found by it."""

_PASSED = (
    "PATH",
    "TZ",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "OMP_NUM_THREADS",
    "SYSTEMROOT",
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_FIXED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONUTF8": "1",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNODEBUGRANGES": "1",
    "PYTHONWARNINGS": "ignore::DeprecationWarning,ignore::FutureWarning",
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "Agg",
    "TERM": "dumb",
    "NO_COLOR": "1",
}


def program_environment(folder: Path, marker: str, *, own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Build the variables that a program sees.

    Args:
        folder: The folder of the run; home and temporary files are placed in it.
        marker: What tells this execution's processes from all others.
        own: The variables to choose from; those of this process when absent.

    Returns:
        Allowed variables, and fixed ones for UTF-8, plots without a screen and short error messages. Hashes are
        seeded, so a program that runs twice prints sets in the same order.
    """
    source = os.environ if own is None else own
    passed = {name: source[name] for name in _PASSED if name in source and not _SECRET.search(name)}
    temporary = str(folder / "tmp")
    passed["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), passed.get("PATH", os.defpath)])
    passed |= {"HOME": str(folder), "TMPDIR": temporary, "TMP": temporary, "TEMP": temporary}
    passed |= {"XDG_CACHE_HOME": temporary, "MPLCONFIGDIR": temporary}
    if site.ENABLE_USER_SITE:
        passed["PYTHONUSERBASE"] = site.getuserbase()
    return passed | _FIXED | {MARKER: marker}
