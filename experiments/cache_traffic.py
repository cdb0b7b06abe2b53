"""How many bytes cross the link with a cache, beside none and beside the clairvoyant choice?

    python -m experiments.cache_traffic [--quick] [--traces FOLDER]

One traced run a graph, program and repair: ten batches of 0.1 % of the edges, half insertions and half deletions. The
trace is replayed with each policy and room for 10 % of the bytes of all edges; an engine with that cache counts the
very same (a test holds both together). Loads and patches count; the first computation does not, but fills the cache.
With a folder, traces are kept there and used again, since recording takes longer than replaying.

Then the paper's Table 5: the published policy under the published repair, SSSP, with as large a part of the edges
cached as 4 GB are of the paper's graphs.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.bars import DATA, Bar, print_bars, record_bars
from experiments.experiment import Experiment
from experiments.reads import weighted
from grapin.cache import CacheSettings, replay
from grapin.cache.settings import ELEMENT
from grapin.counters import Counters
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.files import load_edges
from grapin.generators import generate
from grapin.programs import SSSP, PageRank
from grapin.programs.program import Program
from grapin.stream import Stream, workload
from grapin.trace import Trace

GENERATED = "rmat:18:16"
QUICK = "rmat:10:16"
FILES = {"cnr-2000": True, "actor-costar": False}
"""Real graphs, and whether they are directed."""
PART = 0.001
BATCHES = 10
ROOM = 0.1
REPAIRS = ("grapin-zc", "bounded")
POLICIES = ("none", "published", "adaptive", "oracle")
OVER_ORACLE = 1.15
CACHE_GB = 4.0  # Grapin §7, setup
PAPER = {
    "OK": (1.5, 0.73),
    "WK": (6.3, 0.74),
    "TW": (28.0, 0.80),
    "FS": (45.0, 0.68),
    "UK": (55.0, 0.67),
}
"""Size in GB (Grapin, Table 3) and part of the transfer that the cache saves (Grapin, Table 5)."""


@dataclass(frozen=True)
class Traced:
    """One run that was traced."""

    graph: str
    program: str
    repair: str
    trace: Trace

    @property
    def name(self) -> str:
        """What the bars are called after."""
        return f"{self.program} on {self.graph}, repair of {self.repair}"

    def link_bytes(self, policy: str, room: float) -> int:
        """Return what the batches sent over the link with room for this part of all edges."""
        trace = self.trace
        arrays = int(trace.reads["arrays"].max(initial=1))
        capacity = int(room * ELEMENT * arrays * int(trace.phases["edges"][0]))
        settings = CacheSettings(policy, capacity)
        total = Counters()
        for phase, (plan, observed) in enumerate(replay(settings, trace.reads, trace.phases, trace.changes)):
            if phase:
                total += observed.counters + (Counters() if plan is None else plan.counters)
        return total.link_bytes


def traced_runs(name: str, edges: EdgeList, folder: Path | None) -> Iterator[Traced]:
    """Yield a traced run for each repair and program."""
    stream = workload(edges, batches=BATCHES, size=max(1, round(PART * len(edges))), seed=1)
    source = int(np.argmax(stream.graph().snapshot().out.degrees))
    for repair in REPAIRS:
        for program in (SSSP(source), PageRank()):
            kept = None
            if folder is not None:
                kept = folder / f"{name.replace(':', '_')}-{program.name}-{repair}.trace"
            yield Traced(name, program.name, repair, _trace(stream, program, repair, kept))


def _trace(stream: Stream, program: Program, system: str, kept: Path | None) -> Trace:
    if kept is not None and kept.is_file():
        return Trace.load(kept)
    engine = Engine(stream.graph(), program, system=system, threads=1, trace=True)
    for batch in stream:
        engine.apply(batch)
    if kept is not None:
        engine.trace.save(kept)
    return engine.trace


def traffic_bars(run: Traced) -> list[Bar]:
    """Compare the policies on one run."""
    sent = {policy: run.link_bytes(policy, ROOM) for policy in POLICIES}
    remark = ", ".join(f"{policy} {size / 1e6:.2f} MB" for policy, size in sent.items())
    over = {policy: sent["adaptive"] / max(1, sent[policy]) for policy in POLICIES}
    limit = OVER_ORACLE if run.program == "pagerank" else None
    return [
        Bar(f"{run.name}: adaptive over no cache", over["none"], "x", 1.0, remark),
        Bar(f"{run.name}: adaptive over published", over["published"], "x", 1.0),
        Bar(f"{run.name}: adaptive over oracle", over["oracle"], "x", limit),
    ]


def paper_bars(run: Traced) -> list[Bar]:
    """Cache as large a part of the edges as 4 GB are of each of the paper's graphs."""
    without = max(1, run.link_bytes("none", 0.0))
    found = []
    for graph, (gigabytes, saved) in PAPER.items():
        part = min(1.0, CACHE_GB / gigabytes)
        ours = 1 - run.link_bytes("published", part) / without
        remark = f"{part:.0%} of the edges cached, as on {graph}, where the paper saves {saved:.0%}"
        found.append(Bar(f"{run.name}: part of the transfer that published saves", ours, "", None, remark))
    return found


def graphs(*, quick: bool) -> Iterator[tuple[str, EdgeList]]:
    """Yield the graphs that are at hand."""
    if quick:
        yield QUICK, generate(QUICK)
        return
    yield GENERATED, generate(GENERATED)
    for name, directed in FILES.items():
        file = DATA / f"{name}.txt.zst"
        if file.is_file():
            yield name, weighted(load_edges(file, directed=None if directed else False))


def bars(*, quick: bool, folder: Path | None = None) -> list[Bar]:
    """Measure run by run, saying which."""
    found = []
    for name, edges in graphs(quick=quick):
        for run in traced_runs(name, edges, folder):
            print(f"{run.name} ...", file=sys.stderr)
            found += traffic_bars(run)
            if run.program == "sssp" and run.repair == "grapin-zc":
                found += paper_bars(run)
    return found


def main() -> int:
    """Measure, print, record; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small graph, to see that it runs")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="keep traces there, and use them again")
    given = parser.parse_args()
    quick = given.quick
    measured = bars(quick=quick, folder=given.traces)
    print_bars("Bytes over the link with a cache", measured)
    print(
        f"recorded in records/{record_bars('cache_traffic', {'quick': quick, 'room': ROOM}, measured).name}"
    )
    return int(not quick and any(bar.verdict == "FAIL" for bar in measured))


EXPERIMENT = Experiment(
    name="cache_traffic",
    question="How many bytes cross the link with a cache, beside none and beside the clairvoyant choice?",
    source="Grapin, Table 5",
    measure=bars,
    difference="the same part of the edges is cached as in the paper, but of graphs a hundred times smaller.",
    configuration={"graphs": (GENERATED, *FILES), "part": PART, "batches": BATCHES, "room": ROOM},
)

if __name__ == "__main__":
    sys.exit(main())
