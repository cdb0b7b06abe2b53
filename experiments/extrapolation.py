"""How far off is a prediction for a graph that was not run? Ones that can be run are predicted from smaller ones.

Graphs of two families, R-MAT and a web graph's list of degrees, are predicted three doublings beyond the largest that
is run, as `grapin whatif` does it; then they are run, and both are compared: four systems, on a GPU that holds all
edges and on one that holds half of the lists that are read. A setting keeps its limits when its bytes are within 15 %
of the truth and within the error that was stated beforehand, and no wire is below its payload. A setting may be
refused; at most three of the sixteen may.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.lib.bars import DATA, Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.cli.recording import record
from grapin.cli.whatif import Family, run_member
from grapin.files import load_edges
from grapin.files.write import write_edges
from grapin.sim.extrapolate import Extrapolated, predict_large
from grapin.sim.families import nominal_size, sampled_graph
from grapin.sim.predict import combine, sweep
from grapin.sim.prediction import Prediction

RMAT, LIST = "rmat:18:16", "web-NotreDame.txt.gz"
QUICK = "rmat:10:8"
SYSTEMS = ("bounded", "grapin-zc", "grapin-page", "emogi")
ROOM = {"fits": 2.5, "twice too large": 0.5}
"""GPU memory over the bytes of the lists that are read, ids and weights."""
BEYOND = 3
"""Doublings from the largest graph that is run to the one that is predicted."""
MEMBERS = 6
WITHIN = 15.0
MOST_REFUSED = 3
OFF, STATED, WIRE = "bytes off by", "bytes off, over the error stated", "payload over wire"
REFUSED = "settings refused"
WORKLOAD: dict[str, Any] = {
    "name": "sssp",
    "source": "auto",
    "threads": 1,
    "batches": 3,
    "insertions": 0.5,
    "updates": None,
    "directed": None,
    "weights": "keep",
    "seed": 1,
}


def bars(*, quick: bool) -> Iterator[Bar]:
    """Predict the large graphs, run them, and compare."""
    workload = WORKLOAD | {"batch_size": 20 if quick else 1000}
    refused = settings = 0
    with TemporaryDirectory(prefix="grapin-") as folder:
        for family, sized in _families(Path(folder), quick=quick):
            name = sized.pop(0.0)
            for room, real, found in _compared(family, name, sized, workload):
                settings += 1
                refused += bool(found.refusal)
                yield from _rows(f"{_short(name)}, {real.system}, {room}", real, found, quick=quick)
    yield Bar(REFUSED, refused, f"of {settings}", None if quick else MOST_REFUSED)


def _families(folder: Path, *, quick: bool) -> Iterator[tuple[Family, dict[float, str]]]:
    """Yield each family with the graphs to run by size; the large one, which is the truth, has size 0."""
    target = QUICK if quick else RMAT
    kind, scale, factor = target.split(":")
    size = nominal_size(target)
    names = [f"{kind}:{int(scale) - BEYOND - step}:{factor}" for step in range(4 if quick else MEMBERS)]
    yield Family(size, size), {0.0: target} | {float(nominal_size(name)): name for name in names}
    if quick or not (DATA / LIST).is_file():
        return
    edges = load_edges(DATA / LIST)
    degrees = np.sort(np.bincount(edges.source)).astype(np.int64)
    sized: dict[float, str] = {}
    for step in (0, *range(BEYOND, BEYOND + MEMBERS)):
        vertices = len(degrees) >> step
        file = str(folder / f"degrees of web-NotreDame, {vertices} vertices.npz")
        write_edges(sampled_graph(degrees, vertices, WORKLOAD["seed"]), file)
        sized[float(vertices) if step else 0.0] = file
    yield Family(len(degrees), int(degrees.sum())), sized


def _compared(
    family: Family, target: str, sized: dict[float, str], workload: dict[str, Any]
) -> Iterator[tuple[str, Prediction, Extrapolated]]:
    systems = combine(["a5000"], SYSTEMS)
    repairs = list(dict.fromkeys(one.system.repair for one in systems))
    truth = record(target, repairs, **workload).traces
    members = [run_member(name, size, family, repairs, workload) for size, name in sized.items()]
    lists = 8 * int(next(iter(truth.values())).phases["out_slots"][0])
    for room, part in ROOM.items():
        memory = max(2**21, int(part * lists))
        some = combine(["a5000"], SYSTEMS, settings=[f"gpu.memory={memory}"])
        found = predict_large(members, some, family.size, workload["batch_size"])
        yield from ((room, *pair) for pair in zip(sweep(truth, some), found, strict=True))


def _rows(name: str, real: Prediction, found: Extrapolated, *, quick: bool) -> Iterator[Bar]:
    if found.refusal:
        yield Bar(f"{name}: refused", 1.0, "settings", None, found.refusal)
        return
    guess = found.prediction
    off = abs(guess.total.bytes / real.total.bytes - 1)
    slow = abs(guess.seconds / real.seconds - 1)
    remark = (
        f"stated {100 * found.bytes_error:.3g} %; time {100 * slow:.3g} % off, stated "
        f"{100 * found.seconds_error:.3g} %; the truth moves {real.total.amplification:.3g} bytes for each that is read"
    )
    yield Bar(f"{name}: {OFF}", 100 * off, "%", None if quick else WITHIN, remark)
    yield Bar(f"{name}: {STATED}", off / found.bytes_error, "x", None if quick else 1.0)
    yield Bar(f"{name}: {WIRE}", guess.total.bytes / guess.total.wire_to_device, "x", 1.0)


def _short(name: str) -> str:
    return Path(name).stem.partition(",")[0]


def _answer(bars: Sequence[Bar]) -> str:
    off = figures(bars, f": {OFF}")
    (refused,) = (bar for bar in bars if bar.name == REFUSED)
    beyond = f"{BEYOND} doublings beyond the largest graph that was run, "
    said = told("predicted bytes are {} % off in {} settings, ", span(off), str(len(off)))
    return sentence(f"{beyond}{said}{refused.figure:g} refused", kept(bars))


EXPERIMENT = Experiment(
    name="extrapolation",
    question="How far off is a prediction from smaller graphs, for one that can be run?",
    measure=bars,
    answer=_answer,
    configuration={
        "predicted": [RMAT, f"degrees of {LIST}"],
        "systems": SYSTEMS,
        "batches": WORKLOAD["batches"],
    },
)
