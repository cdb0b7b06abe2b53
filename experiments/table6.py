"""Where does the time of a batch go, with and without a cache of hot lists? Beside Grapin's Table 6.

    python -m experiments.table6 [--quick]

Shortest paths on miniatures of its graphs (`grapin_runs.py`), ten batches. *Update* is the host changing the graph:
measured here, in one thread's processor time, for as many mutations as a miniature's batches have, and counted for as
often as the original has more; what an empty batch takes is left out. *Replacement* is the device reading hot lists
before a batch, *computation* is the repair with all that it reads over the link: both predicted for Grapin's machine
from the reads of a run.

Seconds are those of the original's size, in the remarks. They are of another graph, and the update of another
processor, so the table's shares and ratios stand beside ours, not its seconds. In the published table the headings +HSG
and -HSG are exchanged: the columns without replacement are those that Table 4 calls Grapin-ZC.

What a cache can save at most: the published repair reads nearly every list once a batch, there as here (`table1.py`),
so that with room for a quarter of the edges a quarter of the reads can be spared. Table 5 has nine tenths of what is
read across batches spared on TW, with 4 GB. Those are 0.9 x 14.72 B edges in nine batches, 1.5 B edges a batch, and
what is held does not change within a batch: neighbours and weights of so many edges are 12 GB. One row a graph has what
must be held in the same way, and where that is more than 4 GB, one what we predict with room for so much.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import thread_time

from experiments.bars import Bar, Place
from experiments.experiment import Experiment
from experiments.grapin_runs import (
    BATCHES,
    BILLION,
    CACHE,
    EDGE,
    EDGES,
    MACHINE,
    Miniature,
    miniatures,
    record,
)
from experiments.panels import panels
from grapin.batch import Batch
from grapin.cache import CacheSettings
from grapin.graph import Graph
from grapin.sim import MACHINES, replay
from grapin.sim.caching import run_cache
from grapin.sim.path import Path
from grapin.sim.prediction import Costs
from grapin.sim.transfer.upkeep import with_upkeep
from grapin.trace import Trace

REPETITIONS = 3
ACROSS = {
    "OK": (0.78, 0.81),
    "WK": (3.58, 0.82),
    "TW": (14.72, 0.90),
    "FS": (22.15, 0.72),
    "UK": (25.09, 0.65),
}
"""Billions of edges read again across batches (Grapin, Table 1), and what part of that the cache spares (Table 5)."""
HELD = "lists held to spare what Table 5 spares"
SPEEDUP = "all without a cache over all with one"
AMPLY = "all without a cache over all with one that holds so much"
BOUNDED = "all under bounded over all without a cache"


@dataclass(frozen=True)
class Times:
    """Seconds of ten batches, at the size of the original."""

    update: float
    replacement: float
    computation: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.update + self.replacement + self.computation

    def __str__(self) -> str:
        parts = f"{self.update:.2f} s update, {self.replacement:.2f} s replacement"
        return f"{parts}, {self.computation:.3g} s computation"


PUBLISHED = {  # Grapin, Table 6: without, with the hot subgraph
    "OK": (Times(0.02, 0.0, 2.41), Times(0.02, 0.27, 0.69)),
    "WK": (Times(0.57, 0.0, 5.89), Times(0.58, 0.51, 1.04)),
    "TW": (Times(2.95, 0.0, 20.77), Times(2.67, 0.30, 4.19)),
    "FS": (Times(0.01, 0.0, 33.99), Times(0.01, 0.34, 13.05)),
    "UK": (Times(0.86, 0.0, 43.86), Times(0.95, 1.61, 14.27)),
}


def update_seconds(miniature: Miniature) -> float:
    """Measure what changing the graph takes and return what it takes at the size of the original."""
    stream = miniature.stream()
    taken = []
    for _ in range(1 + REPETITIONS):  # the first loads compiled code
        graph = stream.graph()
        empty = median(_apply(graph, Batch()) for _ in range(BATCHES))
        taken.append(sum(_apply(graph, batch) - empty for batch in stream))
    return max(0.0, median(taken[1:])) / miniature.part


def _apply(graph: Graph, batch: Batch) -> float:
    begin = thread_time()
    graph.apply(batch)
    return thread_time() - begin


def held(name: str) -> float:
    """Return the bytes of the lists that a cache must hold to spare what Table 5 says, in each batch but the first."""
    read, spared = ACROSS[name]
    return spared * read * BILLION / (BATCHES - 1) * EDGE


def predicted(miniature: Miniature, trace: Trace, system: str, update: float, room: float = 0) -> Times:
    """Return the parts of the time under a system, with room for hot lists or without; room is the original's."""
    settings = CacheSettings("published", round(room * miniature.part))
    if not room:
        return Times(update, 0.0, miniature.seconds(replay(trace, system, MACHINE).batches))
    whole = replay(trace, system, MACHINE, cache=settings).batches
    upkeep = run_cache(trace, settings).upkeep
    kept = sum(with_upkeep([Costs()] * len(upkeep), Path(MACHINES[MACHINE]), upkeep)[1:], Costs())
    link, launches = (
        getattr(whole.seconds, part) - getattr(kept.seconds, part) for part in ("link", "launches")
    )
    reads = {
        f"requests_{size}": count - kept.counters.requests[size]
        for size, count in whole.counters.requests.items()
    }
    computing = replace(
        whole,
        counters=replace(whole.counters, patch_bytes=0, **reads),
        seconds=replace(whole.seconds, link=link, launches=launches),
    )
    return Times(update, miniature.seconds(kept), miniature.seconds(computing))


