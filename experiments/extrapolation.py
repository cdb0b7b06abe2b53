"""How far off is a prediction for a graph that was not run? One that can be run is predicted from smaller ones.

Smaller graphs of the family are run with GPU memory and cache scaled to the same part of the graph, and extrapolated as
`grapin whatif --from` does it; then the large one is run, and both are compared.
"""

from collections.abc import Sequence
from typing import Any

from experiments.lib.bars import Bar, figures, percents, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.cli.recording import record
from grapin.sim.extrapolate import extrapolate, scaled
from grapin.sim.families import members, nominal_size
from grapin.sim.predict import combine, sweep
from grapin.sim.prediction import Prediction

FULL = ("rmat:19:16", "rmat:13..16")
QUICK = ("rmat:8:8", "rmat:5..7")
SYSTEMS = ("bounded", "grapin", "grapin-recomp", "hytgraph-icde", "subway-sync")
CACHE = "10%"
DOUBLINGS = "doublings beyond the largest graph that was run"
WORKLOAD: dict[str, Any] = {
    "name": "sssp",
    "source": "auto",
    "threads": 1,
    "batches": 5,
    "insertions": 0.5,
    "updates": None,
    "undirected": None,
    "weights": "keep",
    "seed": 1,
}


def bars(*, quick: bool) -> list[Bar]:
    """Predict the large graph, run it, and compare."""
    target, smaller = QUICK if quick else FULL
    names = members(target, smaller)
    combinations = combine(["a5000"], SYSTEMS, [CACHE])
    repairs = list(dict.fromkeys(one.system.repair for one in combinations))
    size = nominal_size(target)

    def predictions(name: str) -> list[Prediction]:
        recording = record(name, repairs, batch_size=20 if quick else 1000, **WORKLOAD)
        ratio = nominal_size(name) / size
        return sweep(recording.traces, [scaled(one, ratio) for one in combinations])

    rows = [predictions(name) for name in names]
    found: list[Bar] = []
    for place, real in enumerate(predictions(target)):
        guess = extrapolate([nominal_size(name) for name in names], [row[place] for row in rows], size)
        stated = f"stated for one doubling: bytes {guess.bytes_error:.3f}, time {guess.seconds_error:.3f}"
        predicted = guess.prediction
        pairs = {
            "bytes": (predicted.total.bytes, real.total.bytes),
            "time": (predicted.seconds, real.seconds),
        }
        for what, (ours, theirs) in pairs.items():
            off = abs(ours / theirs - 1)
            found.append(Bar(f"{target} under {real.system}: {what} off by", off, "of it", None, stated))
    return [*found, Bar(f"{target}: {DOUBLINGS}", guess.doublings, "doublings")]


def _answer(bars: Sequence[Bar]) -> str:
    beyond = told("{} doublings beyond the largest graph that was run, ", span(figures(bars, DOUBLINGS)))
    off = (percents(figures(bars, f": {what} off by")) for what in ("bytes", "time"))
    return sentence(beyond + told("predicted bytes are {} off, times {}", *off))


EXPERIMENT = Experiment(
    name="extrapolation",
    question="How far off is a prediction from smaller graphs, for one that can be run?",
    measure=bars,
    answer=_answer,
    configuration={"predicted": FULL[0], "from": FULL[1], "systems": SYSTEMS, "cache": CACHE},
)
