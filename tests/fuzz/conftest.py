"""How much is tried: a little in every run of the tests, as many examples as CAPTAIN_FUZZ says in a long run."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_EXAMPLES = int(os.environ.get("CAPTAIN_FUZZ", "0"))
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

# Time is bounded by the tests themselves, in CPU seconds: wall clocks say nothing on a busy machine.
settings.register_profile(
    "fuzz",
    max_examples=_EXAMPLES or 60,
    derandomize=not _EXAMPLES,
    deadline=None,
    print_blob=True,
    suppress_health_check=_SLOW,
    database=None,
)
