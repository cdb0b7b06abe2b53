"""How much room for hot lists is enough? From none to all edges, on Grapin's two GPUs.

    python -m experiments.figure12 [--quick]

Ten batches of 100K mutations under the published repair. A run is recorded once and replayed with as large a part of
its edges cached as so many GB are of Grapin's graph; times are predicted for that graph's size (`varying.py`).
Grapin's text names friendster, where 22 GB are all edges with their weights, and its caption uk-2007. A generated graph
stands in for friendster; beside it is a real one, of the kind of twitter-2009.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import chain

from experiments.bars import Bar, Place
from experiments.experiment import Experiment
from experiments.grapin_runs import BATCH, BATCHES, Miniature, at_hand, miniatures, record
from experiments.panels import panels
from experiments.varying import EDGES, span
from grapin.sim import replay
from grapin.sim.replaying import edge_bytes
from grapin.trace import Trace

QUESTION = "How much room for hot lists is enough?"
GENERATED, REAL = "FS", "TW"  # Grapin, section 7.3; ours
PROGRAMS = {"bfs": "BFS", "sssp": "SSSP", "cc": "CC", "pagerank": "PageRank"}
ROOMS = {"a5000": (1, 2, 3, 4), "a6000": (4, 8)}  # Grapin, section 7.3: GB; then all edges on the larger GPU
FIRST, REST = "1 GB over none", "all edges over 4 GB"
GIGABYTE = 2**30


def room_bars(miniature: Miniature, program: str) -> Iterator[Bar]:
    """Replay one run with ever more room."""
    stream = miniature.stream(undirected=program == "cc")
    trace = record(stream, program, ("published",))["published"].trace
    scale = trace.phases["edges"][0] / miniature.original.edges
    every = edge_bytes(trace)
    subject = f"{PROGRAMS[program]} on {miniature.title}"
    for machine, rooms in ROOMS.items():
        without = _seconds(miniature, trace, machine, 0)
        found = {0.0: without}
        most = every / scale / GIGABYTE
        for gigabytes in (*(one for one in rooms if one < most), *((most,) if machine == "a6000" else ())):
            room = min(every, round(gigabytes * GIGABYTE * scale))
            found[gigabytes] = _seconds(miniature, trace, machine, room)
            yield Bar(
                f"{subject}, {machine}: {gigabytes:.3g} GB",
                without / found[gigabytes],
                "x",
                None,
                f"{room / every:.0%} of all edges; {found[gigabytes]:.3g} s instead of {without:.3g}",
                place=Place(f"{machine}, {miniature.title}", PROGRAMS[program], gigabytes),
            )
        if machine == "a5000":
            yield Bar(f"{subject}: {FIRST}", without / found[1], "x", None, "published 1.6 to 2.4", 2.0)
        else:
            gain = found[4] / found[most]
            yield Bar(f"{subject}: {REST}", gain, "x", None, "published 1.2 to 1.3", 1.25)


def _seconds(miniature: Miniature, trace: Trace, machine: str, room: int) -> float:
    return miniature.seconds(replay(trace, "grapin", machine, cache=room).batches, machine)


def bars(*, quick: bool) -> Iterator[Bar]:
    """Measure the graphs that are at hand."""
    drawn = miniatures(quick=quick, edges=EDGES, names=(GENERATED,), real=False)
    for miniature in chain(drawn, () if quick else at_hand((REAL,))):
        for program in PROGRAMS:
            yield from room_bars(miniature, program)


def _answer(bars: Sequence[Bar]) -> str:
    return (
        f"1 GB makes batches {span(bars, '', FIRST)} times as fast (published 1.6 to 2.4), room for all edges another "
        f"{span(bars, '', REST)} times over 4 GB (1.2 to 1.3)"
    )


EXPERIMENT = Experiment(
    name="figure12",
    question=QUESTION,
    source="Grapin, Figure 12 and section 7.3",
    measure=bars,
    difference=(
        "our rounds of BFS, SSSP and CC read each list about once a batch, so that none is hotter than another and "
        "room gains by the part of the edges that it holds, until it holds all and only the device's memory is left, "
        "whose bandwidth the model takes for its speed; a tenth of Grapin's vertices are read most, and its kernels "
        "take longer. PageRank, which reads some lists much more often than others, comes near."
    ),
    answer=_answer,
    draw=panels(QUESTION, x="GB for hot lists", y="times as fast as without"),
    configuration={"originals": (GENERATED, REAL), "edges": EDGES, "batches": BATCHES, "batch": BATCH},
)

if __name__ == "__main__":
    sys.exit(EXPERIMENT.main())
