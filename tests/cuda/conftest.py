"""These tests need the CUDA compiler, not a GPU; `make test-cuda` brings it, elsewhere they are skipped."""

from pathlib import Path

import pytest

from experiments.assembly import missing

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of this folder, with the reason, where there is no compiler."""
    reason = missing()
    if reason is not None:
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(pytest.mark.skip(reason=reason))
