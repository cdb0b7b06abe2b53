"""Lists in pages as kernels see them: where an edge is, where the next one goes, what becomes of a page.

A list is a record, and a chain of pages where the record has no more room. The first page of the chain is the one that
is not full: the last edge is always there, so that what an update writes is in the record or in the first page. How
far a page is filled follows from the degree; no link is ever read behind the last page, and none is cleared.

A launch takes pages or gives them back, never both. So a page is taken by one atomic step, a ticket: the pages in the
queue go to the first tickets, pages that nobody had before to the others. What the tickets came to is settled between
launches. The queue is as long as there are pages; it cannot overflow.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from grapin.kernels.cuda.warp import WARP, ballot, broadcast, first_lane, lane_id, sync_warp

DEGREE, FIRST, EDGES_FROM = 0, 1, 2
"""Words of a record; the word of the degree is also the lock."""
LOCKED = 1 << 30
"""Beyond any degree."""
NO_PAGE = -1
EDGES, FRESH, QUEUED, FRONT, TAKEN, RETURNED, CONTROL_SIZE = 0, 1, 2, 3, 4, 5, 6
"""Places in `Pages.control`: arcs in the graph; pages ever taken; pages in the queue and where its front is; pages that
this launch took or gave back."""

PAGE_WORDS: int = 16
SLOTS: int = 15
RECORD: int = 8
INLINE: int = 6
STEP: int = 1
WEIGHT_STEP: int = 1
OWNS: bool = False
WEIGHTED: bool = False
"""The names of `PageLayout`, bound when kernels are compiled."""


class Pages(NamedTuple):
    """The arena and what tells which of its pages are free."""

    words: Any
    """int32: records from the front; page p begins (p + 1) pages before the end, so that it keeps its number when the
    arena grows."""
    queue: Any
    """int32: a ring of the pages that were given back."""
    control: Any
    """int64."""


def page_place(pages: Pages, page: Any) -> Any:
    """Return where a page begins."""
    return pages.words.size - (np.int64(page) + 1) * PAGE_WORDS


def next_page(pages: Pages, base: Any) -> Any:
    """Return the page that the page at a place links to."""
    return pages.words[base + PAGE_WORDS - 1]


def filled_first(degree: Any) -> Any:
    """Return how many edges the first page of a list has, where it has pages."""
    return (degree - INLINE - 1) % SLOTS + 1


def take_page(pages: Pages) -> Any:
    """Return a page for one lane to use, in a launch that gives none back."""
    ticket = cuda.atomic.add(pages.control, TAKEN, np.int64(1))
    queued = pages.control[QUEUED]
    if ticket < queued:
        return np.int64(pages.queue[(pages.control[FRONT] + ticket) % pages.queue.size])
    return pages.control[FRESH] + ticket - queued


def give_page(pages: Pages, page: Any) -> None:
    """Put a page into the queue, by one lane, in a launch that takes none."""
    behind = pages.control[QUEUED] + cuda.atomic.add(pages.control, RETURNED, np.int64(1))
    pages.queue[(pages.control[FRONT] + behind) % pages.queue.size] = page


def settle(pages: Pages) -> None:
    """Make what the launches before took and gave back the state that the next ones begin with."""
    if cuda.grid(1) != 0:
        return
    control = pages.control
    reused = min(control[TAKEN], control[QUEUED])
    control[FRONT] = (control[FRONT] + reused) % pages.queue.size
    control[QUEUED] += control[RETURNED] - reused
    control[FRESH] += control[TAKEN] - reused
    control[TAKEN], control[RETURNED] = 0, 0


def lock(pages: Pages, record: Any) -> Any:
    """Wait for a list and return its degree; all lanes come.

    The fence keeps reads of the list from being answered by what the multiprocessor's cache held before.
    """
    degree = np.int64(0)
    if lane_id() == 0:
        before = cuda.atomic.or_(pages.words, record, np.int32(LOCKED))
        while before & LOCKED:
            before = cuda.atomic.or_(pages.words, record, np.int32(LOCKED))
        cuda.threadfence()
        degree = np.int64(before)
    sync_warp()
    return broadcast(degree, 0)


def unlock(pages: Pages, record: Any, change: Any) -> None:
    """Let others have a list whose degree changed by so much; the lane that wrote to it comes."""
    cuda.threadfence()
    cuda.atomic.add(pages.words, record, np.int32(change - LOCKED))


def find(pages: Pages, record: Any, degree: Any, neighbour: Any) -> Any:
    """Return where a list has a neighbour, -1 if nowhere; all lanes come with the same arguments."""
    words = pages.words
    found = np.int64(-1)
    left = degree - INLINE
    page = NO_PAGE
    filled = np.int64(0)
    if left > 0:
        page = words[record + FIRST]
        filled = filled_first(degree)
    while left > 0 and found < 0:
        base = page_place(pages, page)
        found = find_in(words, base, filled, neighbour)
        left -= filled
        if left > 0 and found < 0:
            page = next_page(pages, base)
        filled = np.int64(SLOTS)
    if INLINE > 0 and found < 0:
        found = find_in(words, record + EDGES_FROM, min(degree, np.int64(INLINE)), neighbour)
    return found


def find_in(words: Any, base: Any, filled: Any, neighbour: Any) -> Any:
    """Return where one of the edges from a place on has a neighbour, -1 if none.

    First all are compared, without a way out on the way: so a single lane compares many at once.
    """
    same = False
    for mine in range(lane_id(), filled, WARP):
        same |= words[base + mine * STEP] == neighbour
    mask = ballot(same)
    if mask == 0:
        return np.int64(-1)
    hit = np.int64(0)
    if same:
        hit = np.int64(lane_id())
        while words[base + hit * STEP] != neighbour:
            hit += WARP
    return base + broadcast(hit, first_lane(mask)) * STEP


def put(pages: Pages, record: Any, degree: Any, neighbour: Any, weight: Any) -> Any:
    """Append an edge to a list of this degree, by one lane, and return where it is; the degree is the caller's."""
    words = pages.words
    paged = degree - INLINE
    place = record + EDGES_FROM + degree * STEP
    if paged >= 0:
        page = np.int64(words[record + FIRST])
        slot = paged % SLOTS
        if slot == 0 and not (OWNS and paged == 0 and page != NO_PAGE):
            fresh = take_page(pages)
            words[page_place(pages, fresh) + PAGE_WORDS - 1] = page
            words[record + FIRST] = fresh
            page = fresh
        place = page_place(pages, page) + slot * STEP
    words[place] = neighbour
    if WEIGHTED:
        words[place + WEIGHT_STEP] = weight
    return place


