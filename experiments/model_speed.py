"""How fast is the transfer model, and do its three levels say the same?

The trace is of an engine that keeps shortest paths fresh on an R-MAT graph: the first answer, which reads most lists
several times, and ten batches, which are repaired by reading little in many iterations. Two more traces are ends
between which others lie: lists of one line, and long lists. The event model follows the last iterations, as many as it
can in a few seconds; its times must be the fast replay's in each of them. Speeds are requests a second of processor
time.
"""

import tracemalloc
from collections.abc import Callable, Sequence
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.lib.bars import DATA, Bar, figures, kept, percents, sentence, span, told
from experiments.lib.experiment import Experiment
from experiments.reads import weighted
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.files import load_edges
from grapin.generators import generate
from grapin.programs import SSSP
from grapin.session import Session
from grapin.sim import MACHINES
from grapin.sim.oracle.zero_copy import replay_events
from grapin.sim.path import Path, read_requests, to_seconds
from grapin.sim.stations import Replayed
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.zero_copy import replay_zero_copy
from grapin.stream import workload
from grapin.trace import Trace

FULL, QUICK = "rmat:18:16", "rmat:9:16"
REAL = DATA / "soc-Epinions1.txt.gz"
BATCHES = 10
ROUNDS = 3
MOST_EVENTS = 400_000
"""Requests that the event model is given, at least one iteration's."""
FAST, EVENTS = 20e6, 50e3
"""Requests a second that the levels must reach."""
MOST_APART, MOST_FROM_CLOSED_FORM = 0.03, 0.05
APART, FROM_CLOSED_FORM = (
    "event model and fast replay apart, worst iteration",
    "fast replay and closed form apart",
)
LONGER = "memory for a trace ten times as long over memory"
PATH = Path(MACHINES["a100"])


