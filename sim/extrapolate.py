"""Extrapolation: a graph too large to run is predicted from smaller ones of its family.

Each quantity that adds up (requests by size, bytes, iterations, parts of the time) is taken to grow with a power of the
graph's size, as it nearly does within a family, and the power is fitted to the sizes that were run. It is never
negative: what a small batch reads hardly depends on the graph, and chance must not let it vanish. The time on the
link is split first, into what its bytes take at the link's rate and what waiting adds: the first grows with the graph,
the second with the iterations, and one power would fit neither.

Whatever a machine has a fixed amount of is scaled with the graph: a cache that holds a tenth of the large graph has to
hold a tenth of the small ones. `scaled` does that.

The error is measured, not guessed: the largest graph that was run is predicted from the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from grapin.cache.settings import CacheSettings, read_settings
from grapin.counters import Counters
from grapin.errors import InvalidArgument
from grapin.sim.predict import Combination
from grapin.sim.prediction import PARTS, Costs, Prediction, Seconds

FEWEST = 3
"""Sizes: two fix a power, and the third tells how good it is."""
_LEAST_MEMORY = 2 * 2**20
"""What a GPU is left with: one block of unified memory."""
_COUNTED = [one.name for one in fields(Counters)]
_MOVED = ["migrated_bytes", "evicted_bytes", "faults", "wire_to_device", "wire_to_host", "iterations"]
_TIMED = [*PARTS, "hidden"]


@dataclass(frozen=True)
class Extrapolated:
    """A prediction for a size that was not run."""

    prediction: Prediction
    size: float
    sizes: tuple[float, ...]
    """The sizes that were run."""
    bytes_error: float
    """By which part of it the bytes of the largest of them are missed when the others predict it."""
    seconds_error: float

    @property
    def doublings(self) -> float:
        """How far beyond the largest that was run: 3 is eight times as large."""
        return math.log2(self.size / max(self.sizes))


def extrapolate(sizes: Sequence[float], predictions: Sequence[Prediction], size: float) -> Extrapolated:
    """Predict a graph of this size from smaller ones, given by size with the prediction for each."""
    order = sorted(range(len(sizes)), key=lambda place: sizes[place])
    run, known = [sizes[place] for place in order], [predictions[place] for place in order]
    if len(set(run)) < FEWEST:
        raise InvalidArgument(f"sizes={tuple(sizes)} must hold at least {FEWEST} different ones")
    check = _predicted(run[:-1], known[:-1], run[-1])
    return Extrapolated(
        _predicted(run, known, size),
        size,
        tuple(run),
        _off(check.total.bytes, known[-1].total.bytes),
        _off(check.seconds, known[-1].seconds),
    )


def scaled(one: Combination, ratio: float) -> Combination:
    """Return a combination for a graph that is `ratio` times as large: memory and cache are as much of it as before."""
    memory = max(_LEAST_MEMORY, int(one.machine.gpu.memory * ratio))
    machine = one.machine.with_settings({"gpu.memory": memory}, source="scaled with the graph")
    cache = one.cache
    if isinstance(cache, str) and not cache.strip().endswith("%"):
        cache = read_settings(cache, policy=one.system.cache, edge_bytes=0)
    if isinstance(cache, CacheSettings):
        cache = replace(cache, capacity=int(cache.capacity * ratio))
    elif isinstance(cache, int):
        cache = int(cache * ratio)
    return replace(one, machine=replace(machine, name=one.machine.name), cache=cache)


def _predicted(sizes: Sequence[float], known: Sequence[Prediction], size: float) -> Prediction:
    """Predict the start, and one batch that stands for all of them."""
    first = known[0]
    batches = len(set(first.versions)) - 1
    parts = [[_vector(one.start, one.rate) for one in known]]
    if batches:
        parts.append([_vector(one.batches, one.rate) / batches for one in known])
    costs = [_costs(_grown(np.array(sizes), np.array(part), size), first.rate) for part in parts]
    phases = (costs[0], *(costs[1:] * batches))
    return replace(first, versions=tuple(range(batches + 1)), phases=phases)


def _grown(sizes: NDArray[np.float64], values: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Fit a power to each column and evaluate it; what is zero somewhere is taken to be proportional."""
    found: NDArray[np.float64] = values.sum(axis=0) / sizes.sum() * size
    positive = (values > 0).all(axis=0)
    steps = np.log(sizes) - np.log(sizes).mean()
    logarithms = np.log(values[:, positive])
    power = np.maximum(0.0, steps @ logarithms / (steps @ steps))
    found[positive] = np.exp(logarithms.mean(axis=0) + power * (math.log(size) - np.log(sizes).mean()))
    return found


def _vector(costs: Costs, rate: float) -> NDArray[np.float64]:
    """Return all that adds up; of the link's time only what waiting adds to that of the bytes."""
    counted = [getattr(costs.counters, name) for name in _COUNTED]
    moved = [getattr(costs, name) for name in _MOVED]
    timed = [getattr(costs.seconds, name) for name in _TIMED]
    timed[0] = max(0.0, timed[0] - costs.wire_to_device / rate)
    return np.array([*counted, *moved, *timed], np.float64)


def _costs(vector: NDArray[np.float64], rate: float) -> Costs:
    whole = [round(value) for value in vector[: len(_COUNTED) + len(_MOVED)].tolist()]
    moved = dict(zip(_MOVED, whole[len(_COUNTED) :], strict=True))
    timed = dict(zip(_TIMED, vector[len(whole) :].tolist(), strict=True))
    timed["link"] += moved["wire_to_device"] / rate
    parts = [timed[part] for part in PARTS]
    timed["hidden"] = min(timed["hidden"], sum(parts) - max(parts))
    return Costs(Counters(*whole[: len(_COUNTED)]), **moved, seconds=Seconds(**timed))


def _off(predicted: float, real: float) -> float:
    return abs(predicted - real) / real if real else 0.0
