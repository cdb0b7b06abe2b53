"""What the experiments on Grapin's tables count, on traces small enough to count by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from experiments.cache_traffic import Traced, again
from experiments.figure12 import rest_bars
from experiments.lib.grapin_runs import CACHE, ORIGINALS
from experiments.table1 import Access
from experiments.table4 import published, published_rate
from experiments.table6 import held
from experiments.table7 import window
from grapin.cache import CacheSettings, replay
from grapin.trace import Trace

LENGTHS = np.array([8, 8, 16])


def reading(*phases: Sequence[Sequence[int]]) -> Trace:
    """Return a trace of phases, each with the vertices whose lists its rounds read."""
    rows = [
        (phase, number, vertex)
        for phase, rounds in enumerate(phases)
        for number, vertices in enumerate(rounds)
        for vertex in vertices
    ]
    phase, iteration, vertex = np.array(rows, np.int64).T
    reads = {
        "phase": phase,
        "iteration": iteration,
        "vertex": vertex,
        "inward": np.zeros(len(rows), np.bool_),
        "start": 32 * vertex,
        "length": LENGTHS[vertex],
        "arrays": np.ones(len(rows), np.uint8),
        "whole": np.ones(len(rows), np.bool_),
        "cached": np.zeros(len(rows), np.bool_),
    }
    every = np.zeros(len(phases), np.int64)
    sizes = {"vertices": 3, "edges": 32, "out_slots": 96, "in_slots": 0, "program": 0}
    table = {"version": np.arange(len(phases))} | {name: every + size for name, size in sizes.items()}
    changes = dict.fromkeys(("version", "vertex", "inward", "start", "length", "mutations"), every[:0])
    return Trace(reads, table, changes, {"repair": "published"})


def test_what_is_read_is_first_reads_and_those_again_within_and_across_batches() -> None:
    start = [[0, 1, 2]]  # counts for nothing
    access = Access.of(reading(start, [[0], [0, 1]], [[0, 2], [2]]))
    assert access.batches[:2] == (8 + 8 + 8, 8 + 16 + 16)
    assert access.within == 8 + 16
    assert access.across == 8
    assert access.total - access.within - access.across == LENGTHS.sum()


def test_the_top_fifth_are_those_read_most_often_not_those_with_the_longest_lists() -> None:
    batches = [[[1, 2], [1]], [[0, 1]]]
    access = Access.of(reading([[0]], *batches))
    assert access.top == 3 * 8  # a fifth of three vertices is one of them


def test_lists_that_are_read_equally_often_share_the_places_that_are_left() -> None:
    batches = [[[vertex] for vertex in (0, 1, 2)]] * 2
    access = Access.of(reading([[0]], *batches))
    assert access.top == pytest.approx(access.total / 3)  # one place for three


def test_at_the_published_pace_room_for_all_edges_gains_only_what_is_slower_without_it() -> None:
    plain, paced = rest_bars("SSSP", 12.0, 2.0, 8.0)
    assert (plain.figure, paced.figure) == (6.0, 1.5)
    assert [bar.figure for bar in rest_bars("BFS", 12.0, 2.0, None)] == [6.0]


def test_reads_are_again_within_a_batch_or_across_batches_and_the_first_values_count_for_nothing() -> None:
    trace = reading([[0, 1, 2]], [[0], [0, 1]], [[0, 2], [2]])
    within, across = again(trace)
    assert within.tolist() == [False, True, False, False, False, True]
    assert across.tolist() == [False, False, False, True, False, False]
    assert within @ LENGTHS[[0, 0, 1, 0, 2, 2]] == Access.of(trace).within
    assert across @ LENGTHS[[0, 0, 1, 0, 2, 2]] == Access.of(trace).across


def test_a_cache_with_room_for_all_lists_saves_all_that_is_read_again() -> None:
    saved = Traced("", "sssp", "", reading([[0, 1, 2]], [[0], [0, 1]], [[0, 2], [2]])).saved("published", 1.0)
    assert saved.within == saved.across == 1.0
    assert Traced("", "sssp", "", reading([[0]], [[0]])).saved("published", 1.0).within is None


def test_4_gb_hold_all_of_the_small_graphs_and_a_sixth_of_the_largest() -> None:
    assert [round(one.held, 2) for one in ORIGINALS.values()] == [1.0, 1.0, 0.27, 0.21, 0.16]


@pytest.mark.parametrize(("tau", "hot"), [(0, 1), (1, 0)])
def test_tau_0_goes_by_the_last_batch_alone_and_tau_1_by_the_one_before_it_too(tau: int, hot: int) -> None:
    trace = reading([[2]], [[0], [0], [0]], [[1], [1]], [[0, 1]])
    settings = CacheSettings("published", 4 * 8, window=window(tau))  # room for one of the lists
    *_, (_, last) = replay(settings, trace.reads, trace.phases, trace.changes)
    assert last.held.tolist() == [int(vertex == hot) for vertex in (0, 1)]


def test_what_table_5_spares_on_the_large_graphs_does_not_fit_into_the_cache() -> None:
    assert all(held(name) < CACHE for name in ("OK", "WK"))
    assert all(held(name) > 2 * CACHE for name in ("TW", "FS", "UK"))


def test_rates_from_the_published_tables_are_those_of_edges_counted_in_units_of_2_to_the_30() -> None:
    graphs = ("OK", "WK", "TW", "FS", "UK")
    rates = [round(published_rate("grapin-zc", graph), 1) for graph in graphs]
    assert rates == [3.6, 6.7, 7.7, 7.6, 9.9]
    assert [round(published_rate("grapin-page", graph), 1) for graph in graphs[2:]] == [7.9, 7.4, 8.4]


def test_the_host_s_update_is_taken_off_published_seconds() -> None:
    assert published("sssp", "grapin-zc", "UK") == pytest.approx(44.7 - 0.86)
    assert published("pagerank", "grapin", "UK") == pytest.approx(111.3 - 0.95)
    assert published("bfs", "bounded", "UK") is None
