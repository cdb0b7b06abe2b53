"""Edges that come, go and get another weight: update by update under locks, or list by list without.

A batch is rows of source and target; each row is one task for every direction that keeps the edge: first all rows for
the lists of their sources, then all rows for those of their targets. What became of a row is written beside it.

- *Update-centric*: a warp takes 32 tasks, one after the other, and locks the list that each is about.
- *Vertex-centric*: tasks are sorted by list, and one warp does all tasks of a list. It reads the list once for up to 32
  of them, needs no lock, and writes the degree once.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from grapin.kernels.cuda.pages.lists import (
    DEGREE,
    EDGES,
    EDGES_FROM,
    FIRST,
    INLINE,
    NO_PAGE,
    RECORD,
    SLOTS,
    STEP,
    WEIGHT_STEP,
    WEIGHTED,
    Pages,
    filled_first,
    find,
    find_in,
    lock,
    next_page,
    page_place,
    put,
    remove,
    unlock,
)
from grapin.kernels.cuda.warp import WARP, any_lane, ballot, broadcast, first_lane, lane_id, sync_warp

LISTS: int = 1
"""Lists a vertex has, bound when kernels are compiled: 2 where out- and in-neighbours are kept, list 2v and 2v + 1."""
INSERTED, DELETED, REWEIGHTED, UNCHANGED, IGNORED = 0, 1, 2, 3, 4
"""What became of a row: the arc came, went, got another weight; had that weight; is not there."""
NO_LIST = (1 << 31) - 1
"""In place of a list, for the second task of an edge between a vertex and itself that is stored once."""
TASK_BITS = 32
TASK_MASK = (1 << TASK_BITS) - 1


class Rows(NamedTuple):
    """The edges of a batch as columns on the device."""

    source: Any
    target: Any
    weights: Any
    """Patterns; length 0 where rows have none."""
    outcomes: Any
    """int32: what became of each row."""
    weights_before: Any
    """int32 patterns of what was deleted or got another weight; length 0 where the graph has none."""


def list_of(rows: Rows, task: Any) -> Any:
    """Return the list that a task is about."""
    count = rows.source.size
    if task < count:
        return np.int64(rows.source[task]) * LISTS
    if LISTS == 1 and rows.source[task - count] == rows.target[task - count]:
        return np.int64(NO_LIST)
    return np.int64(rows.target[task - count]) * LISTS + (LISTS - 1)


def neighbour_of(rows: Rows, task: Any) -> Any:
    """Return the neighbour in that list which the task is about."""
    count = rows.source.size
    return rows.target[task] if task < count else rows.source[task - count]


def weight_of(rows: Rows, task: Any) -> Any:
    """Return the weight that the task's row gives."""
    if not WEIGHTED or rows.weights.size == 0:
        return np.int32(0)
    count = rows.source.size
    return rows.weights[task] if task < count else rows.weights[task - count]


def keep_outcome(pages: Pages, rows: Rows, mine: Any, task: Any, outcome: Any, before: Any) -> None:
    """Write down what became of the tasks of flagged lanes, and count arcs; all lanes come."""
    first_side = mine and task < rows.source.size
    if first_side:
        rows.outcomes[task] = outcome
        if WEIGHTED:
            rows.weights_before[task] = before
    counted = first_side or (mine and LISTS == 1)
    came, went = ballot(counted and outcome == INSERTED), ballot(counted and outcome == DELETED)
    if lane_id() == 0 and (came | went) != 0:
        change = np.int64(cuda.popc(came)) - np.int64(cuda.popc(went))
        cuda.atomic.add(pages.control, EDGES, change)


def set_or_put(
    pages: Pages, record: Any, degree: Any, found: Any, neighbour: Any, weight: Any
) -> tuple[Any, Any, Any]:
    """Append an edge, or give the one that was found this weight; return what became of it, its old weight, its place.

    One lane comes.
    """
    if found < 0:
        return INSERTED, np.int32(0), put(pages, record, degree, neighbour, weight)
    before = np.int32(0)
    if WEIGHTED:
        before = pages.words[found + WEIGHT_STEP]
        if before != weight:
            pages.words[found + WEIGHT_STEP] = weight
            return REWEIGHTED, before, found
    return UNCHANGED, before, found


def insert(pages: Pages, rows: Rows, first_task: Any, tasks: Any) -> None:
    """Insert update by update."""
    first = first_task + cuda.grid(1) // WARP * WARP
    while first < tasks:
        task = first + lane_id()
        mine = task < tasks
        place, neighbour, weight = np.int64(NO_LIST), np.int32(0), np.int32(0)
        if mine:
            place, neighbour, weight = list_of(rows, task), neighbour_of(rows, task), weight_of(rows, task)
        outcome, before = np.int64(IGNORED), np.int32(0)
        for turn in range(min(np.int64(WARP), tasks - first)):
            of = broadcast(place, turn)
            if of != NO_LIST:
                wanted, given = broadcast(neighbour, turn), broadcast(weight, turn)
                record = of * RECORD
                degree = lock(pages, record)
                found = find(pages, record, degree, wanted)
                result, old = np.int64(0), np.int32(0)
                if lane_id() == 0:
                    result, old, _ = set_or_put(pages, record, degree, found, wanted, given)
                    unlock(pages, record, 1 if result == INSERTED else 0)
                result, old = broadcast(result, 0), broadcast(old, 0)
                if lane_id() == turn:
                    outcome, before = result, old
        keep_outcome(pages, rows, mine and place != NO_LIST, task, outcome, before)
        first += cuda.gridsize(1)


