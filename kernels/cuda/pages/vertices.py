"""Vertices that go: their lists, and the edges to them in the lists of others.

Those edges are deleted by search, one list that is known to hold one after the other, or by one pass over all lists,
whichever reads less; `search_cost` counts what the search would read.
"""

from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.pages.bulk import pages_of
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
    give_page,
    next_page,
    page_place,
    remove,
)
from grapin.kernels.cuda.pages.updates import LISTS, NO_LIST, Rows, list_of
from grapin.kernels.cuda.warp import WARP, ballot, lane_id, sync_warp

COST: int = 0
"""Place in a tally of one number."""


def search_cost(pages: Pages, rows: Rows, first_task: Any, tasks: Any, tally: Any) -> None:
    """Add up the records and pages of the lists that tasks are about."""
    task = np.int64(first_task) + cuda.grid(1)
    total = np.int64(0)
    while task < tasks:
        place = list_of(rows, task)
        if place != NO_LIST:
            total += 1 + pages_of(pages.words[place * RECORD + DEGREE])
        task += cuda.gridsize(1)
    if total > 0:
        cuda.atomic.add(tally, COST, total)


def mark(vertices: Any, marks: Any) -> None:
    """Mark vertices that go."""
    index = cuda.grid(1)
    while index < vertices.size:
        marks[vertices[index]] = 1
        index += cuda.gridsize(1)


def collect(pages: Pages, marks: Any, tally: Any, owners: Any, neighbours: Any, weights: Any) -> None:
    """Count the arcs from vertices without a mark to vertices with one, and write them down where there is room."""
    vertex = np.int64(cuda.grid(1) // WARP)
    while vertex < marks.size:
        record = vertex * LISTS * RECORD
        degree = np.int64(0)
        if marks[vertex] == 0:
            degree = np.int64(pages.words[record + DEGREE])
        left = degree - INLINE
        page = NO_PAGE
        filled = np.int64(0)
        if left > 0:
            page = pages.words[record + FIRST]
            filled = filled_first(degree)
        while left > 0:
            base = page_place(pages, page)
            collect_in(pages, vertex, base, filled, marks, tally, owners, neighbours, weights)
            left -= filled
            if left > 0:
                page = next_page(pages, base)
            filled = np.int64(SLOTS)
        if INLINE > 0:
            inside = min(degree, np.int64(INLINE))
            collect_in(pages, vertex, record + EDGES_FROM, inside, marks, tally, owners, neighbours, weights)
        vertex += cuda.gridsize(1) // WARP


def collect_in(
    pages: Pages,
    owner: Any,
    base: Any,
    filled: Any,
    marks: Any,
    tally: Any,
    owners: Any,
    neighbours: Any,
    weights: Any,
) -> None:
    """Do so for the edges of one page, or of a record."""
    index = np.int64(lane_id())
    while index < filled:
        place = base + index * STEP
        if marks[pages.words[place]] != 0:
            row = cuda.atomic.add(tally, COST, np.int64(1))
            if owners.size > 0:
                owners[row] = owner
                neighbours[row] = pages.words[place]
                if WEIGHTED:
                    weights[row] = pages.words[place + WEIGHT_STEP]
        index += WARP


def purge(pages: Pages, marks: Any, side: Any) -> None:
    """Delete every edge to a marked vertex from the lists of one direction.

    A list is read from its last edge to its first, so that what moves into a hole has been looked at before.
    """
    vertex = np.int64(cuda.grid(1) // WARP)
    while vertex < marks.size:
        record = (vertex * LISTS + side) * RECORD
        degree = np.int64(pages.words[record + DEGREE])
        left = degree - INLINE
        before_all = degree
        page = NO_PAGE
        filled = np.int64(0)
        if left > 0:
            page = pages.words[record + FIRST]
            filled = filled_first(degree)
        while left > 0:
            base = page_place(pages, page)
            if left > filled:
                page = next_page(pages, base)  # before the page may be given back
            degree = purge_in(pages, record, degree, base, filled, marks)
            left -= filled
            filled = np.int64(SLOTS)
        if INLINE > 0:
            inside = min(before_all, np.int64(INLINE))
            degree = purge_in(pages, record, degree, record + EDGES_FROM, inside, marks)
        if lane_id() == 0 and degree != before_all:
            pages.words[record + DEGREE] = degree
            if side == 0:
                cuda.atomic.add(pages.control, EDGES, degree - before_all)
        vertex += cuda.gridsize(1) // WARP


def purge_in(pages: Pages, record: Any, degree: Any, base: Any, filled: Any, marks: Any) -> Any:
    """Delete edges to marked vertices from one page, or from a record; return the degree that is left."""
    width = (filled + WARP - 1) // WARP * WARP
    while width > 0:
        width -= WARP
        at = width + lane_id()
        doomed = False
        if at < filled:
            doomed = marks[pages.words[base + at * STEP]] != 0
        mask = ballot(doomed)
        for back in range(WARP):
            slot = WARP - 1 - back
            if mask >> np.uint32(slot) & np.uint32(1) != 0:
                if lane_id() == 0:
                    remove(pages, record, degree, base + (width + slot) * STEP)
                degree -= 1
        sync_warp()
    return degree


def drop_lists(pages: Pages, vertices: Any) -> None:
    """Empty the lists of vertices and give all their pages back."""
    index = np.int64(cuda.grid(1))
    while index < vertices.size * LISTS:
        side = index % LISTS
        record = (np.int64(vertices[index // LISTS]) * LISTS + side) * RECORD
        degree = np.int64(pages.words[record + DEGREE])
        page = pages.words[record + FIRST]
        for _ in range(pages_of(degree)):
            give_page(pages, page)
            page = next_page(pages, page_place(pages, page))
        pages.words[record + DEGREE] = 0
        pages.words[record + FIRST] = NO_PAGE
        if degree > 0 and side == 0:
            cuda.atomic.add(pages.control, EDGES, -degree)
        index += cuda.gridsize(1)


FUNCTIONS = (collect_in, purge_in)
KERNELS = (search_cost, mark, collect, purge, drop_lists)
