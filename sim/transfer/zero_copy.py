"""The fast replay of zero-copy reads: a trace's lists through a GPU's warps and the stations of a path.

Answers come in the order of the requests, so warps go on in the order in which they asked: they form a queue. The first
one makes its next step and goes to the end, with the list it reads or with the next one; that is all there is to
simulate, and it is what the event model does, to the femtosecond.

Zero-copy: warps read lists from host memory, request by request, unless the device has a copy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache.settings import CacheSettings
from grapin.compiled import compiled, kernel
from grapin.sim.iterations import Iterations, device_seconds
from grapin.sim.machine import Machine
from grapin.sim.oracle.requests import ALONE, KINDS, check_held
from grapin.sim.path import Path
from grapin.sim.prediction import Costs
from grapin.sim.stations import Replayed, Stations, begin_again, replay_threads, send
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.costs import (
    costs_of,
    in_streams,
    link_seconds,
    read_counters,
    run_cache,
    wire_bytes,
    with_upkeep,
)
from grapin.system import System, ZeroCopy
from grapin.trace import Trace
from grapin.validation import check_integer

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

    Memory is that of the result, one row an iteration.
    """
    check_integer("alone", alone, least=0)
    held = check_held(trace, held)
    stations = Stations(path, path.request_costs, path.tags)
    warps = np.empty((path.warps, _WARP), np.int64)
    blocks = [np.empty((0, _BEFORE_KINDS + KINDS), np.int64)]
    row = 0
    while row < len(trace):
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
