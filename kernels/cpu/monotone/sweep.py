"""The fixed point of a monotone program on one or several threads, from vertices that have yet to make offers.

It serves the first computation, recomputation, and the forward part of large repairs; what it costs depends on
what it reaches. Keys are the same for any number of threads. With several, which of two equally good parents a
vertex gets is chance.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled, compiled_parallel, kernel
from grapin.kernels.cpu.lists import ITERATIONS, TALLY_SIZE, TRACE_FIELDS
from grapin.kernels.cpu.monotone import relax, rounds, share
from grapin.kernels.cpu.monotone.atomics import atomic_minimum
from grapin.kernels.rules import rebind
from grapin.kernels.words import LOW, NO_KEY, NO_PARENT, SHIFT, UNREACHED

SHARED_FROM = 1 << 15
"""Width from which a round is shared: to read so many edges takes several times as long as to call threads."""
MERGED = 1 << 12
"""Vertices whose keys differ that are taken together: enough that a round costs more than to begin one."""
PIECES = 8
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
        words: one word a vertex; at the fixed point on return.
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
    plan = np.zeros(rounds.PLAN_SIZE, np.int64)
    plan[rounds.MERGED] = MERGED
    plan[rounds.PUSH_ONLY] = not pulling
    bound = len(pushes[0][1])
    stage = rounds.new_stage(bound, threads, PIECES * threads, tracing=trace, logging=changes)
    buckets = kernels.begin(words, pushes, active)
    shared_from = SHARED_FROM if threads > 1 else NEVER
    with _numba_threads(threads):
        while True:
            buckets, stage = kernels.advance(words, pulls, pushes, buckets, stage, plan, shared_from, tally)
            if plan[rounds.SIZE] == 0:
                break
            _share(kernels, words, pulls, pushes, stage, plan, threads)
    tally += stage.tallies[:, :TALLY_SIZE].sum(axis=0)
    iterations = int(tally[ITERATIONS]) - before
    reads = stage.trace[: plan[rounds.TRACED]].reshape(-1, TRACE_FIELDS) if trace else None
    return Swept(iterations, reads, *(_first_keys(stage.log[: plan[rounds.LOGGED]]) if changes else ()))


def sweep_kernels(name: str, rules: dict[str, Any]) -> dict[str, Any]:
    """Bind what a sweep executes to a program's rules, for `bind_monotone`."""

    def bound(part: Any, compile_: Any, variant: str = name, **more: Any) -> Any:
        return compile_(rebind(part, variant, **rules, **more))

    ahead = bound(relax.fetch_ahead, kernel)
    alone = bound(relax.push, kernel, f"alone_{name}", fetch_ahead=ahead, lower=relax.plain_minimum)
    together = bound(relax.push, kernel, f"together_{name}", fetch_ahead=ahead, lower=atomic_minimum)
    pull = bound(relax.pull, kernel)
    pays = bound(rounds.pays_to_pull, kernel, survey=bound(relax.survey, kernel))
    take, traced = bound(rounds.take, kernel), bound(rounds.trace_round, kernel)
    return {
        "begin": bound(rounds.begin, compiled),
        "advance": bound(
            rounds.advance, compiled, push=alone, pull=pull, pays_to_pull=pays, take=take, trace_round=traced
        ),
        "share_push": bound(share.share_push, compiled_parallel, push=together),
        "share_pull": bound(share.share_pull, compiled_parallel, pull=pull),
    }


def _share(
    kernels: SimpleNamespace,
    words: NDArray[np.uint64],
    pulls: tuple[Any, Any],
    pushes: tuple[Any, Any],
    stage: rounds.Stage,
    plan: NDArray[np.int64],
    threads: int,
) -> None:
    """Let threads execute the round in the plan."""
    width, results = plan[rounds.WIDTH], (stage.found, stage.old_keys)
    if plan[rounds.PULLING]:
        offers: tuple[Any, ...] = plan[rounds.OFFERED], words, *pulls, stage.frontier
        kernels.share_pull(threads, width, *offers, *results, stage.lengths, stage.counts, stage.tallies)
    else:
        offers = plan[rounds.BEST], words, *pushes, stage.near, stage.offsets, stage.settled
        kernels.share_push(threads, plan[rounds.SIZE], width, *offers, *results, stage.counts, stage.tallies)


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
