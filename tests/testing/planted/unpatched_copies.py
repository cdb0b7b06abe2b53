"""The CPU device's cache with a planted bug: a copy counts as patched, and is not."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from grapin.kernels.cpu.device import HostCopies


@contextmanager
def unpatched_copies() -> Iterator[None]:
    """Plant the bug while the block runs."""
    with patch.object(HostCopies, "_patch", lambda *_arguments: None):
        yield