def delete(pages: Pages, rows: Rows, first_task: Any, tasks: Any) -> None:
    """Delete update by update."""
    first = first_task + cuda.grid(1) // WARP * WARP
    while first < tasks:
        task = first + lane_id()
        mine = task < tasks
        place, neighbour = np.int64(NO_LIST), np.int32(0)
        if mine:
            place, neighbour = list_of(rows, task), neighbour_of(rows, task)
        outcome, before = np.int64(IGNORED), np.int32(0)
        for turn in range(min(np.int64(WARP), tasks - first)):
            of = broadcast(place, turn)
            if of != NO_LIST:
                wanted = broadcast(neighbour, turn)
                record = of * RECORD
                degree = lock(pages, record)
                found = find(pages, record, degree, wanted)
                old = np.int32(0)
                if lane_id() == 0:
                    if found >= 0:
                        if WEIGHTED:
                            old = pages.words[found + WEIGHT_STEP]
                        remove(pages, record, degree, found)
                    unlock(pages, record, -1 if found >= 0 else 0)
                old = broadcast(old, 0)
                if lane_id() == turn and found >= 0:
                    outcome, before = np.int64(DELETED), old
        keep_outcome(pages, rows, mine and place != NO_LIST, task, outcome, before)
        first += cuda.gridsize(1)


def reweight(pages: Pages, rows: Rows, tasks: Any, changes: Any) -> None:
    """Look every arc up; where `changes` is not 0, give it its row's weight. No list changes, so none is locked."""
    first = cuda.grid(1) // WARP * WARP
    while first < tasks:
        task = first + lane_id()
        mine = task < tasks
        place, neighbour = np.int64(NO_LIST), np.int32(0)
        if mine:
            place, neighbour = list_of(rows, task), neighbour_of(rows, task)
        outcome, before = np.int32(IGNORED), np.int32(0)
        for turn in range(np.int32(min(np.int64(WARP), tasks - first))):
            of = broadcast(place, turn)
            if of != NO_LIST:
                record = of * RECORD
                degree = np.int64(pages.words[record + DEGREE])
                found = find(pages, record, degree, broadcast(neighbour, turn))
                if lane_id() == turn and found >= 0:
                    outcome = np.int32(UNCHANGED)
                    if WEIGHTED:
                        weight = weight_of(rows, task)  # here, as a thread has few registers left
                        before = pages.words[found + WEIGHT_STEP]
                        if before != weight:
                            outcome = np.int32(REWEIGHTED)
                            if changes != 0:
                                pages.words[found + WEIGHT_STEP] = weight
        keep_outcome(pages, rows, mine and place != NO_LIST, task, outcome, before)
        first += cuda.gridsize(1)


def key_tasks(rows: Rows, keys: Any, first_task: Any) -> None:
    """Write one key a task: sorted, they bring the tasks of a list together, in the order they have."""
    index = np.int64(cuda.grid(1))
    while index < keys.size:
        task = first_task + index
        keys[index] = (list_of(rows, task) << TASK_BITS) | task
        index += cuda.gridsize(1)


def begins(keys: Any, at: Any) -> Any:
    """Tell whether the tasks of a list begin at a place among the keys."""
    if at >= keys.size:
        return False
    mine = keys[at] >> TASK_BITS
    return mine != NO_LIST and (at == 0 or keys[at - 1] >> TASK_BITS != mine)


def find_each(pages: Pages, record: Any, degree: Any, neighbour: Any, mine: Any, many: Any) -> Any:
    """Return to each of the first `many` lanes where a list has that lane's neighbour, reading the list once."""
    words = pages.words
    found = np.int64(-1)
    left = degree - INLINE
    page = NO_PAGE
    filled = np.int64(0)
    if left > 0:
        page = words[record + FIRST]
        filled = filled_first(degree)
    while left > 0 and any_lane(mine and found < 0):
        base = page_place(pages, page)
        found = find_each_in(words, base, filled, neighbour, many, found)
        left -= filled
        if left > 0:
            page = next_page(pages, base)
        filled = np.int64(SLOTS)
    if INLINE > 0:
        found = find_each_in(
            words, record + EDGES_FROM, min(degree, np.int64(INLINE)), neighbour, many, found
        )
    return found


