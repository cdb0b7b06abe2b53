"""Every invariant of a graph in pages, verified on the host from a copy of the arena, without the kernels' code.

Chains are followed for all lists at once, one page a step.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import CorruptGraph
from grapin.graph.page_store import HEADER_WORDS

NO_PAGE = -1
LOCKED = 1 << 30
"""Added to a degree while a list is locked."""
Column = NDArray[Any]


def check_pages(arena: Any, alive: NDArray[np.bool_], *, directed: bool, lists: int, edges: int) -> None:
    """Raise `CorruptGraph` unless lists are sound, mirror each other, and every page has exactly one owner."""
    backend, layout = arena.backend, arena.layout
    words, queue = (backend.download(array) for array in (arena.pages.words, arena.pages.queue))
    _, fresh, queued, front, taken, returned = backend.download(arena.pages.control).tolist()
    if taken or returned:
        raise CorruptGraph(f"{taken} pages taken and {returned} given back are not settled")
    records = np.arange(len(alive) * lists, dtype=np.int64)
    if arena.records * layout.record_words + fresh * layout.page_words > len(words):
        raise CorruptGraph(f"{arena.records} records and {fresh} pages do not fit into {len(words)} words")
    degrees = words[records * layout.record_words].astype(np.int64)
    _refuse((degrees < 0) | (degrees >= LOCKED), records, "list {} was left locked, or has no degree")
    _refuse((degrees > 0) & ~alive[records // lists], records, "list {} is of a vertex that does not exist")
    owner, arcs, weights, used = _follow(words, layout, records, degrees, arena.weighted)
    waiting = queue[(front + np.arange(queued)) % max(len(queue), 1)]
    met = np.concatenate((used, waiting)).astype(np.int64)
    outside = (met < 0) | (met >= fresh)
    if outside.any():
        raise CorruptGraph(f"page {met[np.argmax(outside)]} is in a list or the queue, but was never taken")
    owners = np.bincount(met, minlength=fresh)
    if (owners != 1).any():
        culprit = int(np.argmax(owners != 1))
        raise CorruptGraph(
            f"page {culprit} must have one owner, a list or the queue, not {owners[culprit]}, of {fresh} pages"
        )
    needed = layout.pages(degrees)
    needed[~alive[records // lists]] = 0
    if len(used) != int(needed.sum()):
        raise CorruptGraph(f"{len(used)} pages are in lists whose degrees need {int(needed.sum())}")
    _check_arcs(owner, arcs, weights, alive, directed=directed, lists=lists, edges=edges)


def _refuse(bad: NDArray[np.bool_], records: Column, message: str) -> None:
    if bad.any():
        raise CorruptGraph(message.format(records[np.argmax(bad)]))


def _follow(
    words: Column, layout: Any, records: Column, degrees: Column, weighted: bool
) -> tuple[Column, Column, Column, Column]:
    """Return the list, the neighbour and the weight of each edge, and the pages met."""
    found: list[tuple[Column, Column, Column]] = []

    def take(who: Column, base: Column, counts: Column) -> None:
        rows = np.repeat(np.arange(len(who)), counts)
        index = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = base[rows] + index * layout.step
        weights = words[places + layout.weight_step] if weighted else np.empty(0, np.int32)
        found.append((who[rows], words[places], weights))

    take(records, records * layout.record_words + HEADER_WORDS, np.minimum(degrees, layout.inline))
    left = np.maximum(degrees - layout.inline, 0)
    page = words[records * layout.record_words + 1].astype(np.int64)
    who = np.flatnonzero((left > 0) | ((page != NO_PAGE) & layout.owns))
    left, page = left[who], page[who]
    filled = np.where(left > 0, (left - 1) % layout.slots + 1, 0)
    used = []
    while len(who):
        _refuse(
            (page < 0) | ((page + 1) * layout.page_words > len(words)), who, "the chain of list {} breaks off"
        )
        used.append(page)
        base = len(words) - (page + 1) * layout.page_words
        take(who, base, filled)
        left = left - filled
        on = left > 0
        who, left, page = who[on], left[on], words[base[on] + layout.page_words - 1].astype(np.int64)
        filled = np.full(len(who), layout.slots)
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    return columns[0], columns[1], columns[2], np.concatenate([*used, np.empty(0, np.int64)])


def _check_arcs(
    owner: Column,
    neighbour: Column,
    weights: Column,
    alive: NDArray[np.bool_],
    *,
    directed: bool,
    lists: int,
    edges: int,
) -> None:
    known = (neighbour >= 0) & (neighbour < len(alive))
    known[known] = alive[neighbour[known]]
    _refuse(~known, owner, "list {} holds something that is no vertex")
    vertex, inward = owner // lists, owner % lists == 1
    if int(np.count_nonzero(~inward)) != edges:
        raise CorruptGraph(f"{int(np.count_nonzero(~inward))} arcs in the lists, {edges} are counted")
    keys = np.where(inward, neighbour.astype(np.int64) << 32 | vertex, vertex << 32 | neighbour)
    order = np.lexsort((keys, inward))
    keys, inward, owner = keys[order], inward[order], owner[order]
    weights = weights[order] if len(weights) else weights
    same = np.concatenate(((keys[1:] == keys[:-1]) & (inward[1:] == inward[:-1]), [False]))[: len(keys)]
    _refuse(same, owner, "list {} holds a neighbour twice")
    out = keys[~inward]
    if lists == 2 and not np.array_equal(out, keys[inward]):
        raise CorruptGraph("the out-lists and the in-lists do not hold the same arcs")
    if lists == 2 and len(weights) and not np.array_equal(weights[~inward], weights[inward]):
        raise CorruptGraph("the out-lists and the in-lists give an edge two weights")
    if not directed:
        turned = (out & 0xFFFFFFFF) << 32 | out >> 32
        order = np.argsort(turned)
        if not np.array_equal(turned[order], out):
            raise CorruptGraph("an undirected edge is in one of its two lists only")
        if len(weights) and not np.array_equal(weights[order], weights):
            raise CorruptGraph("an undirected edge has two weights")
