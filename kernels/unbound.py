"""The names that kernels use for a program's rules, before a program is bound to them.

A kernel file imports these, so that it can be read and checked like any other; `rebind` (`rules.py`) makes a copy of
each kernel in which the names stand for the rules of one program. Called unbound, they only say what they would do.
"""

from typing import Any

SIDES: int = 1
"""How many lists a vertex reads: 2 when values travel both ways over a directed graph's edges."""
ARRAYS: int = 1
"""How many arrays a list is read from: neighbours, and weights where the program looks at them."""


def offer(key: Any, weight: Any) -> Any:
    """Return the key that a vertex with `key` offers over an edge; above `NO_KEY` when it does not fit."""
    raise NotImplementedError


def start_key(vertex: Any, roots: Any, root_keys: Any) -> Any:
    """Return the key a vertex has without any edge, `NO_KEY` for none."""
    raise NotImplementedError


def weight_at(weights: Any, place: Any) -> Any:
    """Return the weight of the edge at this place in the arrays, 1 where there are none."""
    raise NotImplementedError


def weight_of(weights: Any, entry: Any) -> Any:
    """Return the weight of an edge of a batch, 1 where weights are not read."""
    raise NotImplementedError
