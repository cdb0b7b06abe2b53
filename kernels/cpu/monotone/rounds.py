"""The fixed point in rounds: take the best waiting vertices, let them make their offers, file what improved.

A round usually takes all vertices of the best key, so each vertex settles once and its list is read once. When
weights spread the keys so thin that beginning a round costs more than the round, and so many vertices wait that the
next few are a small part of them, it takes several keys at once; a vertex may then have to offer twice.

A round is pushed or, where all its offers are equal, pulled, by what either is expected to read. One thread runs
round after round until it meets one that is worth sharing (`relax.py`).

The fixed point of a monotone program on one or several threads, from vertices that have yet to make offers.

It serves the first computation, recomputation, and the forward part of large repairs; what it costs depends on
what it reaches. Keys are the same for any number of threads. With several, which of two equally good parents a
vertex gets is chance.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled, compiled_parallel, kernel
from grapin.kernels.cpu.lists import ITERATIONS, TALLY_SIZE, TRACE_FIELDS, grown, write_trace
from grapin.kernels.cpu.monotone import relax
from grapin.kernels.cpu.monotone.buckets import (
    BLOCK,
    BUCKETS,
    NO_BLOCK,
    WAITING,
    detach,
    is_stale,
    lowest,
    new_buckets,
    put,
    release,
    split,
    with_room,
)
from grapin.kernels.cpu.monotone.relax import atomic_minimum, mark_frontier, pull, push, set_bit, survey
from grapin.kernels.rules import LOW, NO_KEY, NO_PARENT, SHIFT, UNREACHED, rebind
from grapin.kernels.unbound import ARRAYS, SIDES, offer

SIZE, WIDTH, PIECES, PULLING, OFFERED, BEST, MERGED, TRACED, LOGGED, PUSH_ONLY, PLAN_SIZE = range(11)
"""Places in a plan: vertices of the round, edges to push or vertices that may pull, pieces it is split into, whether
it is pulled, the offer if it is, the best key waiting, how many vertices may be taken together though their keys
differ; then how much of trace and log is used, and whether rounds must not be pulled."""
MERGE_FACTOR = 16
"""Keys are merged only while so many times as many vertices wait as a round takes."""
LINE_WORDS = 8
"""Words in a cache line: scanning so many vertices costs about as much as reading one edge's target."""
ROW = 16
"""Numbers in a row of `tallies`: two cache lines, so that no two threads write to the same."""


class Stage(NamedTuple):
    """The arrays that rounds work with, kept from one to the next."""

    near: Any
    """The vertices of the round."""
    offsets: Any
    """The number of each one's first edge, counting through the round."""
    found: Any
    """Key above vertex for each improvement, piece by piece."""
    old_keys: Any
    """The key before each improvement, when changes are logged."""
    counts: Any
    """Improvements found in each piece."""
    settled: Any
    """A bit for each vertex that is known to have its final key."""
    frontier: Any
    """A bit for each vertex of the round, when it is pulled."""
    lengths: Any
    """What a pulled round read of each list, when a trace is written."""
    tallies: Any
    """A row for each thread."""
    trace: Any
    log: Any
    """A vertex above the key it had, for each improvement."""


def begin(words: Any, pushes: Any, active: Any) -> Any:
    """File the vertices to begin with; those without a key or without edges have nothing to offer."""
    origin = np.uint64(NO_KEY)
    for i in range(active.size):
        origin = min(origin, words[active[i]] >> SHIFT)
    buckets = new_buckets(active.size, origin)
    for i in range(active.size):
        vertex = np.int64(active[i])
        edges = np.int64(0)
        for side in range(SIDES):
            edges += np.int64(pushes[side][1][vertex])
        if edges > 0 and words[vertex] >> SHIFT != np.uint64(NO_KEY):
            put(buckets, (words[vertex] & ~LOW) | np.uint64(vertex))
    return buckets


def new_stage(bound: int, threads: int, pieces: int, *, tracing: bool, logging: bool) -> Stage:
    """Return the arrays for a first round; what depends on the rounds grows with them."""
    empty, zeros = np.empty, np.zeros
    return Stage(
        near=empty(64, np.int32),
        offsets=empty(64, np.int64),
        found=empty(64, np.uint64),
        old_keys=empty(64 if logging else 0, np.uint32),
        counts=zeros(pieces, np.int64),
        settled=zeros((bound >> 6) + 1, np.uint64),
        frontier=empty((bound >> 6) + 1, np.uint64),
        lengths=empty(0, np.int32),
        tallies=zeros((threads, ROW), np.int64),
        trace=empty(1024 if tracing else 0, np.int64),
        log=empty(1024 if logging else 0, np.uint64),
    )


