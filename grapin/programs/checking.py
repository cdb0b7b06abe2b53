"""Is a program one that can be kept fresh? Refuse it with a reason before it gives wrong answers.

The check runs the program's own plain functions on a few hundred values, from the smallest to the largest it can have,
and weights drawn from the graph; `grapin.testing.check_monotone` searches harder, with Hypothesis.
"""

from typing import Any

import numpy as np

from grapin.errors import InvalidArgument
from grapin.graph import Graph
from grapin.programs.program import Accumulative, Monotone, Program

LARGEST = 2**32 - 2
"""The largest whole number that is a value."""
_SAMPLED_WEIGHTS = 16


def check_program(program: Program, graph: Graph) -> None:
    """Raise `InvalidArgument` unless the program can be kept fresh on this graph."""
    if isinstance(program, Accumulative):
        return
    if not isinstance(program, Monotone):
        raise InvalidArgument(f"program={program!r} must be a Monotone or an Accumulative program")
    for vertex in program.sources:
        if not graph.has_vertex(vertex):
            raise InvalidArgument(f"source={vertex} must be a vertex of the graph")
    if not graph.in_direction:
        raise InvalidArgument(
            "graph must keep its in-direction (in_direction=True) for answers to be repaired"
        )
    real = program.values == "float" or (program.values == "weight" and graph.weight_dtype == np.float32)
    for value, better_value in _value_pairs(real=real, larger=program.better == "larger"):
        for weight in _weights(graph):
            check_edge(program, value, better_value, weight)


def check_edge(program: Monotone, value: Any, better_value: Any, weight: Any) -> None:
    """Raise `InvalidArgument` if one edge improves a value, or turns a better value into a worse offer."""
    larger = program.better == "larger"
    try:
        offered, better_offered = program.edge(value, weight), program.edge(better_value, weight)
    except Exception as error:
        raise InvalidArgument(
            f"{type(program).__name__}.edge must work for every value and weight, but edge({value}, {weight}) "
            f"raises {type(error).__name__}: {error}"
        ) from error
    if (offered > value) if larger else (offered < value):
        raise InvalidArgument(
            f"{type(program).__name__}.edge must not improve a value, but edge({value}, {weight}) is {offered}"
        )
    if (better_offered < offered) if larger else (better_offered > offered):
        raise InvalidArgument(
            f"{type(program).__name__}.edge must keep order, but {better_value} is better than {value} and "
            f"edge({better_value}, {weight}) = {better_offered} is worse than edge({value}, {weight}) = {offered}"
        )


def _value_pairs(*, real: bool, larger: bool) -> list[tuple[Any, Any]]:
    """Return pairs of a value and a better one."""
    if real:
        values: list[Any] = [
            np.float32(number) for number in (0.0, 1e-30, 0.1, 0.5, 1.0, 1.5, 7.0, 1e6, 1e30)
        ]
    else:
        values = [0, 1, 2, 3, 10, 64, 1000, 2**20, 2**31, LARGEST]
    steps = list(zip(values[1:], values[:-1], strict=True))
    return [(low, high) for high, low in steps] if larger else steps


def _weights(graph: Graph) -> list[Any]:
    """Return a few weights of the graph as the compiled rule will see them: whole numbers of any size, or float32."""
    lists = graph.snapshot().out
    if graph.weight_dtype is None or graph.edges == 0:
        return [np.float32(1)] if graph.weight_dtype == np.float32 else [1]
    vertices = np.flatnonzero(lists.degrees)[:_SAMPLED_WEIGHTS]
    sampled = lists.weights[lists.starts[vertices]]
    return list(sampled) if graph.weight_dtype == np.float32 else [int(weight) for weight in sampled]
