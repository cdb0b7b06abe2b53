"""Whole lists at once: laid out from CSR arrays, and read into them."""

from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.pages.lists import (
    DEGREE,
    EDGES,
    EDGES_FROM,
    FIRST,
    FRESH,
    INLINE,
    NO_PAGE,
    OWNS,
    PAGE_WORDS,
    RECORD,
    SLOTS,
    STEP,
    WEIGHT_STEP,
    WEIGHTED,
    Pages,
    filled_first,
    next_page,
    page_place,
    take_page,
)
from grapin.kernels.cuda.pages.updates import LISTS
from grapin.kernels.cuda.warp import WARP, lane_id


def pages_of(degree: Any) -> Any:
    """Return how many pages a list takes."""
    count = (max(np.int64(degree) - INLINE, np.int64(0)) + SLOTS - 1) // SLOTS
    return max(count, np.int64(1)) if OWNS else count


def open_records(pages: Pages, first: Any, last: Any) -> None:
    """Make empty lists of these records, which were not in use."""
    place = np.int64(first) + cuda.grid(1)
    while place < last:
        record = place * RECORD
        pages.words[record + DEGREE] = 0
        pages.words[record + FIRST] = NO_PAGE
        place += cuda.gridsize(1)


def own_pages(pages: Pages, vertices: Any) -> None:
    """Give a page to each list of these vertices that has none, where lists have one even when they are empty."""
    index = np.int64(cuda.grid(1))
    while index < vertices.size * LISTS:
        record = (np.int64(vertices[index // LISTS]) * LISTS + index % LISTS) * RECORD
        if pages.words[record + FIRST] == NO_PAGE:
            page = take_page(pages)
            pages.words[record + FIRST] = page
            pages.words[page_place(pages, page) + PAGE_WORDS - 1] = NO_PAGE
        index += cuda.gridsize(1)


def measure(degrees: Any, sizes: Any, counts: Any) -> None:
    """Write how long lists are and how many pages they take."""
    vertex = cuda.grid(1)
    while vertex < degrees.size:
        sizes[vertex] = degrees[vertex]
        counts[vertex] = pages_of(degrees[vertex])
        vertex += cuda.gridsize(1)


def lay_out(pages: Pages, ends: Any, page_ends: Any, neighbours: Any, weights: Any, side: Any) -> None:
    """Lay lists out behind the pages in use: that of vertex v is what comes before `ends[v]` in the columns."""
    words = pages.words
    vertex = np.int64(cuda.grid(1) // WARP)
    while vertex < ends.size:
        start, fresh = np.int64(0), pages.control[FRESH]
        if vertex > 0:
            start = ends[vertex - 1]
            fresh += page_ends[vertex - 1]
        degree = ends[vertex] - start
        count = pages_of(degree)
        record = (vertex * LISTS + side) * RECORD
        if lane_id() == 0:
            words[record + DEGREE] = degree
            words[record + FIRST] = fresh + count - 1 if count > 0 else np.int64(NO_PAGE)
        number = np.int64(lane_id())
        while number < count:
            link = fresh + number - 1 if number > 0 else np.int64(NO_PAGE)
            words[page_place(pages, fresh + number) + PAGE_WORDS - 1] = link
            number += WARP
        index = np.int64(lane_id())
        while index < degree:
            place = record + EDGES_FROM + index * STEP
            if index >= INLINE:
                paged = index - INLINE
                place = page_place(pages, fresh + paged // SLOTS) + paged % SLOTS * STEP
            words[place] = neighbours[start + index]
            if WEIGHTED:
                words[place + WEIGHT_STEP] = weights[start + index]
            index += WARP
        vertex += cuda.gridsize(1) // WARP


def laid_out(pages: Pages, ends: Any, page_ends: Any, counted: Any) -> None:
    """Count the pages that lists were laid out in, and, in one direction, their arcs."""
    if cuda.grid(1) == 0 and ends.size > 0:
        pages.control[FRESH] += page_ends[page_ends.size - 1]
        if counted != 0:
            pages.control[EDGES] += ends[ends.size - 1]


def degrees_of(pages: Pages, vertices: Any, side: Any, degrees: Any) -> None:
    """Write the degrees of these vertices, or of all vertices if none are given."""
    index = np.int64(cuda.grid(1))
    while index < degrees.size:
        vertex = np.int64(vertices[index]) if vertices.size > 0 else index
        degrees[index] = pages.words[(vertex * LISTS + side) * RECORD + DEGREE]
        index += cuda.gridsize(1)


def gather(
    pages: Pages, vertices: Any, side: Any, ends: Any, owners: Any, neighbours: Any, weights: Any
) -> None:
    """Copy the lists of these vertices, or of all, into columns, each before its end; owners if there is room."""
    index = np.int64(cuda.grid(1) // WARP)
    while index < ends.size:
        vertex = np.int64(vertices[index]) if vertices.size > 0 else index
        start = np.int64(0)
        if index > 0:
            start = ends[index - 1]
        record = (vertex * LISTS + side) * RECORD
        degree = ends[index] - start
        left = degree - INLINE
        page = NO_PAGE
        filled = np.int64(0)
        if left > 0:
            page = pages.words[record + FIRST]
            filled = filled_first(degree)
        while left > 0:
            base = page_place(pages, page)
            left -= filled
            copy_edges(pages, base, filled, start + INLINE + left, vertex, owners, neighbours, weights)
            if left > 0:
                page = next_page(pages, base)
            filled = np.int64(SLOTS)
        if INLINE > 0:
            inside = min(degree, np.int64(INLINE))
            copy_edges(pages, record + EDGES_FROM, inside, start, vertex, owners, neighbours, weights)
        index += cuda.gridsize(1) // WARP


def copy_edges(
    pages: Pages, base: Any, filled: Any, row: Any, owner: Any, owners: Any, neighbours: Any, weights: Any
) -> None:
    """Copy the edges of one page, or of a record, to rows from `row` on."""
    index = np.int64(lane_id())
    while index < filled:
        place = base + index * STEP
        neighbours[row + index] = pages.words[place]
        if WEIGHTED:
            weights[row + index] = pages.words[place + WEIGHT_STEP]
        if owners.size > 0:
            owners[row + index] = owner
        index += WARP


FUNCTIONS = (pages_of, copy_edges)
KERNELS = (open_records, own_pages, measure, lay_out, laid_out, degrees_of, gather)
