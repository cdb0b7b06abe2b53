"""`Findings`: all that a report tells, as values; where they come from is the command's business."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean, median

from grapin.counters import REQUEST_SIZES, Counters
from grapin.sim.machine import Machine
from grapin.sim.predict import Combination
from grapin.sim.prediction import Prediction
from grapin.system import System

ALL = "all answers"
"""The choice that adds the programs up."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """What keeping one answer fresh under one system took, batch by batch, as the run counted it."""

    program: str
    system: str
    seconds: Sequence[float]
    """By batch, on the device that ran it."""
    counters: Sequence[Counters]
    """By batch."""
    edges: int
    """In the graph, as the last batch left it."""

    @property
    def median_seconds(self) -> float:
        """A batch's time; what the first one compiles does not disturb a median."""
        return median(self.seconds)

    @property
    def passes(self) -> float:
        """Edges read a batch, over all edges."""
        return mean(one.edges for one in self.counters) / max(1, self.edges)

    @property
    def bytes(self) -> float:
        """What crosses the link a batch."""
        return mean(one.link_bytes for one in self.counters)

    @property
    def requests(self) -> Mapping[int, float]:
        """Requests a batch, by size."""
        return {size: mean(one.requests[size] for one in self.counters) for size in REQUEST_SIZES}


@dataclass(frozen=True, eq=False)
class Findings:
    """One workload: what ran, what was checked, what crossed the link, and what was predicted for it."""

    graph: str
    """What was read or generated, as the user named it."""
    facts: Mapping[str, str]
    """What was run, a few words each."""
    checks: Sequence[str]
    """What was held against what; all of it was found right, or there would be no report."""
    programs: Sequence[str]
    phase_programs: Sequence[int]
    """For each phase of the predictions, whose values it computed: a place in `programs`."""
    crossings: Sequence[Crossing]
    predictions: Sequence[tuple[Combination, Prediction]]
    edge_bytes: int
    """What the store's arrays of edges take, in both directions, gaps included."""

    @property
    def answers(self) -> tuple[str, ...]:
        """What predictions can be asked for: all programs together, or one of several."""
        return (ALL, *self.programs) if len(self.programs) > 1 else (ALL,)

    @cached_property
    def machines(self) -> dict[str, Machine]:
        """The machines that were predicted for, by name, in the order asked."""
        return {one.machine.name: one.machine for one, _ in self.predictions}

    @cached_property
    def systems(self) -> dict[str, System]:
        """The systems that were predicted, by name, in the order asked."""
        return {one.system.name: one.system for one, _ in self.predictions}

    @cached_property
    def caches(self) -> tuple[str, ...]:
        """The sizes of cache that were tried; systems without a cache have only the first, `none`."""
        return tuple(dict.fromkeys(cache_label(one) for one, _ in self.predictions))

    def prediction(self, machine: str, system: str, answer: str, cache: str = "none") -> Prediction | None:
        """Return what was predicted for one choice; None if it was not tried."""
        whole = self._by_choice.get((machine, system, cache))
        if whole is None or answer == ALL:
            return whole
        place = list(self.programs).index(answer)
        kept = [phase for phase, program in enumerate(self.phase_programs) if program == place]
        return replace(
            whole,
            versions=tuple(whole.versions[phase] for phase in kept),
            phases=tuple(whole.phases[phase] for phase in kept),
        )

    @cached_property
    def _by_choice(self) -> dict[tuple[str, str, str], Prediction]:
        return {
            (one.machine.name, one.system.name, cache_label(one)): prediction
            for one, prediction in self.predictions
        }


def batch_count(prediction: Prediction) -> int:
    """Return how many batches a prediction's totals are of; the start is none of them."""
    return max(1, len(set(prediction.versions)) - 1)


def cache_label(one: Combination) -> str:
    """Name a cache as it was asked for."""
    return "none" if one.cache is None else str(one.cache)