def traced(edges: EdgeList) -> Trace:
    """Keep shortest paths fresh over batches of a thousandth of the edges and return what was read."""
    stream = workload(weighted(edges), batches=BATCHES, size=max(1, len(edges) // 1000), seed=1)
    graph = stream.graph()
    engine = Engine(graph, SSSP(int(np.argmax(graph.snapshot().out.degrees))), threads=1, trace=True)
    Session(engine, stream).run()
    return engine.trace


def part(trace: Trace, rows: NDArray[np.bool_]) -> Trace:
    """Return some reads of a trace."""
    return Trace(
        {name: column[rows] for name, column in trace.reads.items()}, trace.phases, trace.changes, trace.about
    )


def followed(trace: Trace) -> Trace:
    """Return as many iterations, the last first, as the event model follows in a few seconds."""
    fast = replay_zero_copy(trace, PATH)
    through = np.cumsum(fast.kinds.sum(axis=1)[::-1])
    first = len(fast) - max(1, int(np.searchsorted(through, MOST_EVENTS, "right")))
    changed = [np.diff(trace.reads[name], prepend=-1) != 0 for name in ("phase", "iteration")]
    number = np.cumsum(np.logical_or(*changed))
    return part(trace, number > first)


def steady(count: int, length: int) -> Trace:
    """Return a trace of so many lists of one length, all in one iteration."""
    zeros = np.zeros(count, np.int32)
    reads: dict[str, NDArray[Any]] = {
        "phase": zeros,
        "iteration": zeros,
        "vertex": np.arange(count, dtype=np.int32),
        "inward": np.zeros(count, np.bool_),
        "start": np.arange(count) * (-(-length // 32) * 32),
        "length": np.full(count, length, np.int32),
        "arrays": np.ones(count, np.uint8),
        "whole": np.ones(count, np.bool_),
        "cached": np.zeros(count, np.bool_),
    }
    return Trace(reads, {}, {}, {"system": "none"})


def speed(replay: Callable[[Trace, Path], Replayed], trace: Trace, rounds: int) -> float:
    """Return requests a second of processor time."""
    times = []
    for _ in range(rounds):
        begin = process_time()
        replayed = replay(trace, PATH)
        times.append(process_time() - begin)
    return sum(replayed.requests.values()) / median(times)


def speed_bar(name: str, rate: float, least: float) -> Bar:
    """Set time a request against its limit; the remark says what it is in requests a second."""
    unit, factor = ("ns/request", 1e9) if least > 1e6 else ("us/request", 1e6)
    return Bar(name, factor / rate, unit, factor / least, f"{rate:,.0f} requests/s (at least {least:,.0f})")


def apart_bar(name: str, trace: Trace) -> Bar:
    """Compare the fast replay with the event model, iteration by iteration."""
    fast, events = replay_zero_copy(trace, PATH), replay_events(trace, PATH)
    if not np.array_equal(fast.kinds, events.kinds) or fast.requests != trace.counters().requests:
        raise AssertionError(f"{name}: the levels do not make the same requests")
    apart = float(np.max(np.abs(fast.ticks - events.ticks) / events.ticks))
    remark = f"{sum(fast.requests.values()):,} requests in {len(fast):,} iterations, volumes equal"
    return Bar(f"{name}: {APART}", apart, "x", MOST_APART, remark)


def closed_form_bar(length: int, count: int) -> Bar:
    """Compare the fast replay with the closed form on a long steady stream."""
    replayed = replay_zero_copy(steady(count, length), PATH)
    took = to_seconds(int(replayed.ticks[0]) - PATH.launch)
    expected = read_requests(PATH.machine, replayed.requests).seconds
    name = f"requests of {4 * length} bytes: {FROM_CLOSED_FORM}"
    return Bar(name, abs(took - expected) / expected, "x", MOST_FROM_CLOSED_FORM)


def memory_bar(count: int) -> Bar:
    """Compare what the fast replay needs for a trace and for one ten times as long."""
    peaks = []
    for trace in (steady(count, 64), steady(10 * count, 64)):
        tracemalloc.start()
        replay_zero_copy(trace, PATH)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    remark = f"{peaks[1] / 2**20:.2f} MiB"
    return Bar(LONGER, peaks[1] / peaks[0], "x", 1.1, remark)


def timeline_bar(trace: Trace) -> Bar:
    """Measure what collecting a timeline costs; the remark says how large it is."""
    timeline = Timeline()
    begin = process_time()
    replay_events(trace, PATH)
    between = process_time()
    replay_events(trace, PATH, timeline=timeline)
    cost = (process_time() - between) / (between - begin)
    return Bar(
        "event model with a timeline over without",
        cost,
        "x",
        None,
        f"{len(timeline.events()):,} events in it",
    )


def bars(*, quick: bool) -> list[Bar]:
    """Measure everything."""
    trace = traced(generate(QUICK if quick else FULL))
    some = followed(trace)
    count = 10_000 if quick else 4_000_000
    replay_zero_copy(some, PATH)
    measured = [
        speed_bar("fast replay of the engine's trace", speed(replay_zero_copy, trace, ROUNDS), FAST),
        speed_bar(
            "fast replay of lists of one line", speed(replay_zero_copy, steady(count, 32), ROUNDS), FAST
        ),
        speed_bar(
            "fast replay of long lists", speed(replay_zero_copy, steady(count // 32, 1024), ROUNDS), FAST
        ),
        speed_bar("event model", speed(replay_events, some, 1), EVENTS),
        apart_bar("R-MAT", some),
    ]
    if REAL.exists() and not quick:
        measured.append(apart_bar("soc-Epinions1", followed(traced(load_edges(REAL)))))
    measured += [closed_form_bar(length, count) for length in (8, 16, 24, 32)]
    return [*measured, memory_bar(count // 10), timeline_bar(some)]


def _answer(bars: Sequence[Bar]) -> str:
    fast, events = (
        span((scale / bar.figure for bar in bars if bar.unit == unit), digits=3)
        for unit, scale in (("ns/request", 1e3), ("us/request", 1e6))
    )
    closed = figures(bars, FROM_CLOSED_FORM)
    return sentence(
        told("the fast replay follows {} million requests a second, the event model {}", fast, events),
        told("their times differ by {} in the worst iteration", percents(figures(bars, APART)))
        + told(
            ", the fast replay's and the closed form's by at most {}", percents([max(closed, default=0.0)])
        ),
        told(
            "a trace ten times as long takes {} times as much memory", span(figures(bars, LONGER), digits=3)
        ),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="model_speed",
    question="How fast is the transfer model, and do its three levels say the same?",
    measure=bars,
    answer=_answer,
    configuration={"graph": FULL, "batches": BATCHES, "rounds": ROUNDS},
)
