"""A plugin for a run of NetworkX's own tests: writes down which functions Grapin computed, by test."""

import json
import os
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from grapin.networkx import FUNCTIONS, algorithms

_COMPUTED: defaultdict[str, set[str]] = defaultdict(set)
_running = [""]


def _counted(name: str, algorithm: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(algorithm)
    def counted(*args: Any, **kwargs: Any) -> Any:
        result = algorithm(*args, **kwargs)
        _COMPUTED[_running[0]].add(name)
        return result

    return counted


def pytest_configure() -> None:
    """Have every function counted where it came to its end."""
    for name in FUNCTIONS:
        setattr(algorithms, name, _counted(name, getattr(algorithms, name)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say which test is running."""
    _running[0] = item.nodeid.split("networkx/")[-1]


def pytest_sessionfinish() -> None:
    """Write down what was computed."""
    written = {test: sorted(names) for test, names in sorted(_COMPUTED.items())}
    Path(os.environ["GRAPIN_COMPUTED"]).write_text(json.dumps(written))
