"""Hypothesis strategies for edges, graphs and mutation streams.

They prefer small numbers and shrink towards few vertices, few edges and few batches. Hubs come from a drawn
size rather than drawn edges, so that lists of hundreds of neighbours stay cheap to generate and to shrink;
the sizes lie around multiples of 32, where a list of int32 crosses a 128-byte boundary.
"""

from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from hypothesis import strategies as st

from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.reference.graph import KINDS, ReferenceGraph
from grapin.testing.mutations import HUB_SIZES, batches, clearances, hub_bursts, hub_churns
from grapin.testing.weights import WeightLimits, Weights, weight_columns

_LARGEST_SUM = 2.0**31
"""From here on a whole number does not fit into a weight."""


class GraphOptions(TypedDict, total=False):
    """What graphs to draw; what is left out is drawn too, or takes the default of `edge_lists`."""

    max_vertices: int
    """Most vertices apart from those that a hub brings along (default 12)."""
    weights: str | Weights
    """`none`, `int32`, `float32`, or one of these with a range."""
    directed: bool
    hubs: bool
    """Whether some vertices get tens or hundreds of neighbours (default True)."""
    self_loops: bool
    zero_weights: bool


@st.composite
def edge_lists(
    draw: st.DrawFn,
    *,
    max_vertices: int = 12,
    weights: str | Weights | None = None,
    directed: bool | None = None,
    hubs: bool = True,
    self_loops: bool = True,
    zero_weights: bool = True,
) -> EdgeList:
    """Draw rows of edges as a file might hold them: in any order, repeated, with self loops."""
    vertices = draw(st.integers(0, max_vertices))
    rows = draw(_few_rows(vertices))
    if hubs and vertices:
        spokes = draw(st.sampled_from((0, *HUB_SIZES)))
        vertices = max(vertices, spokes + 1)
        rows += draw(_hub(vertices, spokes))
    if not self_loops:
        rows = [(u, v) for u, v in rows if u != v]
    if weights is None:
        weights = draw(st.sampled_from(KINDS))
    kind = weights.kind if isinstance(weights, Weights) else weights
    limits = _limits(weights, zero_weights=zero_weights)
    return EdgeList(
        source=np.array([u for u, _ in rows], dtype=np.int32),
        target=np.array([v for _, v in rows], dtype=np.int32),
        vertices=vertices,
        weight=draw(weight_columns(kind, len(rows), **limits)),
        directed=draw(st.booleans()) if directed is None else directed,
        origin="hypothesis",
    )


@st.composite
def graphs(draw: st.DrawFn, **options: Unpack[GraphOptions]) -> dict[str, Any]:
    """Draw a graph as the arguments of `Graph.from_edges` and `ReferenceGraph.from_edges`."""
    edges = draw(edge_lists(**options))
    return {
        "source": edges.source,
        "target": edges.target,
        "weight": edges.weight,
        "vertices": edges.vertices,
        "directed": edges.directed,
        "weights": "none" if edges.weight is None else edges.weight.dtype.name,
        "duplicates": draw(st.sampled_from(_duplicate_rules(edges))),
        "self_loops": draw(st.sampled_from(["keep", "drop"])),
    }


@dataclass(frozen=True)
class MutationStream:
    """A graph to start from and batches that are valid one after the other."""

    start: dict[str, Any]
    """The arguments of `Graph.from_edges` and `ReferenceGraph.from_edges`."""
    batches: tuple[Batch, ...]

    def reference(self) -> ReferenceGraph:
        """Return a fresh reference graph at the start of the stream."""
        return ReferenceGraph.from_edges(**self.start)


@st.composite
def mutation_streams(
    draw: st.DrawFn,
    *,
    start: dict[str, Any] | None = None,
    max_batches: int = 5,
    strict: bool = False,
    **options: Unpack[GraphOptions],
) -> MutationStream:
    """Draw a start graph and valid batches: small mixed ones, bursts and churn at a hub, mass deletions.

    `start` is the graph to start from, as the arguments of `Graph.from_edges`, where it is not to be drawn. With
    `strict`, no batch holds anything that a strict graph refuses.
    """
    if start is None:
        start = draw(graphs(**options))
    state = ReferenceGraph.from_edges(**start)
    limits = _limits(options.get("weights"), zero_weights=options.get("zero_weights", True))
    loops = options.get("self_loops", True)
    stream = []
    for _ in range(draw(st.integers(0, max_batches))):
        kinds = [
            batches(state, ignorable=not strict, self_loops=loops, **limits),
            clearances(state),
        ]
        if options.get("hubs", True):
            kinds.append(hub_bursts(state, self_loops=loops, **limits))
            kinds.append(hub_churns(state, **limits))
        batch = draw(st.one_of(kinds))
        state.apply(batch)
        stream.append(batch)
    return MutationStream(start, tuple(stream))


def _limits(weights: str | Weights | None, *, zero_weights: bool) -> WeightLimits:
    """Return between which weights lie; without a range, each strategy says how far they reach."""
    if not isinstance(weights, Weights):
        return {"least_weight": 0 if zero_weights else 1}
    if zero_weights or weights.low > 0:
        return weights.limits
    return replace(weights, low=min(1, weights.high)).limits


def _duplicate_rules(edges: EdgeList) -> list[str]:
    """Return what may become of repeated edges; large weights have sums that no graph holds."""
    rules = ["last", "first", "min", "max", "sum"]
    total = 0.0 if edges.weight is None else float(edges.weight.sum(dtype=np.float64))
    return rules if total < _LARGEST_SUM else rules[:-1]


def _few_rows(vertices: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    if not vertices:
        return st.just([])
    vertex = st.integers(0, vertices - 1)
    return st.lists(st.tuples(vertex, vertex), max_size=3 * vertices)


@st.composite
def _hub(draw: st.DrawFn, vertices: int, spokes: int) -> list[tuple[int, int]]:
    hub = draw(st.integers(0, vertices - 1))
    outwards = draw(st.booleans())
    ends = [(hub + step) % vertices for step in range(1, spokes + 1)]
    return [(hub, end) if outwards else (end, hub) for end in ends]
