"""HyTGraph: for each partition the cheapest of three ways to the device.

The papers (ICDE 2023, section V-A, and its longer form in TPDS) weigh by equations 1 to 3, in round trips: 256 requests
of 128 bytes are under way at a time. The released code (iDC-NEU/HyTGraph, include/framework/hybrid_policy.h) evaluates
none of them and goes by shares of active edges instead. Both rules are here.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grapin.sim.formulas.partitions import LINE, Activity, Choice, Numbers

OUTSTANDING = 256  # MR of the equations
GAMMA = 0.625  # the fixed part of a round trip, section V-A
ALPHA = 0.8  # section V-A, and the code's default
BETA = 0.4  # likewise
SEGMENTS = 20  # partitions of the released code by default (include/utils/app_skeleton.h)
SMALL_DEGREE = 24  # mean active degree below which the released code gathers

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Costs:
    """The time each way takes, by partition, in the unit of `round_trip`."""

    filter: Times
    """Equation 1: the whole partition in full requests."""
    compaction: Times
    """Equation 2: active lists and an index entry for each, in full requests; and gathering them, if that is known."""
    zero_copy: Times
    """Equation 3: a request for each line of an active list; the round trip is shorter as requests are less full."""


def equations(
    activity: Activity, *, round_trip: float = 1.0, index_bytes: int = 8, gathering_rate: float | None = None
) -> Costs:
    """Evaluate equations 1 to 3.

    Without `gathering_rate` (bytes a second that the host gathers) equation 2 is the transfer alone, which is what the
    paper compares: "in practice, we compute Tec by considering only the transfer overhead".
    """
    lists = activity.active_edges * activity.edge_bytes + activity.active_lists * index_bytes
    gathering = 0.0 if gathering_rate is None else lists / gathering_rate
    share = activity.active_edges / np.maximum(activity.edges, 1)
    return Costs(
        filter=_rounds(activity.edges * activity.edge_bytes / LINE) * round_trip,
        compaction=_rounds(lists / LINE) * round_trip + gathering,
        zero_copy=_rounds(activity.lines) * (GAMMA + (1 - GAMMA) * share) * round_trip,
    )


def choose_by_cost(
    activity: Activity, *, alpha: float = ALPHA, beta: float = BETA, index_bytes: int = 8
) -> Numbers:
    """Choose as the paper says: gather if that is cheap enough beside both others, else the cheaper of those.

    On a tie between the others the partition is copied, as the text says; the paper's listing leaves it to requests.
    """
    costs = equations(activity, index_bytes=index_bytes)
    gather = (costs.compaction < alpha * costs.filter) & (costs.compaction < beta * costs.zero_copy)
    others = np.where(costs.zero_copy < costs.filter, Choice.ZERO_COPY, Choice.FILTER)
    chosen = np.where(gather, Choice.COMPACTION, others)
    return np.where(activity.active, chosen, Choice.NOTHING)


def choose_as_released(
    activity: Activity, *, alpha: float = ALPHA, beta: float = BETA, segments: int = SEGMENTS
) -> Numbers:
    """Choose as the released code does: copy what is mostly active, gather what is half active and of small degree.

    In one iteration at most a quarter of `segments` partitions are gathered, first come, first served.
    """
    copy = activity.active_edges > alpha * activity.edges
    small = activity.active_edges < SMALL_DEGREE * activity.active_lists
    gather = ~copy & (activity.active_edges > beta * activity.edges) & small
    gather &= np.cumsum(gather) <= segments // 4
    chosen = np.where(copy, Choice.FILTER, np.where(gather, Choice.COMPACTION, Choice.ZERO_COPY))
    return np.where(activity.active, chosen, Choice.NOTHING)


def _rounds(requests: NDArray[np.generic]) -> Times:
    return np.ceil(np.asarray(requests, np.float64) / OUTSTANDING)
