"""How long until triangles are right again after a batch, beside other libraries, which count them from scratch?

Batches of 0.1 % of the edges, half insertions and half deletions, of which the median of ten is taken after one that is
left out. We keep the triangles of every vertex on one thread, and the time is of the count alone and, in the remark, of
the graph's update besides. The others have as many threads as the machine, are only asked how many triangles there are
in all, on their own form of the graph, made beforehand, and have to find as many as we do.
"""

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from experiments.lib.bars import Bar, kept, named, number, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.engine import Engine
from grapin.generators import generate
from grapin.graph import Graph
from grapin.programs import Triangles
from grapin.session import Session
from grapin.stream import workload

FULL, QUICK = ("rmat:18:16",), ("rmat:8:16",)
BATCHES = 10
PART = 0.001
"""Of the edges, what a batch changes."""
LEAST = 20
"""Times as fast as the fastest of the others that a batch has to be."""
REPEATS = 3
LIBRARIES = {"scipy": "SciPy", "networkit": "NetworKit", "graphblas": "python-graphblas"}
"""By the name each is imported by."""
BATCH = f"a batch of {PART:.1%}"
FASTEST = "a batch over the fastest from scratch"


def scratch_times(graph: Graph, triangles: int) -> Iterator[tuple[str, float]]:
    """Yield how long each library that is here takes to count all, or refuse another count than ours."""
    source, target, _ = graph.edge_arrays()
    low, high = np.minimum(source, target), np.maximum(source, target)
    keys = np.unique(low[low != high].astype(np.int64) << 32 | high[low != high])
    ends = (keys >> 32), (keys & 0xFFFFFFFF)
    makers = {"scipy": _scipy, "networkit": _networkit, "graphblas": _graphblas}
    for library in filter(find_spec, LIBRARIES):
        count = makers[library](*_by_degree(*ends, graph.bound), graph.bound)
        times = []
        for _ in range(REPEATS):
            begin = perf_counter()
            found = int(count())
            times.append(perf_counter() - begin)
            if found != triangles:
                raise AssertionError(f"{LIBRARIES[library]} counts {found} triangles, grapin {triangles}")
        yield LIBRARIES[library], min(times)


def _by_degree(low: Any, high: Any, bound: int) -> tuple[Any, Any]:
    """Return edges between new ids, the vertex of the most edges first, each from its larger end to its smaller.

    It is what makes counting from scratch quick: no row of the triangle below the diagonal is long.
    """
    degrees = np.bincount(low, minlength=bound) + np.bincount(high, minlength=bound)
    place = np.empty(bound, np.int64)
    place[np.argsort(-degrees, kind="stable")] = np.arange(bound)
    return np.maximum(place[low], place[high]), np.minimum(place[low], place[high])


def _scipy(rows: Any, columns: Any, bound: int) -> Any:
    from scipy.sparse import csr_array

    below = csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=(bound, bound))
    return lambda: (below @ below).multiply(below).sum()


def _networkit(rows: Any, columns: Any, bound: int) -> Any:
    networkit: Any = import_module("networkit")
    networkit.setNumberOfThreads(os.cpu_count() or 1)
    ends = rows.astype(np.uint64), columns.astype(np.uint64)
    graph = networkit.GraphFromCoo((np.ones(len(rows)), ends), bound, weighted=False, directed=False)
    graph.indexEdges()

    def count() -> int:
        score = networkit.sparsification.TriangleEdgeScore(graph)
        score.run()
        return int(sum(score.scores())) // 3

    return count


def _graphblas(rows: Any, columns: Any, bound: int) -> Any:
    graphblas: Any = import_module("graphblas")
    graphblas.ss.config["nthreads"] = os.cpu_count() or 1
    below = graphblas.Matrix.from_coo(rows, columns, True, nrows=bound, ncols=bound)

    def count() -> int:
        closed = graphblas.Matrix(np.int64, bound, bound)
        closed(below.S) << graphblas.semiring.plus_pair(below @ below)
        return int(closed.reduce_scalar().get(0))

    return count


def bars(*, quick: bool) -> Iterator[Bar]:
    """Time the others on the graph after the last batch, and us on every batch."""
    for name in QUICK if quick else FULL:
        edges = generate(name)
        stream = workload(edges, batches=BATCHES + 1, size=max(int(PART * len(edges)), 2), seed=1)
        session = Session(Engine(stream.graph(), Triangles(), device="cpu", threads=1), stream)
        reports = session.run()[1:]
        time = median(report.compute_seconds for report in reports)
        update = median(report.update_seconds for report in reports)
        read = median(report.edges_read for report in reports)
        graph = session.engine.graph
        remark = f"and {update * 1e3:.2f} ms to change the graph; {read / graph.edges:.2f} of the edges read"
        yield Bar(f"{name}: {BATCH}", time * 1e3, "ms", remark=remark)
        begin = perf_counter()
        values = Engine(graph.copy(), Triangles(), device="cpu", threads=1).values
        own = perf_counter() - begin
        triangles = Triangles.total(values)
        if not np.array_equal(values, session.engine.values):
            raise AssertionError(f"{name}: kept fresh, other triangles than from scratch")
        yield Bar(f"{name}: all from scratch, Grapin", own * 1e3, "ms", remark=f"{triangles:,} triangles")
        others = dict(scratch_times(graph, triangles))
        for library, seconds in others.items():
            yield Bar(f"{name}: all from scratch, {library}", seconds * 1e3, "ms")
        if others:
            fastest = min(others, key=lambda one: others[one])
            ratio = time / others[fastest]
            yield Bar(
                f"{name}: {FASTEST}",
                ratio,
                limit=None if quick else 1 / LEAST,
                remark=f"{fastest}, {1 / ratio:.0f} times as long",
            )


def _answer(bars: Sequence[Bar]) -> str:
    ratios = [1 / bar.figure for bar in named(bars, FASTEST)]
    times = [bar.figure for bar in named(bars, BATCH)]
    return sentence(
        told(f"{BATCH} takes {{}}", span(times, "ms")),
        told(
            "{} times as fast as the fastest other library counts all", number(min(ratios)) if ratios else ""
        ),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="triangles",
    question="How long until triangles are right again after a batch, beside libraries that count from scratch?",
    measure=bars,
    answer=_answer,
    configuration={"graphs": FULL, "batches": BATCHES, "part": PART},
)