def take(
    buckets: Any, words: Any, pushes: Any, most: int, near: Any, offsets: Any, settled: Any
) -> tuple[Any, Any]:
    """Move the vertices of the best key to `near`, and of further keys while there are at most `most`.

    Those of the best key are settled. Vertices without edges have nothing to offer and are dropped. Returns how many
    were taken and how many edges they have; `offsets` numbers those through.
    """
    size = 0
    edges = np.int64(0)
    bucket = lowest(buckets)
    while bucket < BUCKETS:
        if size + buckets.counts[bucket] > most:
            if size > 0:
                break
            if bucket > 0:
                split(buckets, bucket, words)
                bucket = lowest(buckets)
                if bucket > 0:
                    continue
        block, filled = detach(buckets, bucket)
        while block != NO_BLOCK:
            first = np.int64(block) * BLOCK
            for place in range(first, first + filled):
                item = buckets.items[place]
                if is_stale(item, words):
                    continue
                vertex = np.int64(item & LOW)
                if bucket == 0:
                    set_bit(settled, vertex)
                near[size] = vertex
                offsets[size] = edges
                before = edges
                for side in range(SIDES):
                    edges += np.int64(pushes[side][1][vertex])
                size += 1 if edges > before else 0
            block, filled = release(buckets, block), BLOCK
        bucket = lowest(buckets)
    return size, edges


def pays_to_pull(offered: Any, edges: Any, bound: Any, words: Any, pulls: Any) -> Any:
    """Tell whether pulling would read less than the `edges` that pushing reads.

    Edges into the vertices that wait come from the frontier or from others that wait; taking the frontier's share of
    edges as the chance that the next one is a hit says how many are read before it.
    """
    if LINE_WORDS * edges <= bound or offered >= np.int64(NO_KEY):
        return False
    waiting, waiting_edges = survey(offered, words, pulls)
    until_hit = waiting * (1.0 + waiting_edges / edges)
    return bound / LINE_WORDS + min(np.float64(waiting_edges), until_hit) < edges


def trace_round(stage: Stage, plan: Any, iteration: int, pulls: Any, pushes: Any) -> None:
    """Write down the lists that a round read; the caller has made room."""
    used = plan[TRACED]
    if plan[PULLING]:
        for place in range(stage.lengths.size):
            vertex, side = place // SIDES, place % SIDES
            start, length = pulls[side][0][vertex], stage.lengths[place]
            if length > 0:
                read = 2 * vertex + 1 - side
                used = write_trace(stage.trace, used, iteration, read, start, length, ARRAYS)
    else:
        for turn in range(plan[SIZE]):
            vertex = int(stage.near[turn])
            for side in range(SIDES):
                starts, degrees, _neighbours, _weights = pushes[side]
                if degrees[vertex] > 0:
                    read = 2 * vertex + side
                    start, length = starts[vertex], degrees[vertex]
                    used = write_trace(stage.trace, used, iteration, read, start, length, ARRAYS)
    plan[TRACED] = used


@kernel
def file_found(buckets: Any, stage: Stage, plan: Any) -> None:
    """Let what a round improved wait for its turn, and log it; the caller has made room."""
    for piece in range(plan[PIECES]):
        first = piece * plan[WIDTH] // plan[PIECES]
        for place in range(first, first + stage.counts[piece]):
            put(buckets, stage.found[place])
            if stage.log.size > 0:
                stage.log[plan[LOGGED]] = (stage.found[place] << SHIFT) | np.uint64(stage.old_keys[place])
                plan[LOGGED] += 1


