"""PageRank from scratch: every vertex passes on what it has, again and again, until the ranks stand still."""

import numpy as np
from numpy.typing import NDArray

from grapin.reference.edge_source import Arcs, EdgeSource
from grapin.validation import refuse

STANDS_STILL = 1e-14
"""Ranks are done when a round moves less than this part of their sum, about what float64 can tell apart."""


def pagerank(graph: EdgeSource, damping: float = 0.85) -> NDArray[np.float64]:
    """Return each vertex's rank; the ranks of the existing vertices sum to 1, others have 0.

    Solves y = 1 + damping * P'y, where P splits a vertex's amount evenly over its out-edges and a vertex
    without out-edges passes nothing on, then scales y to sum 1. That equals the usual definition in which
    such a vertex passes its rank on to all vertices evenly: the even share only scales the constant term.
    """
    if not 0.0 <= damping < 1.0:
        refuse("damping", damping, "be at least 0 and below 1")
    arcs = Arcs.of(graph)
    base = arcs.existing.astype(np.float64)
    if not base.any():
        return base
    amounts = base
    while True:
        passed_on = base + damping * _pass_on(arcs, amounts)
        if np.abs(passed_on - amounts).sum() <= STANDS_STILL * passed_on.sum():
            ranks: NDArray[np.float64] = passed_on / passed_on.sum()
            return ranks
        amounts = passed_on


def _pass_on(arcs: Arcs, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    degrees = np.bincount(arcs.source, minlength=arcs.bound)
    shares = amounts[arcs.source] / degrees[arcs.source]
    received = np.zeros(arcs.bound)
    np.add.at(received, arcs.target, shares)
    return received
