"""The fast replay of zero-copy reads: a trace's lists through a GPU's warps and the stations of a path.

Answers come in the order of the requests, so warps go on in the order in which they asked: they form a queue. The first
one makes its next step and goes to the end, with the list it reads or with the next one; that is all there is to
simulate, and it is what the event model does, to the femtosecond.

Zero-copy: warps read lists from host memory, request by request, unless the device has a copy.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache.replay import replay as replay_cache
from grapin.cache.settings import CacheSettings
from grapin.compiled import compiled, kernel
from grapin.counters import REQUEST_SIZES, Counters
from grapin.errors import InvalidArgument
from grapin.sim.machine import Machine
from grapin.sim.path import KINDS, Path, read_requests, to_seconds
from grapin.sim.prediction import (
    Costs,
    Iterations,
    Seconds,
    costs_of,
    device_seconds,
    in_streams,
    read_counters,
)
from grapin.sim.stations import (
    Replayed,
    Stations,
    begin_again,
    link_seconds,
    mix_ticks,
    replay_threads,
    send,
    wire_bytes,
)
from grapin.sim.timeline import Timeline
from grapin.system import System, ZeroCopy
from grapin.trace import Trace
from grapin.validation import check_integer

ALONE = 2048
"""Elements up to which our CUDA kernels leave a list to one warp (`grapin.kernels.cuda.walk.LONG`)."""
ANY_LENGTH = 2**31
"""As `alone`: a warp a list, however long it is, as in EMOGI."""

_POSITION, _END, _ARRAYS, _READY, _WARP = range(5)
"""What is known of a warp: which elements it reads next and last, of how many arrays, and from when on it may."""
_LAST_ROW, _TICKS, _BEFORE_KINDS = range(3)
"""What is found out of an iteration: where it ends in the trace, how long it takes; then its requests by kind."""
_BLOCK = 1024
"""Iterations that are replayed at a time."""


def replay_zero_copy(
    trace: Trace,
    path: Path,
    *,
    aligned: bool = True,
    alone: int = ALONE,
    held: NDArray[np.bool_] | None = None,
) -> Replayed:
    """Say what the reads of a trace take when warps make them request by request over the link.

    Args:
        trace: what was read.
        path: the machine's way to host memory.
        aligned: whether warps begin at the line a list starts in (see `grapin.counters.count_reads`).
        alone: up to so many elements a list is one warp's, which waits for each 128 bytes before it goes on; longer
            ones are shared by all warps that are free.
        held: which reads need no request, because the device has a copy of the list; None stands for none of them.

    Memory is that of the result, one row per iteration.
    """
    check_integer("alone", alone, least=0)
    held = check_held(trace, held)
    stations = Stations(path, path.request_costs, path.tags)
    warps = np.empty((path.warps, _WARP), np.int64)
    blocks = [np.empty((0, _BEFORE_KINDS + KINDS), np.int64)]
    row, rows = 0, len(trace.reads["start"])
    while row < rows:
        block = np.zeros((_BLOCK, _BEFORE_KINDS + KINDS), np.int64)
        row, ended = _replay(
            trace.reads["phase"],
            trace.reads["iteration"],
            trace.reads["start"],
            trace.reads["length"],
            trace.reads["arrays"],
            held,
            aligned,
            alone,
            stations.costs,
            stations.delays,
            stations.answered,
            stations.credited,
            stations.state,
            warps,
            row,
            block,
        )
        blocks.append(block[:ended])
    table = np.concatenate(blocks)
    last, ticks, kinds = table[:, _LAST_ROW], table[:, _TICKS] + path.launch, table[:, _BEFORE_KINDS:]
    return Replayed(path, trace.reads["phase"][last], trace.reads["iteration"][last], ticks, kinds)


@compiled
def _replay(
    phases: Any,
    iterations: Any,
    starts: Any,
    lengths: Any,
    arrays: Any,
    held: Any,
    aligned: Any,
    alone: Any,
    costs: Any,
    delays: Any,
    answered: Any,
    credited: Any,
    state: Any,
    warps: Any,
    row: Any,
    results: Any,
) -> tuple[int, int]:
    """Replay iterations from a row on, as many as there is room for; return where to go on and how many they were."""
    ended = 0
    while row < phases.size and ended < len(results):
        end = row + 1
        while end < phases.size and phases[end] == phases[row] and iterations[end] == iterations[row]:
            end += 1
        begin_again(answered, credited, state)
        element = 0
        waiting = 0
        while waiting < len(warps):
            row, element = _take(
                warps, waiting, 0, starts, lengths, arrays, held, aligned, alone, row, element, end
            )
            if warps[waiting, _ARRAYS] == 0:
                break
            waiting += 1
        answer = 0
        first = 0
        while waiting:
            position, piece_end = warps[first, _POSITION], warps[first, _END]
            count, ready = warps[first, _ARRAYS], warps[first, _READY]
            step_end = _step_end(position, piece_end, aligned)
            line_end = min(step_end, (position | 31) + 1)
            for _ in range(count):
                code = _code(position, line_end)
                results[ended, _BEFORE_KINDS + code] += 1
                answer = send(code, ready, costs, delays, answered, credited, state)
                if line_end < step_end:
                    code = _code(line_end, step_end)
                    results[ended, _BEFORE_KINDS + code] += 1
                    answer = send(code, ready, costs, delays, answered, credited, state)
            last = first + waiting if first + waiting < len(warps) else first + waiting - len(warps)
            if step_end < piece_end:
                warps[last, _POSITION], warps[last, _END] = step_end, piece_end
                warps[last, _ARRAYS], warps[last, _READY] = count, answer
            else:
                row, element = _take(
                    warps, last, answer, starts, lengths, arrays, held, aligned, alone, row, element, end
                )
                if warps[last, _ARRAYS] == 0:
                    waiting -= 1
            first = first + 1 if first + 1 < len(warps) else 0
        results[ended, _LAST_ROW], results[ended, _TICKS] = end - 1, answer
        ended += 1
        row = end
    return row, ended


@kernel
def _take(
    warps: Any,
    place: Any,
    ready: Any,
    starts: Any,
    lengths: Any,
    arrays: Any,
    held: Any,
    aligned: Any,
    alone: Any,
    row: Any,
    element: Any,
    end: Any,
) -> Any:
    """Give a warp the next list, or the next step of a list that is shared; it has no arrays where there is none left.

    Returns from which element of which row on lists are left.
    """
    warps[place, _ARRAYS] = 0
    while row < end and (element >= lengths[row] or arrays[row] == 0 or (held.size and held[row])):
        row += 1
        element = 0
    if row < end:
        start, length = starts[row], np.int64(lengths[row])
        position = start + element
        piece_end = start + length if length <= alone else _step_end(position, start + length, aligned)
        warps[place, _POSITION], warps[place, _END] = position, piece_end
        warps[place, _ARRAYS], warps[place, _READY] = arrays[row], ready
        element = piece_end - start
    return row, element


@kernel
def _step_end(position: Any, end: Any, aligned: Any) -> Any:
    return min(end, (position | 31) + 1 if aligned else position + 32)


@kernel
def _code(first: Any, end: Any) -> Any:
    """Return the code of a request for elements of one line; a sector holds eight of them."""
    sector = (first >> 3) & 3
    return 4 * sector + (((end - 1) >> 3) & 3) - sector


def request_costs(
    trace: Trace,
    system: System,
    machine: Machine,
    cache: CacheSettings | None,
    timeline: Timeline | None,
    **_: Any,
) -> list[Costs]:
    """Return what each phase costs."""
    path = Path(machine)
    if cache is None:
        return _read(trace, Iterations.of(trace), system, path, timeline)
    cached = run_cache(trace, cache)
    costs = _read(cached.trace, Iterations.of(trace, cached.held), system, path, timeline)
    return with_upkeep(costs, path, cached.upkeep)


def _read(
    trace: Trace, iterations: Iterations, system: System, path: Path, timeline: Timeline | None
) -> list[Costs]:
    phases = len(trace.phases["version"])
    replayed = _replayed(trace, system, path, iterations, timeline)
    device = device_seconds(iterations, path.machine)
    return costs_of(
        iterations,
        read_counters(iterations, replayed.sizes, phases),
        in_streams(iterations, path.machine, phases, link=link_seconds(replayed), device=device),
        wire_bytes(replayed),
    )


def _replayed(
    trace: Trace, system: System, path: Path, iterations: Iterations, timeline: Timeline | None
) -> Replayed:
    transfer = system.transfer
    assert isinstance(transfer, ZeroCopy)
    if transfer.access == "naive":
        return replay_threads(trace, path, iterations)
    how: dict[str, Any] = {"aligned": transfer.access == "aligned", "alone": transfer.alone}
    if timeline is None:
        return replay_zero_copy(trace, path, **how)
    from grapin.sim.oracle.zero_copy import replay_events

    return replay_events(trace, path, timeline=timeline, **how)


_PATCH = 32
"""Bytes of one request for mutations that a copy has missed: lists are patched one by one, a sector at a time."""


def with_upkeep(costs: list[Costs], path: Path, upkeep: list[Counters]) -> list[Costs]:
    """Add to each phase what its cache takes; loads are a kernel of their own, and nothing hides them."""
    return [read + _upkeep(path, kept) for read, kept in zip(costs, upkeep, strict=True)]


def _upkeep(path: Path, kept: Counters) -> Costs:
    sizes = np.array([kept.requests[size] for size in REQUEST_SIZES])
    sizes[0] += kept.patch_bytes // _PATCH
    transfer = read_requests(path.machine, dict(zip(REQUEST_SIZES, sizes.tolist(), strict=True)))
    link = to_seconds(int(mix_ticks(path, sizes[None, :])[0]))
    return Costs(
        counters=kept,
        wire_to_device=transfer.down_bytes,
        wire_to_host=transfer.up_bytes,
        seconds=Seconds(link=link, launches=path.machine.gpu.launch if kept.loads else 0.0),
    )


@dataclass(frozen=True, eq=False)
class Cached:
    """What a cache makes of a trace."""

    trace: Trace
    """The reads that are left: `arrays` says how many arrays of a list still cross the link, perhaps none."""
    held: NDArray[np.uint8]
    """How many arrays of each read the device had a copy of."""
    upkeep: list[Counters]
    """What crossed the link for the cache alone, by phase: loads in advance, and patches."""


def run_cache(trace: Trace, settings: CacheSettings) -> Cached:
    """Run a cache over a trace."""
    held, upkeep = [np.empty(0, np.uint8)], []
    for plan, observed in replay_cache(settings, trace.reads, trace.phases, trace.changes):
        patches = Counters(patch_bytes=observed.counters.patch_bytes)
        upkeep.append(patches if plan is None else plan.counters + patches)
        held.append(observed.held)
    rows = np.concatenate(held)
    left = trace.reads["arrays"] - rows
    return Cached(replace(trace, reads=trace.reads | {"arrays": left}), rows, upkeep)


def check_held(trace: Trace, held: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return which rows the device has a copy of, one entry per row, or none at all where None stands for no row."""
    if held is None:
        return np.zeros(0, np.bool_)
    if len(held) != len(trace):
        raise InvalidArgument(
            f"held has {len(held)} rows and must have one for each of the {len(trace)} reads"
        )
    return held
