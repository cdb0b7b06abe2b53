"""What does it cost to survive: durable batches, opening what was saved, and rows followed as they are written?

Engines apply the same batches in turn, one without a state; a batch is timed whole, update, repair and commit. Opening
is timed against loading the graph and computing all values, in this process, with everything compiled. Rows are written
to a file by another process at a steady rate, and followed into an engine.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import grapin
from experiments.lib.bars import Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.engine import Engine
from grapin.generators import generate
from grapin.programs import SSSP
from grapin.session import Session
from grapin.stream import Live, workload

FULL, QUICK = ("rmat:20:16", 200, "rmat:18:16", 30), ("rmat:8:16", 10, "rmat:8:16", 1)
"""A graph and how many batches are applied to it; a graph and for how many seconds rows are followed into it."""
SIZE, RATE = 1_000, 100_000
"""Mutations in a batch, and a second."""
DURABLE, OPENING, P99 = 1.5, 0.3, 50.0
"""At most so many times the time without a state, so much of loading and computing, and so many milliseconds."""
WAIT = 0.005
"""Seconds that a batch waits for its rows."""
DURABILITIES = ("batch", "os", "none")

WRITER = """
import sys, time
import numpy as np
path, vertices, rate, seconds = sys.argv[1], *map(int, sys.argv[2:])
draws, step, chunk = np.random.default_rng(1), 0.005, int(rate * 0.005)
edges = [tuple(row) for row in draws.integers(0, vertices, (50_000, 2)).tolist()]
texts = [[f"{u},{v},{(u ^ v) % 64 + 1},{sign}\\n" for u, v in edges] for sign in (1, -1)]
with open(path, "ab", buffering=0) as file:
    begin, done = time.perf_counter(), 0
    while done < rate * seconds:
        first, sign = done % len(edges), done // len(edges) % 2
        rows = texts[sign][first : first + chunk]
        file.write("".join(rows).encode())
        done += len(rows)
        time.sleep(max(0.0, begin + done / rate - time.perf_counter()))
"""


def bars(*, quick: bool) -> Iterator[Bar]:
    """Ask all three."""
    name, batches, followed, seconds = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        rows = (*_durable(name, batches, Path(folder)), *_followed(followed, seconds, Path(folder)))
    # On a tiny graph, a commit and the opening of files are all there is.
    yield from (replace(bar, limit=None) for bar in rows) if quick else rows


def _durable(name: str, count: int, folder: Path) -> Iterator[Bar]:
    stream = workload(generate(name), batches=count, size=SIZE if count > QUICK[1] else 20, seed=1)
    source = int(np.argmax(np.bincount(generate(name).source)))
    plain = Engine(stream.graph(), SSSP(source), threads=1)
    saved = {durability: Engine(plain.graph.copy(), SSSP(source), threads=1) for durability in DURABILITIES}
    for durability, engine in saved.items():
        engine.save(folder / durability, durability=durability)
    times: dict[str, list[float]] = {name: [] for name in ("without", *DURABILITIES)}
    for batch in stream:
        for how, engine in {"without": plain, **saved}.items():
            begin = perf_counter()
            engine.apply(batch)
            times[how].append(perf_counter() - begin)
    without = median(times["without"])
    yield Bar(f"a batch of {SIZE:,} on {name}, without a state", without * 1e3, "ms")
    for durability in DURABILITIES:
        limit = DURABLE if durability == "batch" else None
        title = f'{durability}: a batch with durability="{durability}" over one without a state'
        yield Bar(title, median(times[durability]) / without, "x", limit)
    del plain
    engine = saved.pop("batch")
    engine.save(folder / "batch")
    values = engine.values
    engine.close()
    for other in saved.values():
        other.close()
    saved.clear()
    begin = perf_counter()
    again = Engine.open(folder / "batch", threads=1)
    opening = perf_counter() - begin
    assert np.array_equal(again.values, values)
    again.close()
    begin = perf_counter()
    Engine(grapin.load(name, seed=0), SSSP(source), threads=1)
    scratch = perf_counter() - begin
    size = sum(path.stat().st_size for path in (folder / "batch").iterdir())
    yield Bar(f"the state of {name} on disk", size / 1e6, "MB")
    yield Bar(f"opening: a saved {name} over loading and computing it", opening / scratch, "x", OPENING)


def _followed(name: str, seconds: int, folder: Path) -> Iterator[Bar]:
    graph = grapin.load(name, seed=0)
    engine = Engine(graph, SSSP(int(np.argmax(graph.snapshot().out.degrees))), threads=1)
    head = "source,target,weight,change\n"
    (folder / "first.csv").write_text(f"{head}0,1,1,1\n0,1,,-1\n")
    first = Live(folder / "first.csv", size=1, seconds=WAIT)
    for _ in zip(range(2), Session(engine, first), strict=False):  # compiled, imported, in memory
        pass
    first.stop()
    path = folder / "rows.csv"
    path.write_text(head)
    writer = subprocess.Popen(  # noqa: S603 - the text above
        [sys.executable, "-c", WRITER, path, *map(str, (graph.bound, RATE, seconds))]
    )
    stream = Live(path, size=SIZE, seconds=WAIT, until=lambda: writer.poll() is not None)
    session = Session(engine, stream, keep=100)
    session.run()
    writer.wait()
    waited = session.latencies.to_dict()
    yield Bar(f"rows followed on {name}, batches", session.applied, "batches")
    for rank, value in waited.items():
        limit = P99 if rank == "p99" else None
        yield Bar(
            f"{rank} from a row to fresh SSSP, {RATE:,} rows a second on {name}", value * 1e3, "ms", limit
        )


def _answer(bars: Sequence[Bar]) -> str:
    parts = [
        told(
            "a durable batch takes {} times as long as one without a state",
            span(figures(bars, "", "batch: "), digits=3),
        ),
        told("opening takes {} of loading and computing", span(figures(bars, "", "opening: "), digits=2)),
        told("p99 from a row to a fresh answer is {}", span(figures(bars, "", "p99 from"), "ms")),
    ]
    return sentence("; ".join(parts), kept(bars))


EXPERIMENT = Experiment(
    name="state",
    question="What do durable batches cost, opening what was saved, and following rows as they are written?",
    measure=bars,
    answer=_answer,
    configuration={"graph": FULL[0], "batches": FULL[1], "size": SIZE, "rate": RATE, "seconds": FULL[3]},
)
