"""Where does the time of a batch go, with and without cached lists? Beside Grapin's Table 6.

Shortest paths on miniatures of its graphs (`grapin_runs.py`), ten batches. *Update* is the host changing the graph:
measured here, in one thread's processor time, for as many mutations as a miniature's batches have, and counted for as
often as the original has more; what an empty batch takes is left out. *Replacement* is the device reading cached lists
before a batch, *computation* is the repair with all that it reads over the link, and the batch's way there: both
predicted for Grapin's machine from the reads of a run.

Seconds are those of the original's size. They are of another graph, and the update of another processor, so the table's
shares and ratios stand beside ours; its seconds of computation do too, because ratios hide that ours are fewer. In the
published table the headings +HSG and -HSG are exchanged: the columns without replacement are those that Table 4 calls
Grapin-ZC. Its parts do not quite add up to its overall times, of which the shares and speed-ups are.

The generated miniatures are nearly one graph; what differs is how large a part of the edges 4 GB hold, and how many
mutations a batch has.

What a cache can save at most: the published repair reads nearly every list once a batch, there as here (`table1.py`),
so that with room for a quarter of the edges a quarter of the reads can be spared. Table 5 has nine tenths of what is
read across batches spared on TW, with 4 GB. Those are 0.9 x 14.72 B edges in nine batches, 1.5 B edges per batch, and
what is held does not change within a batch: neighbours and weights of so many edges are 12 GiB. One row a graph has
what must be held in the same way, and where that is more than 4 GB, one what we predict with room for so much.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import thread_time

from experiments.lib.bars import Bar, Place, beside
from experiments.lib.drawing import panels
from experiments.lib.experiment import Experiment
from experiments.lib.grapin_runs import (
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
from grapin.batch import Batch
from grapin.cache import CacheSettings
from grapin.graph import Graph
from grapin.sim import MACHINES, replay
from grapin.sim.path import Path
from grapin.sim.prediction import Costs
from grapin.sim.transfer.zero_copy import run_cache, with_upkeep
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
COMPUTATION = "computation without a cache"


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
OVERALL = {  # Grapin, Table 6, as above; its Table 4 has the same
    "OK": (2.43, 1.00),
    "WK": (6.46, 2.12),
    "TW": (23.72, 7.16),
    "FS": (34.00, 13.40),
    "UK": (44.72, 16.83),
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


def predicted(miniature: Miniature, trace: Trace, system: str, least: Times, room: float = 0) -> Times:
    """Return the parts of the time under a system, with room for cached lists or without; room is the original's.

    `least` is what batches take however little they make the device read.
    """
    settings = CacheSettings("published", round(room * miniature.part))
    if not room:
        reading = miniature.seconds(replay(trace, system, MACHINE).batches)
        return replace(least, computation=least.computation + reading)
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
    computation = least.computation + miniature.seconds(computing)
    return replace(least, replacement=miniature.seconds(kept), computation=computation)


def bars_of(miniature: Miniature) -> Iterator[Bar]:
    """Predict one miniature and lay it beside the published columns."""
    stream = miniature.stream()
    runs = record(stream, "sssp", ("published", "bounded"))
    least = Times(update_seconds(miniature), 0.0, miniature.arrival(stream))
    trace = runs["published"].trace
    plain = predicted(miniature, trace, "grapin-zc", least)
    ours = predicted(miniature, runs["bounded"].trace, "bounded", least)
    cached = predicted(miniature, trace, "grapin", least, CACHE)
    ample = held(miniature.original.name)
    there, there_cached = PUBLISHED[miniature.original.name]
    overall, overall_cached = OVERALL[miniature.original.name]

    def bar(what: str, figure: float, unit: str, published: float | None, remark: str = "") -> Bar:
        place = Place(what, "ours", miniature.title)
        return Bar(f"{place.x}: {what}", figure, unit, None, remark, published, place)

    speedup = overall / overall_cached
    room = f"room for {miniature.original.held:.0%} of the edges"
    yield bar(SPEEDUP, plain.total / cached.total, "x", speedup, room)
    yield bar(
        HELD, ample / 2**30, "GiB", CACHE / 2**30, "from Tables 1 and 5 alone, beside the room that there was"
    )
    if ample > CACHE:
        amply = predicted(miniature, trace, "grapin", least, ample)
        yield bar(AMPLY, plain.total / amply.total, "x", speedup)
    yield bar(COMPUTATION, plain.computation, "s", there.computation)
    yield bar("computation with a cache", cached.computation, "s", there_cached.computation)
    yield bar(
        "computation without a cache over with one",
        plain.computation / cached.computation,
        "x",
        there.computation / there_cached.computation,
    )
    share = "of the total"
    yield bar(
        "update, without a cache", plain.update / plain.total, share, there.update / overall, str(plain)
    )
    for part in ("update", "replacement", "computation"):
        yield bar(
            f"{part}, with a cache",
            getattr(cached, part) / cached.total,
            share,
            getattr(there_cached, part) / overall_cached,
            str(cached) if part == "update" else "",
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
    gain, ample, computing, ours = (
        beside(rows, f": {what}") for what in (SPEEDUP, AMPLY, COMPUTATION, BOUNDED)
    )
    return (
        f"4 GB of cached lists make ten batches of shortest paths {gain} times as fast, and {ample} times with as much "
        f"room as Table 5's savings need; without them the device computes for {computing} s. Our own repair, bounded, "
        f"takes {ours} of the time without cached lists, nearly all of it the host's update of the graph, which no "
        "repair spares"
    )


EXPERIMENT = Experiment(
    name="table6",
    question="Where does the time of a batch go, with and without cached lists?",
    source="Grapin, Table 6",
    measure=bars,
    difference=(
        "with 4 GB for a part of the edges, and nearly every list read once a batch, a cache can spare that part; what "
        "Tables 1 and 5 say together needs three times the room, and with it ours is 0.6 to 0.9 of the published. Our "
        "computation is 2.3 to 6 times as fast without a cache: 15 to 21 GB/s of edges come over the link here, and "
        "3.5 to 9.9 there, by its Tables 5 and 6; what holds them up there is not known (table4). "
        "The device's own part is a bound here, 19 G edges/s, so that little is left where all lists are held; Table 8 "
        "has 1.7 G edges/s with all in memory. Its sorting and compaction of the cache is not counted. The update is "
        "one thread's here, 0.4 to 2 us a mutation; published are 0.01 us on FS and 2.95 us on TW."
    ),
    answer=answer,
    draw=panels(x=""),
    configuration={"edges": EDGES, "batches": BATCHES, "program": "sssp", "cache": CACHE, "machine": MACHINE},
)
