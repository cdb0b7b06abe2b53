"""Sparse repair in one call: correct, pull, go forward; most batches are so small that calls would cost more.

The steps are kernels of their own (`correct.py`, `forward.py`), bound to the program like this one.
"""

from typing import Any

import numpy as np

from grapin.kernels.cpu.monotone.correct import correct, orphan_removed, orphan_worsened, pull
from grapin.kernels.cpu.monotone.forward import close_journal, forward, queue_losses, queue_offers
from grapin.kernels.cpu.monotone.journal import Journal, Losses
from grapin.kernels.cpu.monotone.unbound import SIDES

DONE, SWEEP, GAVE_UP = 0, 1, 2
"""How a repair ends: nothing left to do; so much is queued that a sweep should settle it; over budget."""


def repair(
    words: Any,
    journal: Journal,
    losses: Losses,
    pulls: Any,
    pushes: Any,
    roots: Any,
    root_keys: Any,
    deleted: Any,
    reweighted: Any,
    inserted: Any,
    budget: int,
    swept_from: int,
    tally: Any,
    trace: Any,
    tracing: bool,
) -> Any:
    """Bring words up to date with a batch's edges, given as columns (sources, targets[, weights]).

    Returns how it ended, the queue and its size for a sweep, how many vertices changed and how many edges that
    affects, and the trace with how much of it is used.
    """
    losses.count[0] = 0
    heap = np.empty(2 * SIDES * (deleted[0].size + reweighted[0].size) + 64, np.uint64)
    size = orphan_removed(words, journal, heap, 0, deleted[0], deleted[1])
    size = orphan_worsened(words, journal, heap, size, reweighted[0], reweighted[1], reweighted[2])
    if SIDES == 2:
        size = orphan_removed(words, journal, heap, size, deleted[1], deleted[0])
        size = orphan_worsened(words, journal, heap, size, reweighted[1], reweighted[0], reweighted[2])
    ahead = np.empty(64, np.int32)
    size, ahead, improved, trace, used = correct(
        words,
        journal,
        losses,
        pulls,
        pushes,
        roots,
        root_keys,
        heap,
        size,
        ahead,
        budget,
        tally,
        trace,
        tracing,
    )
    if size > 0:
        return GAVE_UP, heap, size, 0, 0, trace, used
    trace, used = pull(words, losses, pulls, roots, root_keys, tally, trace, used, tracing)
    heap, size = queue_losses(words, journal, losses, ahead, improved, heap)
    for tails, heads, weights in (inserted, reweighted):
        heap, size = queue_offers(words, journal, heap, size, tails, heads, weights, tally)
        if SIDES == 2:
            heap, size = queue_offers(words, journal, heap, size, heads, tails, weights, tally)
    if size >= swept_from:
        return SWEEP, heap, size, 0, 0, trace, used
    size, trace, used = forward(words, journal, pushes, heap, size, budget, tally, trace, used, tracing)
    if size > 0:
        return GAVE_UP, heap, size, 0, 0, trace, used
    changed, affected = close_journal(words, journal, pulls, pushes)
    return DONE, heap, size, changed, affected, trace, used
