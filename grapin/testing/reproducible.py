"""The same seed draws the same cases in every process.

Hypothesis also draws numbers that it reads in the sources of loaded modules, but for installed ones. What a search
draws in a checkout of Grapin, or beside modules of the user's own, would hang on what else has been imported.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.internal.conjecture import providers


def quiet_search(examples: int, *phases: Phase) -> settings:
    """Return how a search draws: so many examples by its seed alone, with nothing kept from earlier ones or printed."""
    return settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )


@contextmanager
def same_everywhere() -> Iterator[None]:
    """While open, draw no numbers from sources. There is no public way; where ours leads nowhere, nothing happens."""
    found: Any = providers
    known = getattr(getattr(found, "CONSTANTS_CACHE", None), "cache", None)
    if known is None or not hasattr(found, "_get_local_constants"):
        yield
        return
    known.clear()
    try:
        with patch.object(found, "_get_local_constants", found.Constants):
            yield
    finally:
        known.clear()
