import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grapin.compiled import compiled_parallel
from grapin.kernels.cpu.monotone.relax import atomic_add, atomic_load, atomic_minimum

WORD = st.integers(0, 2**64 - 1)


@compiled_parallel
def lower_all(words: np.ndarray, offers: np.ndarray, threads: int) -> None:
    for thread in numba.prange(threads):
        for i in range(thread, offers.size, threads):
            atomic_minimum(words, i % words.size, offers[i])


@compiled_parallel
def draw_tickets(counter: np.ndarray, tickets: np.ndarray, threads: int) -> None:
    for thread in numba.prange(threads):
        for i in range(thread, tickets.size, threads):
            tickets[i] = atomic_add(counter, 0, 1)


@given(WORD, WORD)
def test_a_minimum_keeps_the_smaller_word_and_returns_the_old(old: int, new: int) -> None:
    words = np.array([7, old, 7], np.uint64)
    assert atomic_minimum(words, 1, np.uint64(new)) == old
    assert words.tolist() == [7, min(old, new), 7]
    assert atomic_load(words, 1) == min(old, new)


def test_no_minimum_is_lost_when_threads_lower_the_same_words() -> None:
    offers = np.random.default_rng(1).integers(0, 2**63, 1 << 18, dtype=np.uint64)
    words = np.full(8, 2**64 - 1, np.uint64)
    lower_all(words, offers, 4)
    assert words.tolist() == offers.reshape(-1, 8).min(axis=0).tolist()


def test_no_two_threads_draw_the_same_ticket() -> None:
    counter, tickets = np.zeros(1, np.int64), np.full(1 << 16, -1)
    draw_tickets(counter, tickets, 4)
    assert counter[0] == tickets.size
    assert np.array_equal(np.sort(tickets), np.arange(tickets.size))
