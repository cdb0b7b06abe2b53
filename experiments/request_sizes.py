"""Which requests cross the link when threads, warps and aligned warps read the same lists? EMOGI's story.

The lists are those of a breadth-first search from the vertex with most edges: each reached vertex's list once, level by
level. They lie in memory as EMOGI (PVLDB 14(2)) has them: one after the other without gaps, 8 bytes per element. The
three ways to read them are explained in `grapin.sim.stations`. Published figures stand beside ours; they were measured
on a V100 on graphs a hundred times as large, of which GK and GU are of the families that `rmat` and `er` make.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.lib.bars import DATA, Bar, figures, kept, named, number, percents, sentence, told
from experiments.lib.experiment import Experiment
from grapin.counters import Counters, count_reads
from grapin.engine import Engine
from grapin.graph import Graph
from grapin.loading import load
from grapin.programs import BFS
from grapin.sim.stations import count_thread_reads
from grapin.units import WARP

KRONECKER, UNIFORM = "rmat:18:16", "er:262144:4194304"
"""GAP-kron and GAP-urand have 16 undirected edges per vertex too, at 2^27 vertices."""
FILES = ("actor-costar.txt.zst", "cnr-2000.txt.zst", "soc-Epinions1.txt.gz")
QUICK = "rmat:8:16"
WIDE, NARROW = 8, 4
PUBLISHED_GAIN = {KRONECKER: 1.86, UNIFORM: 1.25}  # EMOGI section 5.3.1: GK and GU
PUBLISHED_MERGED = 0.40  # EMOGI section 5.3.1: the average of its graphs
MOST_MERGED, MOST_ALIGNED = 0.833, 0.288  # EMOGI figure 7: the most that was gone on any graph
GAIN = "128-byte share, aligned over merged"
MERGED, ALIGNED = "requests gone, merged instead of naive", "requests gone, aligned instead of merged"
MOST_OFF = 0.1
"""How far a gain may be from the one published for the same family of graphs."""


@dataclass(frozen=True, eq=False)
class Search:
    """The lists that a breadth-first search reads, in order, packed without gaps."""

    warps: NDArray[np.int64]
    """Which lists go side by side where a thread walks a list: those of 32 vertices in a row, in one level."""
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    store_starts: NDArray[np.int64]
    """Where the lists start in Grapin's store, which aligns them."""

    @classmethod
    def of(cls, graph: Graph) -> "Search":
        """Search a graph from its largest vertex."""
        lists = graph.snapshot().out
        degrees = lists.degrees[: graph.bound].astype(np.int64)
        levels = Engine(graph, BFS(int(np.argmax(degrees))), threads=1).values
        read = np.flatnonzero((levels <= graph.bound) & (degrees > 0))
        read = read[np.argsort(levels[read], kind="stable")]
        packed = np.cumsum(degrees) - degrees
        warps = levels[read].astype(np.int64) * graph.bound + read // WARP
        return cls(warps, packed[read], degrees[read], lists.starts[read])

    def naive(self, element: int, *, kept: bool) -> Counters:
        """Count what threads ask for."""
        return count_thread_reads(self.warps, self.starts, self.lengths, element=element, kept=kept)

    def merged(self, element: int) -> Counters:
        """Count what warps ask for that begin where a list begins."""
        return count_reads(self.starts, self.lengths, element=element, aligned=False)

    def aligned(self, element: int) -> Counters:
        """Count what warps ask for that begin where a line begins."""
        return count_reads(self.starts, self.lengths, element=element)


def share(counters: Counters, size: int) -> float:
    """Return the part of all requests that have this size."""
    return counters.requests[size] / sum(counters.requests.values())


def removed(before: Counters, after: Counters) -> float:
    """Return the part of requests that is gone."""
    return 1 - sum(after.requests.values()) / sum(before.requests.values())


