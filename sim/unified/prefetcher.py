"""The density prefetcher: a fault brings along what lies around it when enough of that is there already.

A block's pages are the leaves of a binary tree. A fault is first grown to its big page. Then, from each faulted page up
to the root, the largest region of which more than 51 percent is resident, faulted or grown is fetched whole
(uvm_perf_prefetch.c:118, 164-219). Pages that processors fight over are neither grown nor fetched.
"""

from collections.abc import Set as AbstractSet

from grapin.sim.unified.parameters import Driver


def pages_to_prefetch(
    faulted: AbstractSet[int],
    resident: AbstractSet[int],
    thrashing: AbstractSet[int],
    pages: int,
    driver: Driver,
) -> set[int]:
    """Return which pages of a block of `pages` pages come along with the faulted ones, some resident perhaps."""
    if not driver.prefetch:
        return set()
    dense = set(resident) | set(faulted)
    for big_page in {page // driver.pages_per_big_page for page in faulted}:
        grown = _region(big_page, driver.pages_per_big_page, pages)
        if thrashing.isdisjoint(grown):
            dense.update(grown)
    chosen: set[int] = set()
    for page in faulted - thrashing:
        size, best = 1, range(0)
        while True:
            region = _region(page // size, size, pages)
            if 100 * len(dense.intersection(region)) > driver.prefetch_threshold * len(region):
                best = region
            if size >= pages:
                break
            size *= 2
        chosen.update(best)
    return chosen - faulted - thrashing


def _region(place: int, size: int, pages: int) -> range:
    return range(place * size, min((place + 1) * size, pages))
