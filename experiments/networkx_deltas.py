"""What a changing NetworkX graph costs: one edge comes or goes, then shortest paths over weights are asked for again.

Every step changes a graph of ours and a plain one alike. Ours answers each time; NetworkX's own code and other backends
(those that are installed beside it, such as nx-rustworkx and graphblas-algorithms) answer now and then, on the plain
graph, and what they say has to be the same. Whoever converts the graph does so in every call, as it changed before.
Times are medians of processor time, of all threads together, so what else a machine does has little weight.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import median
from time import process_time
from typing import Any

from experiments.lib.bars import Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.errors import MissingDependency

NODES, EDGES, STEPS = 20_000, 100_000, 1_000
QUICK = 300, 1_000, 20
RARELY = 100
"""Others answer once in so many steps."""
HEAVIEST = 100
OURS, THEIRS = "grapin", "networkx"
ONE, ALL = "source and target", "all targets"
NAMES = {
    ONE: ("shortest_path_length", "dijkstra_path_length", "bellman_ford_path_length"),
    ALL: (
        "shortest_path_length",
        "single_source_dijkstra_path_length",
        "single_source_bellman_ford_path_length",
    ),
}
"""The functions that answer a question; a backend is asked for the first that it has."""
OF_NETWORKX = {ONE: 1 / 200, ALL: 1 / 60}
"""Ours should take at most this part of the time of NetworkX's own code ..."""
OF_BACKENDS = 1 / 50
""" ... and of any other backend."""

Times = dict[tuple[str, str], list[float]]
"""Processor seconds of each call, by question and who answers."""


def bars(*, quick: bool) -> Iterator[Bar]:
    """Go through the steps for each question."""
    try:
        import networkx as nx
    except ImportError:
        raise MissingDependency("networkx_deltas needs networkx: pip install 'grapin[networkx]'") from None
    import grapin.networkx

    if OURS not in nx.utils.backends.backends:
        raise MissingDependency(
            "networkx must know the backend 'grapin': install the package again, as it is now"
        )
    nodes, edges, steps = QUICK if quick else (NODES, EDGES, STEPS)
    random = Random(1)  # noqa: S311  (no secret)
    rows = [
        (random.randrange(nodes), random.randrange(nodes), random.randint(1, HEAVIEST)) for _ in range(edges)
    ]
    graphs = grapin.networkx.Graph(), nx.Graph()
    for graph in graphs:
        graph.add_nodes_from(range(nodes))
        graph.add_weighted_edges_from(rows)
    rivals = [THEIRS, *sorted(set(nx.utils.backends.backends) - {OURS})]
    times: Times = defaultdict(list)
    unable: dict[str, str] = {}
    for question in (ONE, ALL):
        _seconds(graphs[0], question, 1, OURS)  # compiles, reads the graph, computes from scratch
        for step in range(steps):
            change, target = _change(random, nodes, rows, grows=step % 2 == 0), random.randrange(nodes)
            begin = process_time()
            change(graphs[0])
            changed = process_time() - begin
            ours, seconds = _seconds(graphs[0], question, target, OURS)
            times[question, OURS].append(changed + seconds)
            change(graphs[1])
            for rival in rivals if step % RARELY == 0 else ():
                try:
                    theirs, seconds = _seconds(graphs[1], question, target, rival)
                except (NotImplementedError, ImportError, AttributeError) as error:
                    unable[rival] = type(error).__name__
                    continue
                times[question, rival].append(seconds)
                if theirs != ours:
                    raise AssertionError(f"{question}, {target}: ours {ours!r:.60}, {rival} {theirs!r:.60}")
    yield from _rows(times, rivals, unable)


def _change(random: Random, nodes: int, rows: list[Any], *, grows: bool) -> Callable[[Any], None]:
    """Return what inserts a random edge, or deletes one of those there were."""
    if grows:
        row = random.randrange(nodes), random.randrange(nodes), random.randint(1, HEAVIEST)
        return lambda graph: graph.add_edge(row[0], row[1], weight=row[2])
    source, target, _ = rows.pop(random.randrange(len(rows)))
    return lambda graph: graph.remove_edges_from([(source, target)])  # which may have been there by two rows


def _seconds(graph: Any, question: str, target: int, backend: str) -> tuple[Any, float]:
    """Return an answer, and how long it took from a graph that has just changed."""
    import networkx as nx

    offered = nx if backend == THEIRS else nx.utils.backends.backends[backend].load()
    name = next((name for name in NAMES[question] if hasattr(offered, name)), NAMES[question][0])
    wanted = {"target": target} if question == ONE else {}
    begin = process_time()
    try:
        found = getattr(nx, name)(graph, 0, **wanted, weight="weight", backend=backend)
    except nx.NetworkXNoPath:
        found = None
    seconds = process_time() - begin
    return dict(found) if question == ALL else found, seconds


def _rows(times: Times, rivals: Sequence[str], unable: dict[str, str]) -> Iterator[Bar]:
    for question in (ONE, ALL):
        ours = median(times[question, OURS])
        for rival in rivals:
            limit = OF_NETWORKX[question] if rival == THEIRS else OF_BACKENDS
            taken = times.get((question, rival))
            if taken:
                remark = f"{median(taken) / ours:.0f} times as fast"
                yield Bar(f"{question}: over {rival}", ours / median(taken), "x", limit, remark)
        for who in (OURS, *rivals):
            if (question, who) in times:
                yield Bar(f"{question}: {who}", 1e3 * median(times[question, who]), "ms")
            else:
                yield Bar(f"{question}: {who}", float("nan"), "ms", remark=f"cannot: {unable[who]}")
        yield Bar(f"{question}: all {len(times[question, OURS])} steps", sum(times[question, OURS]), "s")


def _answer(bars: Sequence[Bar]) -> str:
    parts = [
        told(
            f"{question}: {{}} a step, {{}} times as fast as NetworkX's own code",
            span(figures(bars, f"{question}: {OURS}"), "ms"),
            span(1 / part for part in figures(bars, f"{question}: over {THEIRS}")),
        )
        for question in (ONE, ALL)
    ]
    return sentence(*parts, kept(bars))


EXPERIMENT = Experiment(
    name="networkx_deltas",
    question="How long do shortest paths take in NetworkX when the graph changes before each call?",
    measure=bars,
    answer=_answer,
    configuration={"nodes": NODES, "edges": EDGES, "steps": STEPS, "others": f"every {RARELY}th step"},
)
