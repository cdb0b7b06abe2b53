"""Hold the copies in a device's cache against the lists of the store."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import WrongAnswer
from grapin.graph.snapshot import Snapshot


def verify_copies(cache: Any, snapshot: Snapshot) -> int:
    """Raise `WrongAnswer` unless copies that count as up to date equal the lists in the store; return how many do."""
    holdings, copies = cache.hot.holdings, cache.copies.contents()
    current = np.flatnonzero((holdings.copied > 0) & (holdings.debts == 0)).tolist()
    for place in current:
        vertex, lists = place >> 1, snapshot.in_ if place & 1 else snapshot.out
        assert lists is not None
        position = int(cache.hot.positions[place])
        arrays = int(holdings.copied[place])
        here = _entries(copies, position, int(lists.degrees[vertex]), arrays)
        there = _entries(
            (lists.neighbours, lists.weights), int(lists.starts[vertex]), int(lists.degrees[vertex]), arrays
        )
        if here != there:
            side = "in" if place & 1 else "out"
            raise WrongAnswer(
                f"the cached {side}-list of vertex {vertex} is {here}, expected {there} as in the store"
            )
    return len(current)


def _entries(
    columns: tuple[NDArray[Any], ...], start: int, length: int, arrays: int
) -> list[tuple[Any, ...]]:
    """Return neighbours, and weights where they are copied too, in an order that does not depend on the list's."""
    parts = [column[start : start + length].tolist() for column in columns[:arrays]]
    return sorted(zip(*parts, strict=True))