def graph_bars(name: str, graph: Graph) -> list[Bar]:
    """Measure one graph."""
    search = Search.of(graph)
    kept, again = (search.naive(WIDE, kept=kept) for kept in (True, False))
    merged, aligned = search.merged(WIDE), search.aligned(WIDE)
    in_store = count_reads(search.store_starts, search.lengths)
    gain = share(aligned, 128) / share(merged, 128)
    small = ", ".join(f"{share(found, 32):.1%}" for found in (kept, merged, aligned))
    large = ", ".join(f"{share(found, 128):.1%}" for found in (kept, merged, aligned))
    narrow = search.aligned(NARROW)
    bars = [
        Bar(f"{name}: naive requests larger than 32 bytes", 1 - share(kept, 32), "of all", None, "FS 0.013"),
        Bar(
            f"{name}: merged requests of 128 bytes",
            share(merged, 128),
            "of all",
            None,
            f"published on average, ML 0.467; naive, merged, aligned: 32 bytes {small}; 128 bytes {large}",
            PUBLISHED_MERGED,
        ),
        Bar(f"{name}: {GAIN}", gain, "x", None, "GK 1.86, GU 1.25", PUBLISHED_GAIN.get(name)),
        Bar(
            f"{name}: {MERGED}",
            removed(kept, merged),
            "of all",
            None,
            f"up to {MOST_MERGED}; {removed(again, merged):.3f} if a thread asks for every element again",
        ),
        Bar(f"{name}: {ALIGNED}", removed(merged, aligned), "of all", None, f"up to {MOST_ALIGNED}"),
        Bar(
            f"{name}: bytes asked for over bytes of the lists",
            aligned.bytes / (WIDE * aligned.edges),
            "x",
            None,
            "up to 1.31 of the data set over a whole search",
        ),
        Bar(
            f"{name}: bytes of 8-byte over 4-byte elements",
            aligned.bytes / narrow.bytes,
            "x",
            None,
            "1.57 in time",
        ),
        Bar(
            f"{name}: requests gone, lists aligned as well, 4-byte elements",
            removed(narrow, in_store),
            "of all",
            None,
            "Grapin's store: a list never shares a line",
        ),
    ]
    if name in PUBLISHED_GAIN:
        published = PUBLISHED_GAIN[name]
        off = abs(gain / published - 1)
        remark = f"{gain:.3f}, published {published} on the same family at 2^27 vertices"
        bars.append(Bar(f"{name}: gain of the 128-byte share, off by", off, "of it", MOST_OFF, remark))
    return bars


def bars(*, quick: bool) -> list[Bar]:
    """Measure all graphs that are at hand; a quick run leaves the files out."""
    specs = (QUICK,) if quick else (KRONECKER, UNIFORM)
    found = [bar for spec in specs for bar in graph_bars(spec, load(spec, directed=False, weights="none"))]
    for file in () if quick else FILES:
        if (DATA / file).is_file():
            directed = False if file.startswith("actor") else None
            graph = load(DATA / file, directed=directed, weights="none")
            found += graph_bars(file.split(".")[0], graph)
    return found


def _answer(bars: Sequence[Bar]) -> str:
    gains = [(bar.figure, bar.published) for bar in named(bars, GAIN) if bar.published is not None]
    ours, theirs = (" and ".join(number(pair[side] or 0.0, 3) for pair in gains) for side in (0, 1))
    merged, aligned = (percents(figures(bars, f": {what}")) for what in (MERGED, ALIGNED))
    return sentence(
        told(
            "alignment makes the share of 128-byte requests {} times as large on R-MAT and uniform graphs "
            "(published {} on these families)",
            ours,
            theirs,
        ),
        told(f"merging spares {{}} of the requests (published up to {percents([MOST_MERGED])})", merged)
        + told(f", alignment another {{}} (up to {percents([MOST_ALIGNED])})", aligned),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="request_sizes",
    question="Which requests cross the link when threads, warps and aligned warps read the same lists?",
    source="EMOGI (PVLDB 14(2)), sections 5.3.1 and 5.3.2, figure 7",
    measure=bars,
    answer=_answer,
    difference=(
        "EMOGI measured graphs a hundred times as large on a V100; what differs between families of graphs "
        "is how long lists are, so the averages and maxima over its own six graphs need not be ours."
    ),
    configuration={"graphs": (KRONECKER, UNIFORM, *FILES)},
)