def find_each_in(words: Any, base: Any, filled: Any, neighbour: Any, many: Any, found: Any) -> Any:
    """Return where one of the edges from a place on has a lane's neighbour, or what the lane had found before."""
    if WARP == 1:
        there = find_in(words, base, filled, neighbour)
        return there if there >= 0 else found
    index = np.int64(0)
    while index < filled:
        at = index + lane_id()
        other = np.int32(-1)
        if at < filled:
            other = words[base + at * STEP]
        for turn in range(many):
            mask = ballot(other == broadcast(neighbour, turn))
            if mask != 0 and lane_id() == turn:
                found = base + (index + first_lane(mask)) * STEP
        index += WARP
    return found


def insert_grouped(pages: Pages, rows: Rows, keys: Any) -> None:
    """Insert list by list."""
    first = np.int64(cuda.grid(1) // WARP * WARP)
    while first < keys.size:
        groups = ballot(begins(keys, first + lane_id()))
        while groups != 0:
            insert_group(pages, rows, keys, first + first_lane(groups))
            groups &= groups - np.uint32(1)
        first += cuda.gridsize(1)


def insert_group(pages: Pages, rows: Rows, keys: Any, low: Any) -> None:
    """Insert all edges of the list whose tasks begin at a place."""
    of = keys[low] >> TASK_BITS
    record = of * RECORD
    degree = np.int64(pages.words[record + DEGREE])
    before_all = degree
    many = np.int64(WARP)
    while many == WARP:
        at = low + lane_id()
        mine = at < keys.size
        if mine:
            mine = keys[at] >> TASK_BITS == of
        many = np.int64(cuda.popc(ballot(mine)))
        task, neighbour, weight = np.int64(0), np.int32(-2), np.int32(0)
        if mine:
            task = keys[at] & TASK_MASK
            neighbour, weight = neighbour_of(rows, task), weight_of(rows, task)
        found = find_each(pages, record, degree, neighbour, mine, many)
        outcome, before = np.int64(IGNORED), np.int32(0)
        for turn in range(many):
            wanted, given, there = broadcast(neighbour, turn), broadcast(weight, turn), broadcast(found, turn)
            result, old, place = np.int64(0), np.int32(0), np.int64(0)
            if lane_id() == 0:
                result, old, place = set_or_put(pages, record, degree, there, wanted, given)
            result, old, place = broadcast(result, 0), broadcast(old, 0), broadcast(place, 0)
            if result == INSERTED:
                degree += 1
            if lane_id() == turn:
                outcome, before = result, old
            if neighbour == wanted:
                found = place
        keep_outcome(pages, rows, mine, task, outcome, before)
        sync_warp()
        low += WARP
    if lane_id() == 0 and degree != before_all:
        pages.words[record + DEGREE] = degree


def delete_grouped(pages: Pages, rows: Rows, keys: Any) -> None:
    """Delete list by list."""
    first = np.int64(cuda.grid(1) // WARP * WARP)
    while first < keys.size:
        groups = ballot(begins(keys, first + lane_id()))
        while groups != 0:
            delete_group(pages, rows, keys, first + first_lane(groups))
            groups &= groups - np.uint32(1)
        first += cuda.gridsize(1)


def delete_group(pages: Pages, rows: Rows, keys: Any, low: Any) -> None:
    """Delete all edges of the list whose tasks begin at a place."""
    of = keys[low] >> TASK_BITS
    record = of * RECORD
    degree = np.int64(pages.words[record + DEGREE])
    before_all = degree
    many = np.int64(WARP)
    while many == WARP:
        at = low + lane_id()
        mine = at < keys.size
        if mine:
            mine = keys[at] >> TASK_BITS == of
        many = np.int64(cuda.popc(ballot(mine)))
        task, neighbour = np.int64(0), np.int32(-2)
        if mine:
            task = keys[at] & TASK_MASK
            neighbour = neighbour_of(rows, task)
        found = find_each(pages, record, degree, neighbour, mine, many)
        outcome, before = np.int64(IGNORED), np.int32(0)
        for turn in range(many):
            there = broadcast(found, turn)
            if there >= 0:
                old, last = np.int32(0), np.int64(0)
                if lane_id() == 0:
                    if WEIGHTED:
                        old = pages.words[there + WEIGHT_STEP]
                    last = remove(pages, record, degree, there)
                old, last = broadcast(old, 0), broadcast(last, 0)
                degree -= 1
                if lane_id() == turn:
                    outcome, before = np.int64(DELETED), old
                if found == there:
                    found = np.int64(-1)  # gone, and with it whatever else was to delete the same edge
                if found == last:
                    found = there
        keep_outcome(pages, rows, mine, task, outcome, before)
        sync_warp()
        low += WARP
    if lane_id() == 0 and degree != before_all:
        pages.words[record + DEGREE] = degree


FUNCTIONS = (
    list_of,
    neighbour_of,
    weight_of,
    keep_outcome,
    set_or_put,
    begins,
    find_each_in,
    find_each,
    insert_group,
    delete_group,
)
KERNELS = (insert, delete, reweight, key_tasks, insert_grouped, delete_grouped)