def bars_of(miniature: Miniature) -> Iterator[Bar]:
    """Predict one miniature and lay it beside the published columns."""
    runs = record(miniature.stream(), "sssp", ("published", "bounded"))
    update = update_seconds(miniature)
    trace = runs["published"].trace
    plain = predicted(miniature, trace, "grapin-zc", update)
    ours = predicted(miniature, runs["bounded"].trace, "bounded", update)
    cached = predicted(miniature, trace, "grapin", update, CACHE)
    ample = held(miniature.original.name)
    there, there_cached = PUBLISHED[miniature.original.name]

    def bar(what: str, figure: float, unit: str, published: float | None, remark: str = "") -> Bar:
        place = Place(what, "ours", miniature.title)
        return Bar(f"{place.x}: {what}", figure, unit, None, remark, published, place)

    room = CACHE / (EDGE * miniature.original.edges)
    speedup = there.total / there_cached.total
    yield bar(SPEEDUP, plain.total / cached.total, "x", speedup, f"room for {min(1, room):.0%} of the edges")
    yield bar(
        HELD, ample / 2**30, "GiB", CACHE / 2**30, "from Tables 1 and 5 alone, beside the room that there was"
    )
    if ample > CACHE:
        amply = predicted(miniature, trace, "grapin", update, ample)
        yield bar(AMPLY, plain.total / amply.total, "x", speedup)
    speedup = there.computation / there_cached.computation
    yield bar(
        "computation without a cache over with one", plain.computation / cached.computation, "x", speedup
    )
    share = "of the total"
    yield bar(
        "update, without a cache", plain.update / plain.total, share, there.update / there.total, str(plain)
    )
    for part in ("update", "replacement", "computation"):
        figures = [getattr(times, part) / times.total for times in (cached, there_cached)]
        yield bar(
            f"{part}, with a cache", figures[0], share, figures[1], str(cached) if part == "update" else ""
        )
    yield bar(BOUNDED, ours.total / plain.total, "x", None, str(ours))
    yield bar(
        "computation under bounded over that without a cache", ours.computation / plain.computation, "x", None
    )


def bars(*, quick: bool) -> Iterator[Bar]:
    """Run all miniatures that are at hand; a quick run two small ones."""
    for miniature in miniatures(quick=quick, names=("OK", "UK") if quick else tuple(PUBLISHED)):
        yield from bars_of(miniature)


def answer(rows: Sequence[Bar]) -> str:
    """Say what the cache brings, and what our repair."""

    def span(what: str) -> str:
        some = [row for row in rows if row.name.endswith(f": {what}")]
        ours, theirs = [row.figure for row in some], [row.published for row in some if row.published]
        beside = f" (published {min(theirs):.2g} to {max(theirs):.2g})" if theirs else ""
        return f"{min(ours):.2g} to {max(ours):.2g}{beside}"

    return (
        f"the cache makes all {span(SPEEDUP)} times as fast, one that holds what Table 5 needs {span(AMPLY)}; "
        f"bounded takes {span(BOUNDED)} of the time without a cache"
    )


QUESTION = "Where does the time of a batch go, with and without a cache of hot lists?"

EXPERIMENT = Experiment(
    name="table6",
    question=QUESTION,
    source="Grapin, Table 6",
    measure=bars,
    difference=(
        "with 4 GB for a part of the edges, and nearly every list read once a batch, a cache can spare that part; what "
        "Tables 1 and 5 say together needs three times the room, and with it ours is 0.57 to 0.87 of the published. "
        "The update is one thread's here, 0.4 to 2 us a mutation; published are 0.01 us on FS and 2.95 us on TW. "
        "The device's computation is a bound here, so that little is left of it where all lists are held; its sorting "
        "and compaction of the cache is not counted."
    ),
    answer=answer,
    draw=panels(QUESTION, x=""),
    configuration={"edges": EDGES, "batches": BATCHES, "program": "sssp", "cache": CACHE, "machine": MACHINE},
)

if __name__ == "__main__":
    sys.exit(EXPERIMENT.main())
