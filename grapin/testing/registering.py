"""What Hypothesis knows of Grapin by itself: `st.from_type(grapin.Batch)`, and edges and programs likewise.

Hypothesis calls `register` whenever it is imported in an environment that has Grapin, so only types that load in a
moment are registered. `Graph` is not: it would load Numba into every program that imports Hypothesis. Write
`graphs().map(lambda start: grapin.Graph.from_edges(**start))` for one.
"""

from hypothesis import strategies as st

from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.programs import (
    BFS,
    SSSP,
    SSWP,
    ConnectedComponents,
    HittingProbability,
    Katz,
    PageRank,
    PersonalisedPageRank,
    Triangles,
    WeightedPageRank,
)

_SOURCES = st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True)
"""Among the first vertices, which small graphs have too."""


def register() -> None:
    """Tell Hypothesis how to draw our types; each strategy is made when it is first asked for.

    Of programs in general it then knows too: `st.from_type(grapin.Monotone)` draws one of the subclasses.
    """
    st.register_type_strategy(Batch, lambda _type: _batches())
    st.register_type_strategy(EdgeList, lambda _type: _edge_lists())
    for program in (BFS, SSSP, SSWP):
        st.register_type_strategy(program, st.builds(program, _SOURCES))
    st.register_type_strategy(ConnectedComponents, st.builds(ConnectedComponents))
    st.register_type_strategy(Triangles, st.builds(Triangles))
    settings = st.floats(0, 0.95), st.floats(1e-6, 1e-2)
    for rank in (PageRank, WeightedPageRank):
        st.register_type_strategy(rank, st.builds(rank, *settings))
    for walk in (PersonalisedPageRank, HittingProbability):
        st.register_type_strategy(walk, st.builds(walk, _SOURCES, *settings))
    st.register_type_strategy(Katz, st.builds(Katz, st.floats(0, 1e-3), st.floats(1e-6, 1e-2)))


def _batches() -> st.SearchStrategy[Batch]:
    """Draw the last batch of a stream, or an empty one."""
    from grapin.testing.strategies import mutation_streams

    return mutation_streams(max_batches=1).map(lambda stream: (Batch(), *stream.batches)[-1])


def _edge_lists() -> st.SearchStrategy[EdgeList]:
    from grapin.testing.strategies import edge_lists

    return edge_lists()
