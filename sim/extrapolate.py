"""Extrapolation: a graph too large to run is predicted from smaller ones of its family.

Each small graph says what it can of the large one: its trace is laid side by side (`tiling`) until it is as long as the
large graph's would be, and replayed on the machine as it is. What it cannot say is how lists, rounds and reads change
with the size; for that the predictions are taken apart into what is physical about them (`factors`), and each factor is
followed (`trend`) from the small graphs to the large one.

Copies stop where a trace is as long as can be replayed in reasonable time. From there on the machine is made smaller
with what is left: memory and cache, and for unified memory the warps in flight and the faults of a batch, so that a
batch still fills as small a part of memory as it does there; what comes out is multiplied. A memory of few blocks or a
batch of few faults says nothing, and is refused.

The error is measured, not guessed: graphs that were run are predicted from those two and three doublings smaller in
just this way, on a machine scaled to them, and the error is taken to grow with every further doubling. It is never less
than how far trends lead away from what the largest graph says of the large one: a slope may be chance. What is not
believed is refused with the reason.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from grapin.cache.settings import CacheSettings, read_settings
from grapin.counters import Counters
from grapin.errors import InvalidArgument
from grapin.sim.factors import AWAY, FLAT, PARTS_OF_ONE, costs_of, factors_of, follow
from grapin.sim.families import tiled
from grapin.sim.predict import Combination, edge_bytes, sweep
from grapin.sim.prediction import Costs, Prediction, Seconds
from grapin.system import Unified
from grapin.trace import Trace
from grapin.units import format_bytes

SPAN = 3
"""Doublings that the sizes must span, so that the largest can be told from one three doublings smaller."""
MOST_LISTS = 4_000_000
"""Lists of the longest trace that is laid out: a replay that thrashes takes ten seconds for them."""
LEAST_BLOCKS = 32
"""Blocks of a machine made smaller: with 32 and more, bytes moved were within 5 % of those with 276, at 2x."""
LEAST_BATCH = 2
"""Faults of a batch of a machine made smaller."""
WORST = 0.5
"""A figure that may be off by more than this part of it is not printed."""
FARTHEST = 3
"""How many times the doublings that were run may lie beyond them."""
LOCAL = "bounded"
"""The repair whose batches read what they change, however large the graph is."""
_MARGIN = 1.5
"""The worst of a handful of misses is not the worst there is."""
_LEAST_ERROR = 0.01
"""What each doubling may miss at the least, whatever was missed."""
_TOLD = 2
"""How many of the largest graphs are told from smaller ones to know the error."""


@dataclass(frozen=True)
class Member:
    """A small graph of a family that was run."""

    size: float
    traces: Mapping[str, Trace]
    """By repair."""
    batches: Mapping[str, float]
    """Mutations of each of its batches, by repair too."""


@dataclass(frozen=True)
class Check:
    """A graph that was run, told from smaller ones."""

    doublings: float
    """How much larger it is than the largest of these."""
    bytes_error: float
    seconds_error: float


@dataclass(frozen=True)
class Extrapolated:
    """A prediction for a size that was not run."""

    prediction: Prediction
    size: float
    sizes: tuple[float, ...]
    """The sizes that were run."""
    checks: tuple[Check, ...]
    bytes_reach: float = 0.0
    """By which part the bytes differ from what the largest graph that was run says of this size: how far trends go."""
    seconds_reach: float = 0.0
    refusal: str = ""
    """Why the prediction is not believed, in one sentence; empty where it is."""

    @property
    def doublings(self) -> float:
        """How far beyond the largest that was run: 3 is eight times as large."""
        return math.log2(self.size / max(self.sizes))

    @property
    def bytes_error(self) -> float:
        """By which part of it the bytes may be off at this distance."""
        return self._error([one.bytes_error for one in self.checks], self.bytes_reach)

    @property
    def seconds_error(self) -> float:
        """The same of the time."""
        return self._error([one.seconds_error for one in self.checks], self.seconds_reach)

    def _error(self, missed: Sequence[float], reach: float) -> float:
        if self.doublings <= 0:
            return 0.0  # it was run
        pairs = zip(missed, self.checks, strict=True)
        worst = max((off * max(1.0, self.doublings / one.doublings) for off, one in pairs), default=0.0)
        return max(_MARGIN * worst, reach, _LEAST_ERROR * self.doublings)


def extrapolate(
    sizes: Sequence[float], predictions: Sequence[Prediction], size: float, *, local: bool = False
) -> Prediction:
    """Return what a graph of this size costs, from what each smaller one says of it, given by size.

    `local` is for a system whose batches read what they change: much depends on the batch, and little on the graph.
    """
    order = sorted(range(len(sizes)), key=lambda place: sizes[place])
    run, known = [sizes[place] for place in order], [predictions[place] for place in order]
    first = known[-1]
    if size <= run[-1]:
        return first
    batches = len(set(first.versions)) - 1
    start = _followed(run, [one.start for one in known], size, first.rate)
    if not batches:
        return replace(first, versions=(0,), phases=(start,))
    mean = [_times(one.batches, 1 / batches, rounds=1 / batches) for one in known]
    batch = _followed(run, mean, size, first.rate, way=FLAT if local else None)
    return replace(first, versions=tuple(range(batches + 1)), phases=(start, *([batch] * batches)))


def predict_large(
    members: Sequence[Member],
    combinations: Sequence[Combination],
    size: float,
    batch: float,
    *,
    cluster: str | None = None,
    advance: Callable[[float], None] = lambda _: None,
) -> list[Extrapolated]:
    """Predict a graph of this size, changed by batches of so many mutations, under each combination."""
    members = sorted(members, key=lambda one: one.size)
    combinations = [_with_memory(one, members[-1], size) for one in combinations]
    sizes = tuple(one.size for one in members)
    check_sizes(sizes, size)
    telling = _Telling(members, combinations, size, cluster)
    found, largest = telling.predictions(members, size, dict.fromkeys(members[-1].traces, batch))
    advance(1)
    checks: list[list[Check]] = [[] for _ in combinations]
    for told, smaller in _told(members):
        real = telling.own(told)
        says = telling.each(smaller, told.size, told.batches)
        for away in AWAY:
            some = [place for place, one in enumerate(smaller) if _apart(one, told) >= away - 0.1]
            if not some:
                continue
            known = [smaller[place].size for place in some]
            for column, truth in enumerate(real):
                local = repairs_locally(combinations[column])
                guess = extrapolate(known, [says[place][column] for place in some], told.size, local=local)
                checks[column].append(_check(guess, truth, math.log2(told.size / known[-1])))
        advance(1)
    found = [replace(one, cache=telling.room(two)) for one, two in zip(found, combinations, strict=True)]
    made = []
    for one, prediction, alone, missed in zip(combinations, found, largest, checks, strict=True):
        extrapolated = Extrapolated(
            prediction,
            size,
            sizes,
            tuple(missed),
            _off(alone.total.bytes, prediction.total.bytes),
            _off(alone.seconds, prediction.seconds),
        )
        made.append(_believed(extrapolated, telling.refusal(one, members[-1])))
    return made


def _with_memory(one: Combination, largest: Member, size: float) -> Combination:
    """Return the combination with memory in bytes, where it is a part of the edges of the large graph."""
    edges = edge_bytes(largest.traces[one.system.repair]) * size / largest.size
    return replace(one, machine=one.machine_of(edges), memory_share=None)


def steps(sizes: Sequence[float]) -> int:
    """Return how often `predict_large` calls `advance`."""
    return 1 + len(list(_told([Member(size, {}, {}) for size in sorted(sizes)])))


def check_sizes(sizes: Sequence[float], size: float) -> None:
    """Refuse sizes that are too few or too much alike to tell an error, and one too far beyond them."""
    if len(set(sizes)) <= SPAN or max(sizes) < min(sizes) * 2 ** (SPAN - 0.1):
        shown = ", ".join(f"{one:,.0f}" for one in sorted(sizes))
        raise InvalidArgument(
            f"sizes={shown} must be at least {SPAN + 1} different ones, the largest {2**SPAN} times the smallest, to "
            "tell the error of an extrapolation"
        )
    spanned, beyond = math.log2(max(sizes) / min(sizes)), math.log2(size / max(sizes))
    if beyond > FARTHEST * spanned:
        raise InvalidArgument(
            f"size={size:,.0f} must be at most {FARTHEST * spanned:.0f} doublings beyond the largest that is run, "
            f"{FARTHEST} times what those span, and is {beyond:.1f}: give larger ones with --from"
        )


def scaled(one: Combination, memory: float, size: float = 1.0, *, blocks: bool = False) -> Combination:
    """Return a combination for a smaller graph.

    Memory and cache are as much of it as before. Of unified memory what is in flight, and what the driver serves at a
    time, are as much smaller as the graph; a batch then costs less, because there are as many of them. With `blocks`
    it is blocks that are smaller, as far as a big page lets them be, so that there are as many as before.
    """
    machine, cache, driver = one.machine, one.cache, one.driver
    settings: dict[str, object] = {"gpu.memory": max(1, round(machine.gpu.memory * memory))}
    if isinstance(one.system.transfer, Unified):
        if blocks and size < 1:
            smaller = max(driver.big_page, 2 ** round(math.log2(driver.block * size)))
            driver, size = replace(driver, block=smaller), min(1.0, size * driver.block / smaller)
        if size < 1:
            settings["gpu.multiprocessors"] = max(1, round(machine.gpu.multiprocessors * size))
            settings["host.fault_batch"] = machine.host.fault_batch * size
            driver = replace(driver, batch=max(LEAST_BATCH, round(driver.batch * size)))
        whole = machine.gpu.memory // one.driver.block * one.driver.block  # what the driver can give out
        settings["gpu.memory"] = max(1, round(whole * memory / driver.block)) * driver.block
    scaled_machine = machine.with_settings(settings, source="scaled with the graph")
    if isinstance(cache, str) and not cache.strip().endswith("%"):
        cache = read_settings(cache, policy=one.system.cache, edge_bytes=0)
    if isinstance(cache, CacheSettings):
        cache = replace(cache, capacity=int(cache.capacity * memory))
    elif isinstance(cache, int):
        cache = int(cache * memory)
    return replace(one, machine=replace(scaled_machine, name=machine.name), cache=cache, driver=driver)


class _Telling:
    """What small graphs say of larger ones, on machines scaled to these."""

    def __init__(
        self,
        members: Sequence[Member],
        combinations: Sequence[Combination],
        size: float,
        cluster: str | None,
    ) -> None:
        self._members = members
        self._combinations = combinations
        self._size = size
        self._cluster = cluster
        self._slots = _slots_at(members, size)

    def predictions(
        self, members: Sequence[Member], size: float, batches: Mapping[str, float]
    ) -> tuple[list[Prediction], list[Prediction]]:
        """Return the prediction for a size under each combination, and what the largest member says of it."""
        says = self.each(members, size, batches)
        found = [
            extrapolate([member.size for member in members], list(column), size, local=repairs_locally(one))
            for one, column in zip(self._combinations, zip(*says, strict=True), strict=True)
        ]
        return found, says[-1]

    def own(self, member: Member) -> list[Prediction]:
        """Return what a graph that was run costs itself, on the machine scaled to it."""
        memory, part = _slots(member) / self._slots, member.size / self._size
        some = [scaled(one, memory, part, blocks=True) for one in self._combinations]
        return sweep(member.traces, some, cluster=self._cluster)

    def each(
        self, members: Sequence[Member], size: float, batches: Mapping[str, float]
    ) -> list[list[Prediction]]:
        """Return what each member says of a size, under each combination."""
        return [self._says(one, size, batches) for one in members]

    def _says(self, member: Member, size: float, batches: Mapping[str, float]) -> list[Prediction]:
        copies, left = laid_out(member, size)
        changed = {repair: batches[repair] / own for repair, own in member.batches.items()}
        # Memory is as much of the copies as it is of the large graph, whose lists have other gaps.
        memory = copies * _slots(member) / self._slots
        told = size < self._size
        some = [scaled(one, memory, size / self._size / left, blocks=told) for one in self._combinations]
        traces = {
            repair: tiled(
                trace,
                copies,
                changed=changed[repair] / (1 if repair == LOCAL else left),
                alike=repair != LOCAL,
            )
            for repair, trace in member.traces.items()
        }
        found = sweep(traces, some, cluster=self._cluster)
        local = changed.get(LOCAL, 1.0)
        local /= min(copies, max(1, round(local)))
        return [
            _extended(one, left, local if repairs_locally(combination) else left)
            for one, combination in zip(found, self._combinations, strict=True)
        ]

    def room(self, one: Combination) -> str:
        """Return what the cache is called on the large graph; copies stand for it in one of another size."""
        if one.cache is None or one.system.cache == "none":
            return "none"
        largest = self._members[-1]
        edges = edge_bytes(largest.traces[one.system.repair]) * self._size / largest.size
        kept = read_settings(one.cache, policy=one.system.cache, edge_bytes=round(edges))
        return f"{kept.policy} {format_bytes(kept.capacity)}"

    def refusal(self, one: Combination, largest: Member) -> str:
        """Say why what the largest member says is not believed; nothing where it is."""
        copies, left = laid_out(largest, self._size)
        if not isinstance(one.system.transfer, Unified) or left == 1:
            return ""
        blocks = one.machine.gpu.memory * copies * _slots(largest) / self._slots / one.driver.block
        if blocks < LEAST_BLOCKS:
            return (
                f"a replay of it in reasonable time leaves {blocks:.0f} blocks of {one.machine.gpu.name}'s memory, and "
                f"fewer than {LEAST_BLOCKS} say nothing of many: ask for fewer --batches"
            )
        if one.driver.batch / left < LEAST_BATCH:
            return (
                f"it is {left:.0f} times what can be replayed in reasonable time, and a batch of "
                f"{one.driver.batch} faults cannot be made as much smaller: ask for fewer --batches"
            )
        return ""


def laid_out(member: Member, size: float) -> tuple[int, float]:
    """Return how many copies of a member are laid out for a size, and how many times that is still too small."""
    wanted = size / member.size
    lists = max((len(trace) for trace in member.traces.values()), default=1)
    copies = max(1, min(int(wanted + 1e-9), MOST_LISTS // max(1, lists)))
    return copies, max(1.0, wanted / copies)


def _told(members: Sequence[Member]) -> Iterator[tuple[Member, list[Member]]]:
    """Yield the largest members, each with those that are two doublings smaller and more."""
    for told in members[-_TOLD:]:
        smaller = [one for one in members if _apart(one, told) >= AWAY[0] - 0.1]
        if smaller:
            yield told, smaller


def _apart(one: Member, other: Member) -> float:
    return math.log2(other.size / one.size)


def _slots(member: Member) -> float:
    """Return the elements of a member's edge arrays, gaps included."""
    phases = next(iter(member.traces.values())).phases
    return float(phases["out_slots"][0] + phases["in_slots"][0])


