"""Is a program one that can be kept fresh? Refuse it with a reason before it gives wrong answers.

The check runs the program's own plain functions on a few hundred values, from the smallest to the largest it can have,
and weights drawn from the graph; `grapin.testing.check_monotone` searches harder, with Hypothesis.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from grapin.errors import BrokenRule, InvalidArgument
from grapin.graph import Graph
from grapin.programs.accumulative import Accumulative, check_rule
from grapin.programs.program import Monotone, Program
from grapin.programs.starting import LARGEST, starting_values
from grapin.programs.triangles import Triangles

LARGEST_FLOAT = float(np.finfo(np.float32).max)
_LOOKED_AT = 1024
"""Of so many vertices one edge each is looked at for its weight."""
_SAMPLED_WEIGHTS = 8
_NEARBY = 1 / 1024
"""How far, in parts of it, a float's neighbours are: at the last bit, rounding alone can break order."""


def check_program(program: Program, graph: Graph) -> None:
    """Raise `InvalidArgument` unless the program can be kept fresh on this graph."""
    if isinstance(program, Accumulative):
        check_rule(type(program))
        program.check_settings()
        program.check_base(graph.bound, graph.alive())
        return
    if not isinstance(program, Monotone | Triangles):
        raise InvalidArgument(f"program={program!r} must be a Monotone or an Accumulative program")
    for vertex in program.sources if isinstance(program, Monotone) else ():
        if not graph.has_vertex(vertex):
            raise InvalidArgument(f"source={vertex} must be a vertex of the graph")
    if not graph.in_direction:
        raise InvalidArgument(
            "graph must keep its in-direction (in_direction=True) for answers to be repaired"
        )
    if isinstance(program, Triangles):
        return
    real = has_real_values(program, real_weights=graph.weight_dtype == np.float32)
    starting_values(program, real=real)
    for weight in _weights(graph) if program.weighted else [1]:
        check_values(program, weight, landmarks(real=real))


def has_real_values(program: Monotone, *, real_weights: bool) -> bool:
    """Tell whether values are floats on a graph whose weights are floats, or are not."""
    return program.values == "float" or (program.values == "weight" and real_weights)


def check_values(program: Monotone, weight: float, values: Sequence[Any]) -> None:
    """Raise `BrokenRule` if an edge of this weight improves one of these ascending values, or breaks their order."""
    seen = seen_weight(weight, real=isinstance(values[0], np.float32))
    with np.errstate(all="ignore"):
        offers = [_offer(program, value, seen) for value in values]
    for smaller, larger in pairwise(zip(values, offers, strict=True)):
        better, worse = (larger, smaller) if program.better == "larger" else (smaller, larger)
        _check_offers(program, seen, worse, better)


def seen_weight(weight: float, *, real: bool) -> Any:
    """Return a weight as a rule sees it: a float32 where values are floats, a whole number of any size otherwise."""
    return np.float32(weight) if real else int(weight)


def check_edge(program: Monotone, value: Any, better_value: Any, weight: Any) -> None:
    """Raise `BrokenRule` if one edge improves a value, or turns a better value into a worse offer."""
    with np.errstate(all="ignore"):
        worse, better = ((one, _offer(program, one, weight)) for one in (value, better_value))
    _check_offers(program, weight, worse, better)


def _check_offers(program: Monotone, weight: Any, worse: tuple[Any, Any], better: tuple[Any, Any]) -> None:
    """Compare a value and what it offers with a better one and what that offers."""
    name, larger = type(program).__name__, program.better == "larger"
    for value, offered in (worse, better):
        if (offered > value) if larger else (offered < value):
            reason = f"{name}.edge must not improve a value, but edge({value}, {weight}) is {offered}"
            raise BrokenRule(reason, value, value, weight)
    (value, offered), (better_value, better_offered) = worse, better
    if (better_offered < offered) if larger else (better_offered > offered):
        reason = (
            f"{name}.edge must keep order, but {better_value} is better than {value} and "
            f"edge({better_value}, {weight}) = {better_offered} is worse than edge({value}, {weight}) = {offered}"
        )
        raise BrokenRule(reason, value, better_value, weight)


def _offer(program: Monotone, value: Any, weight: Any) -> Any:
    """Return what an edge offers, a float as it is kept: rounded to 32 bits."""
    name = type(program).__name__
    try:
        offered = program.edge(value, weight)
    except Exception as error:
        reason = (
            f"{name}.edge must work for every value and weight, but edge({value}, {weight}) "
            f"raises {type(error).__name__}: {error}"
        )
        raise BrokenRule(reason, value, value, weight) from error
    if not isinstance(offered, (int, float, np.integer, np.floating, np.bool_)):
        reason = f"{name}.edge must return a number, but edge({value}, {weight}) is {offered!r}"
        raise BrokenRule(reason, value, value, weight)
    return np.float32(offered) if isinstance(value, np.float32) else offered


@lru_cache
def landmarks(*, real: bool) -> tuple[Any, ...]:
    """Return values in ascending order at which rules tend to change: small ones, round ones, powers of two, the ends.

    Each comes with its neighbours on both sides, so that a step between the two shows.
    """
    around = [*(2**power for power in range(33)), *(n * 10**power for power in range(10) for n in (1, 2, 5))]
    if real:
        parts = [1e-30, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 7, 1e30]
        nearby = {one * factor for one in (*parts, *around) for factor in (1 - _NEARBY, 1, 1 + _NEARBY)}
        return tuple(np.float32(one) for one in sorted({0.0, *nearby, LARGEST_FLOAT}))
    whole = {*range(20), *(one + step for one in around for step in (-1, 0, 1)), LARGEST}
    return tuple(sorted(one for one in whole if one <= LARGEST))


def _weights(graph: Graph) -> list[float]:
    """Return a few weights of the graph, from the smallest to the largest of those that are looked at."""
    lists = graph.snapshot().out
    if graph.weight_dtype is None or graph.edges == 0:
        return [1]
    vertices = np.flatnonzero(lists.degrees)
    seen = np.unique(lists.weights[lists.starts[vertices[:: -(-len(vertices) // _LOOKED_AT)]]])
    chosen: list[float] = seen[
        np.unique(np.linspace(0, len(seen) - 1, _SAMPLED_WEIGHTS).astype(int))
    ].tolist()
    return chosen