def advance(
    words: Any, pulls: Any, pushes: Any, buckets: Any, stage: Stage, plan: Any, shared_from: int, tally: Any
) -> Any:
    """Finish the round in the plan, then run rounds until one is at least `shared_from` wide or none is left.

    Returns buckets and stage, which may have grown. The plan then holds the round that is to be shared.
    """
    bound = np.int64(pushes[0][1].size)
    near, offsets, found, old_keys, counts, settled, frontier, lengths, tallies, trace, log = stage
    while True:
        if plan[SIZE] > 0:
            improved = 0
            for piece in range(plan[PIECES]):
                improved += counts[piece]
            buckets = with_room(buckets, improved)
            if log.size > 0 and plan[LOGGED] + improved > log.size:
                log = grown(log, plan[LOGGED] + improved)
            if trace.size > 0:
                lists = bound if plan[PULLING] else plan[SIZE]
                needed = plan[TRACED] + TRACE_FIELDS * SIDES * lists
                if needed > trace.size:
                    trace = grown(trace, needed)
            stage = Stage(
                near, offsets, found, old_keys, counts, settled, frontier, lengths, tallies, trace, log
            )
            file_found(buckets, stage, plan)
            if trace.size > 0:
                trace_round(stage, plan, tally[ITERATIONS], pulls, pushes)
        waiting = buckets.state[WAITING]
        if waiting > near.size:
            near, offsets = np.empty(2 * waiting, np.int32), np.empty(2 * waiting, np.int64)
        most = plan[MERGED] if ARRAYS > 1 and waiting >= MERGE_FACTOR * plan[MERGED] else 0
        size, edges = take(buckets, words, pushes, most, near, offsets, settled)
        plan[SIZE] = size
        if size == 0:
            break
        tally[ITERATIONS] += 1
        plan[BEST] = np.int64(buckets.origin[0])
        plan[OFFERED] = offer(np.uint32(words[near[0]] >> SHIFT), 1) if ARRAYS == 1 else np.int64(NO_KEY)
        plan[PULLING] = 0 if plan[PUSH_ONLY] else pays_to_pull(plan[OFFERED], edges, bound, words, pulls)
        width = bound if plan[PULLING] else edges
        plan[WIDTH] = width
        if width > found.size:
            found = np.empty(2 * width, np.uint64)
            old_keys = np.empty(2 * width if old_keys.size > 0 else 0, np.uint32)
        if plan[PULLING]:
            mark_frontier(frontier, near, size)
            if trace.size > 0:
                lengths = np.zeros(SIDES * bound, np.int32)
        if width >= shared_from:
            plan[PIECES] = counts.size
            break
        plan[PIECES] = 1
        if plan[PULLING]:
            counts[0] = pull(
                plan[OFFERED], frontier, 0, width, words, pulls, found, old_keys, lengths, tallies[0]
            )
        else:
            counts[0] = push(
                near, offsets, size, 0, width, plan[BEST], words, pushes, settled, found, old_keys, tallies[0]
            )
    return buckets, Stage(
        near, offsets, found, old_keys, counts, settled, frontier, lengths, tallies, trace, log
    )


SHARED_FROM = 1 << 15
"""Width from which a round is shared: to read so many edges takes several times as long as to call threads."""
MERGE_LIMIT = 1 << 12
"""Vertices whose keys differ that are taken together: enough that a round costs more than to begin one."""
PIECES_PER_THREAD = 8
"""Pieces of a round for each thread."""
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep did besides bringing the words to the fixed point."""

    iterations: int
    """Rounds; reads within one do not wait for each other."""
    reads: NDArray[np.int64] | None = None
    """One row for each list read, with the fields of `lists.write_trace`, when a trace was asked for."""
    vertices: NDArray[np.int32] | None = None
    """The vertices whose key changed, ascending, when changes were asked for."""
    old_keys: NDArray[np.uint32] | None = None
    """The keys those had before."""


def start_words(
    kernels: SimpleNamespace,
    alive: NDArray[np.bool_],
    roots: NDArray[np.int32],
    root_keys: NDArray[np.uint32],
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return the words of all vertices before any edge has been looked at, and the vertices that have a key.

    Args:
        kernels: what `bind_monotone` returns for the program.
        alive: which ids are vertices.
        roots: the program's sources, ascending; none when every vertex starts with a value of its own.
        root_keys: the keys those start with.
    """
    words = np.full(len(alive), UNREACHED)
    vertices = roots[alive[roots]] if len(roots) else np.flatnonzero(alive).astype(np.int32)
    keys = kernels.start_keys(vertices, roots, root_keys)
    active = vertices[keys != NO_KEY]
    words[active] = (keys[keys != NO_KEY].astype(np.uint64) << SHIFT) | np.uint64(NO_PARENT)
    return words, active