def _slots_at(members: Sequence[Member], size: float) -> float:
    """Return how many there would be at a size."""
    sizes = [one.size for one in members]
    return size * follow(sizes, [_slots(one) / one.size for one in members], size)


def repairs_locally(one: Combination) -> bool:
    """Tell whether a system's batches read what they change, however large the graph is."""
    return one.system.repair == LOCAL


def _followed(
    sizes: Sequence[float], costs: Sequence[Costs], size: float, rate: float, way: float | None = None
) -> Costs:
    apart = [factors_of(one, rate) for one in costs]
    found = {
        name: follow(sizes, [one[name] for one in apart], size, part=name in PARTS_OF_ONE, way=way)
        for name in apart[0]
    }
    return costs_of(found, rate)


def _extended(one: Prediction, start: float, batches: float) -> Prediction:
    """Return a prediction of which the start and the batches are so many times as large."""
    first = min(one.versions, default=0)
    phases = [
        _times(costs, start if version == first else batches)
        for version, costs in zip(one.versions, one.phases, strict=True)
    ]
    return replace(one, phases=tuple(phases))


def _times(costs: Costs, factor: float, rounds: float = 1.0) -> Costs:
    """Multiply what adds up; rounds and their launches, which wait for each other, by a factor of their own."""
    if factor == rounds == 1.0:
        return costs
    counts: dict[str, Any] = {
        one.name: getattr(costs.counters, one.name) * factor for one in fields(Counters)
    }
    amounts: dict[str, Any] = {"iterations": costs.iterations * rounds}
    amounts |= {
        one.name: getattr(costs, one.name) * factor
        for one in fields(Costs)
        if one.name not in {"counters", "seconds", "iterations"}
    }
    seconds = {one.name: getattr(costs.seconds, one.name) * factor for one in fields(Seconds)}
    seconds["launches"] = costs.seconds.launches * rounds
    return Costs(Counters(**counts), **amounts, seconds=Seconds(**seconds))


def _check(guess: Prediction, real: Prediction, doublings: float) -> Check:
    return Check(doublings, _off(guess.total.bytes, real.total.bytes), _off(guess.seconds, real.seconds))


def _believed(one: Extrapolated, refusal: str) -> Extrapolated:
    """Refuse what may be too far off."""
    if not refusal and one.bytes_error > WORST:
        refusal = (
            f"its bytes may be off by {one.bytes_error:.0%}, by what smaller graphs missed, and more than {WORST:.0%} "
            "is no figure: give larger graphs with --from"
        )
    return replace(one, refusal=refusal)


def _off(predicted: float, real: float) -> float:
    return abs(predicted - real) / real if real else 0.0
