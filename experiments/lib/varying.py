"""What three systems take for streams that differ in one thing: rows for lines over it.

Times are for the size of Grapin's graphs, as `grapin_runs.py` has them from runs on far smaller ones. Each has in it
that batches are copied to the device, which is most of what `bounded` takes for small ones.

`grapin-zc` and `grapin` are the published repair without and with cached lists on the device, read in a GPU's rounds.
`bounded` is ours; it is read in the order of our CPU device, in many small rounds, each of which is charged a kernel's
start and a round trip; on a GPU rounds would be larger and fewer.
"""

from collections.abc import Iterator, Sequence

from experiments.lib.bars import Bar, Place, figures
from experiments.lib.bars import span as bars_span
from experiments.lib.grapin_runs import MACHINE, Miniature, record
from grapin.sim import replay
from grapin.stream import Stream

SYSTEMS = {"grapin-zc": "published", "grapin": "published", "bounded": "bounded"}
"""Each with the repair whose run is replayed."""
EDGES = 1_000_000
"""How many are drawn for a miniature: a run is recorded for every point of a line."""
PROGRAMS = {"sssp": "SSSP", "pagerank": "PageRank"}


def time_bars(miniature: Miniature, program: str, stream: Stream, x: float, said: str) -> Iterator[Bar]:
    """Run a stream and yield what each system takes for all of its batches, at the original's size.

    Args:
        miniature: the graph.
        program: one of `PROGRAMS`.
        stream: the batches.
        x: where on the lower axis they stand.
        said: the same in words.
    """
    runs = record(stream, program, tuple(dict.fromkeys(SYSTEMS.values())))
    subject = f"{PROGRAMS[program]} on {miniature.title}"
    arrival = miniature.arrival(stream)
    for system, repair in SYSTEMS.items():
        cost = replay(runs[repair].trace, system, MACHINE, cache=miniature.cache).batches
        yield Bar(
            f"{subject}, {said}: {system}",
            arrival + miniature.seconds(cost),
            "s",
            None,
            f"{cost.bytes / miniature.part / 1e9:.3g} GB over the link in {cost.iterations:,} rounds",
            place=Place(subject, system, x),
        )


def over(bars: Sequence[Bar], slower: str, faster: str) -> list[float]:
    """Return how many times as long one system takes as another, wherever both stand and the other takes any time."""
    found = {bar.place: bar.figure for bar in bars if bar.place is not None}
    other = {place: found.get(place._replace(line=faster), 0.0) for place in found if place.line == slower}
    return [found[place] / fast for place, fast in other.items() if fast > 0]


def span(bars: Sequence[Bar], beginning: str, ending: str) -> str:
    """Say from where to where the figures of rows go that are called so."""
    return bars_span(figures(bars, ending, beginning), digits=3) or "nothing"
