"""What three systems take for streams that differ in one thing: rows for lines over it.

Times are for the size of Grapin's graphs, from runs on graphs a thousand times smaller. There, requests follow each
other as fast as the link takes them; here many rounds have so few that most of their time is waiting: for a kernel's
start, for the first answer, for one long list line by line. Waiting does not grow with the graph, so `seconds_at_size`
counts it once, and what requests take back to back for as often as the original is larger.

`grapin-zc` and `grapin` are the published repair without and with hot lists on the device, read in a GPU's rounds.
`bounded` is ours; it is read in the order of our CPU device, in many small rounds, each of which is charged a kernel's
start and a round trip; on a GPU rounds would be larger and fewer.
"""

from collections.abc import Iterator, Sequence

from experiments.bars import Bar, Place
from experiments.grapin_runs import MACHINE, Miniature, record
from grapin.sim import MACHINES, replay
from grapin.sim.closed_form import read_requests
from grapin.sim.prediction import Costs
from grapin.sim.requests import SECTOR
from grapin.stream import Stream

SYSTEMS = {"grapin-zc": "published", "grapin": "published", "bounded": "bounded"}
"""Each with the repair whose run is replayed."""
EDGES = 1_000_000
"""How many are drawn for a miniature: a run is recorded for every point of a line."""
PROGRAMS = {"sssp": "SSSP", "pagerank": "PageRank"}


def seconds_at_size(miniature: Miniature, costs: Costs, machine: str = MACHINE) -> float:
    """Return how long the original takes for what a miniature costs."""
    requests = dict(costs.counters.requests)
    requests[SECTOR] += costs.counters.patch_bytes // SECTOR
    sent = read_requests(MACHINES[machine], requests).seconds
    busy = min(costs.seconds.total, max(sent, costs.seconds.device))
    return busy / miniature.part + costs.seconds.total - busy


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
    for system, repair in SYSTEMS.items():
        cost = replay(runs[repair].trace, system, MACHINE, cache=miniature.cache).batches
        yield Bar(
            f"{subject}, {said}: {system}",
            seconds_at_size(miniature, cost),
            "s",
            None,
            f"{cost.bytes / miniature.part / 1e9:.3g} GB over the link in {cost.iterations:,} rounds",
            place=Place(subject, system, x),
        )


def over(bars: Sequence[Bar], slower: str, faster: str) -> list[float]:
    """Return how many times as long one system takes as another, wherever both stand and the other takes any time."""
    figures = {bar.place: bar.figure for bar in bars if bar.place is not None}
    other = {
        place: figures.get(place._replace(line=faster), 0.0) for place in figures if place.line == slower
    }
    return [figures[place] / fast for place, fast in other.items() if fast > 0]


def span(bars: Sequence[Bar], beginning: str, ending: str) -> str:
    """Say from where to where the figures of rows go that are called so."""
    figures = [bar.figure for bar in bars if bar.name.startswith(beginning) and bar.name.endswith(ending)]
    return (
        " to ".join(dict.fromkeys(f"{end:.3g}" for end in (min(figures), max(figures))))
        if figures
        else "nothing"
    )
