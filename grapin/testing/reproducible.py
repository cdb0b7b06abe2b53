"""The same seed draws the same cases in every process.

Hypothesis also draws numbers that it reads in the sources of loaded modules, but for installed ones. What a search
draws in a checkout of Grapin, or beside modules of the user's own, would hang on what else has been imported.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis.internal.conjecture import providers


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
