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
from grapin.units import format_bytes, format_count, format_seconds

ALL = "all answers"
"""The choice that adds the programs up."""

_KNOWN_AS = {
    "bounded": "bounded (ours)",
    "grapin": "grapin (published)",
    "grapin-recomp": "grapin-recomp (from scratch)",
}


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
    batch: str
    """What a batch is, in a few words."""
    phase_programs: Mapping[str, Sequence[str]]
    """For each way to repair that ran, phase by phase of its predictions, the program whose values it computed."""
    crossings: Sequence[Crossing]
    predictions: Sequence[tuple[Combination, Prediction]]
    edge_bytes: int
    """What the store's arrays of edges take, in both directions, gaps included."""

    @property
    def answers(self) -> tuple[str, ...]:
        """What predictions can be asked for: all programs together, or one of several; first what every system ran."""
        if not all(set(ran) == set(self.programs) for ran in self.phase_programs.values()):
            return tuple(self.programs)
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
        ran = self.phase_programs[self.systems[system].repair]
        kept = [phase for phase, program in enumerate(ran) if program == answer]
        if not kept:
            return None
        return replace(
            whole,
            versions=tuple(whole.versions[phase] for phase in kept),
            phases=tuple(whole.phases[phase] for phase in kept),
        )

    def _repr_html_(self) -> str:
        from grapin.report.page import embed

        return embed(self)

    def verdicts(self) -> list[str]:
        """Say for each program, in one line each, what the first system moves and takes versus the others."""
        machine = next(iter(self.machines))
        return [self._verdict(program, machine) for program in self.programs]

    def _verdict(self, program: str, machine: str) -> str:
        ours, *others = (one for one in self.crossings if one.program == program)
        moved = "".join(
            f", {_known_as(one)} {format_bytes(one.bytes)}{_ratio(ours.bytes, one.bytes, 'much')}"
            for one in others
        )
        mine, *theirs = (self._seconds(machine, one) for one in (ours, *others))
        taken = "".join(f", {format_seconds(seconds)}{_ratio(mine, seconds, 'long')}" for seconds in theirs)
        return (
            f"{program}, {self.batch}: {_known_as(ours)} moves {format_bytes(ours.bytes)} from host to device{moved}. "
            f"Predicted on {machine} with {format_bytes(self.machines[machine].gpu.memory)}: "
            f"{format_seconds(mine)}{taken}."
        )

    def _seconds(self, machine: str, one: Crossing) -> float:
        found = self.prediction(machine, one.system, one.program)
        return 0.0 if found is None else found.seconds_a_batch or 0.0

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


def _known_as(one: Crossing) -> str:
    return _KNOWN_AS.get(one.system, one.system)


def _ratio(ours: float, theirs: float, what: str) -> str:
    """Say what theirs is of ours; nothing where there is nothing to divide by."""
    if not ours or not theirs:
        return ""
    times = theirs / ours
    return f" ({format_count(round(times)) if times >= 100 else f'{times:.3g}'} times as {what})"
