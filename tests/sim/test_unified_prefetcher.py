"""The density prefetcher: what a fault brings along."""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from grapin.sim.oracle.driver import pages_to_prefetch
from grapin.sim.paging import DRIVER

BIG = set(range(16))


def along(faulted: AbstractSet[int], resident: AbstractSet[int] = frozenset(), pages: int = 512) -> set[int]:
    return pages_to_prefetch(faulted, resident, frozenset(), pages, DRIVER)


def test_a_lone_fault_is_grown_to_64_kib() -> None:
    assert along({5}) == BIG - {5}


def test_half_of_a_region_is_not_enough_and_a_little_more_is() -> None:
    assert along({0}, set(range(16, 32))) == set(range(1, 32))
    assert along({0}, set(range(32, 48))) == BIG - {0}  # 32 of 64 pages
    assert along({0}, set(range(32, 49))) == set(range(1, 64))  # 33 of 64 are 51.6 percent


def test_the_largest_dense_region_is_taken_even_where_a_smaller_one_is_not_dense() -> None:
    resident = set(range(64, 128))
    assert 100 * len(BIG) <= 51 * 32
    assert along({0}, resident) == set(range(1, 128))


def test_a_stream_of_faults_fetches_a_whole_block_in_few_steps() -> None:
    resident: set[int] = set()
    steps = 0
    while len(resident) < 512:
        faulted = {max(resident, default=-1) + 1}
        resident |= faulted | along(faulted, resident)
        steps += 1
    assert steps == 6  # 64, 128, 256, 512 KiB, then twice as much each time


def test_pages_that_thrash_are_neither_grown_nor_fetched() -> None:
    thrashing = frozenset({3})
    assert pages_to_prefetch({5}, frozenset(), thrashing, 512, DRIVER) == set()
    assert 3 not in pages_to_prefetch({100}, set(range(4, 300)), thrashing, 512, DRIVER)
    assert pages_to_prefetch({3}, frozenset(), thrashing, 512, DRIVER) == set()


def test_without_prefetching_a_fault_brings_one_page() -> None:
    assert pages_to_prefetch({5}, BIG, frozenset(), 512, replace(DRIVER, prefetch=False)) == set()


_places = st.frozensets(st.integers(0, 511), max_size=40)


@given(_places.filter(bool), _places, st.integers(1, 512))
def test_what_is_fetched_lies_in_the_block_and_completes_every_faulted_big_page(
    faulted: frozenset[int], resident: frozenset[int], pages: int
) -> None:
    faulted = frozenset(page % pages for page in faulted)
    resident = frozenset(page for page in resident if page < pages) - faulted
    there = along(faulted, resident, pages) | faulted
    assert there <= set(range(pages))
    for page in faulted:
        assert there >= set(range(page // 16 * 16, min(page // 16 * 16 + 16, pages)))


@given(_places.filter(bool), _places, _places)
def test_more_pages_resident_never_leave_a_page_out_that_less_would_have_brought(
    faulted: frozenset[int], resident: frozenset[int], more: frozenset[int]
) -> None:
    resident, more = resident - faulted, (resident | more) - faulted
    assert along(faulted, resident) | resident <= along(faulted, more) | more