def last_place(pages: Pages, record: Any, degree: Any) -> Any:
    """Return where the last edge of a list is that has one."""
    if degree <= INLINE:
        return record + EDGES_FROM + (degree - 1) * STEP
    return page_place(pages, pages.words[record + FIRST]) + (filled_first(degree) - 1) * STEP


def remove(pages: Pages, record: Any, degree: Any, place: Any) -> Any:
    """Delete the edge at a place, by one lane: the last one moves there with its weight. Return where that was.

    A page that becomes empty is given back; the degree is the caller's.
    """
    words = pages.words
    last = last_place(pages, record, degree)
    words[place] = words[last]
    if WEIGHTED:
        words[place + WEIGHT_STEP] = words[last + WEIGHT_STEP]
    paged = degree - INLINE
    if paged > 0 and (paged - 1) % SLOTS == 0 and not (OWNS and paged == 1):
        page = words[record + FIRST]
        words[record + FIRST] = next_page(pages, page_place(pages, page))
        give_page(pages, page)
    return last


FUNCTIONS = (
    page_place,
    next_page,
    filled_first,
    take_page,
    give_page,
    lock,
    unlock,
    find_in,
    find,
    put,
    last_place,
    remove,
)
"""What kernels on pages are bound to, see `backend.bind`."""
KERNELS = (settle,)