def sweep(
    kernels: SimpleNamespace,
    words: NDArray[np.uint64],
    pulls: tuple[Any, ...],
    pushes: tuple[Any, ...],
    active: NDArray[np.int32],
    *,
    threads: int,
    tally: NDArray[np.int64],
    pulling: bool = True,
    trace: bool = False,
    changes: bool = False,
) -> Swept:
    """Let the active vertices offer their keys, and all that improve by it, until nothing changes.

    Args:
        kernels: what `bind_monotone` returns for the program.
        words: one word per vertex; at the fixed point on return.
        pulls: the lists that bring offers to a vertex, one tuple of arrays a side.
        pushes: the lists along which a vertex offers.
        active: distinct vertices, in any order, whose keys have not been offered yet.
        threads: how many work at once, as far as there are processors for them.
        tally: what is read is added here.
        pulling: let vertices look for an offer themselves in rounds where that reads less.
        trace: say which lists were read.
        changes: say which keys changed.
    """
    before = int(tally[ITERATIONS])
    pulls, pushes = _two(pulls), _two(pushes)
    plan = np.zeros(PLAN_SIZE, np.int64)
    plan[MERGED] = MERGE_LIMIT
    plan[PUSH_ONLY] = not pulling
    bound = len(pushes[0][1])
    stage = new_stage(bound, threads, PIECES_PER_THREAD * threads, tracing=trace, logging=changes)
    buckets = kernels.begin(words, pushes, active)
    shared_from = SHARED_FROM if threads > 1 else NEVER
    with _numba_threads(threads):
        while True:
            buckets, stage = kernels.advance(words, pulls, pushes, buckets, stage, plan, shared_from, tally)
            if plan[SIZE] == 0:
                break
            _share(kernels, words, pulls, pushes, stage, plan, threads)
    tally += stage.tallies[:, :TALLY_SIZE].sum(axis=0)
    iterations = int(tally[ITERATIONS]) - before
    reads = stage.trace[: plan[TRACED]].reshape(-1, TRACE_FIELDS) if trace else None
    return Swept(iterations, reads, *(_first_keys(stage.log[: plan[LOGGED]]) if changes else ()))


def sweep_kernels(name: str, rules: dict[str, Any]) -> dict[str, Any]:
    """Bind what a sweep executes to a program's rules, for `bind_monotone`."""

    def bound(part: Any, compile_: Any, variant: str = name, **more: Any) -> Any:
        return compile_(rebind(part, variant, **rules, **more))

    ahead = bound(relax.fetch_ahead, kernel)
    alone = bound(relax.push, kernel, f"alone_{name}", fetch_ahead=ahead, lower=relax.plain_minimum)
    together = bound(relax.push, kernel, f"together_{name}", fetch_ahead=ahead, lower=atomic_minimum)
    pull = bound(relax.pull, kernel)
    pays = bound(pays_to_pull, kernel, survey=bound(relax.survey, kernel))
    taking, traced = bound(take, kernel), bound(trace_round, kernel)
    return {
        "begin": bound(begin, compiled),
        "advance": bound(
            advance, compiled, push=alone, pull=pull, pays_to_pull=pays, take=taking, trace_round=traced
        ),
        "share_push": bound(relax.share_push, compiled_parallel, push=together),
        "share_pull": bound(relax.share_pull, compiled_parallel, pull=pull),
    }


def _share(
    kernels: SimpleNamespace,
    words: NDArray[np.uint64],
    pulls: tuple[Any, Any],
    pushes: tuple[Any, Any],
    stage: Stage,
    plan: NDArray[np.int64],
    threads: int,
) -> None:
    """Let threads execute the round in the plan."""
    width, results = plan[WIDTH], (stage.found, stage.old_keys)
    if plan[PULLING]:
        offers: tuple[Any, ...] = plan[OFFERED], words, *pulls, stage.frontier
        kernels.share_pull(threads, width, *offers, *results, stage.lengths, stage.counts, stage.tallies)
    else:
        offers = plan[BEST], words, *pushes, stage.near, stage.offsets, stage.settled
        kernels.share_push(threads, plan[SIZE], width, *offers, *results, stage.counts, stage.tallies)


def _two(sides: tuple[Any, ...]) -> tuple[Any, Any]:
    """Name a side twice where there is only one; kernels look at as many as the program has."""
    return sides[0], sides[-1]


@contextmanager
def _numba_threads(count: int) -> Iterator[None]:
    """Let Numba run on this many threads, or on all it has, and restore its setting afterwards."""
    before = numba.get_num_threads()
    most: Any = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # made when Numba is loaded
    numba.set_num_threads(min(count, most))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _first_keys(log: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return each vertex of the log once with the key it had first: keys only fall, so its largest."""
    log = np.sort(log)
    vertices = (log >> SHIFT).astype(np.int32)
    last = np.append(vertices[1:] != vertices[:-1], True)[: len(log)]
    return vertices[last], (log[last] & LOW).astype(np.uint32)
