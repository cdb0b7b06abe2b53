"""Temporal streams: replaying a file leaves the graph that its events describe, however they are cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from net import Events, apply_naively, batch_sets, edge_list, events, net_of, start_of

from grapin import stream
from grapin.errors import InvalidArgument


@given(events(), st.integers(1, 7), st.sampled_from(["arriving", "all"]), st.data())
def test_after_every_batch_by_size_the_graph_is_the_net_of_the_events(
    given_events: Events, size: int, vertices: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(given_events.rows)))
    made = stream.temporal(edge_list(given_events), size=size, start=start, vertices=vertices)
    naive = start_of(made)
    ordered = given_events.in_order()
    assert naive.named() == net_of(ordered[:start], given_events.directed)
    seen = start
    for batch in made:
        seen = min(seen + size, len(ordered))
        apply_naively(naive, batch)
        assert naive.named() == net_of(ordered[:seen], given_events.directed)
    assert seen == len(ordered)


@given(events(), st.integers(1, 9))
def test_after_every_batch_by_window_the_graph_is_the_net_of_the_events_so_far(
    given_events: Events, window: int
) -> None:
    made = stream.temporal(edge_list(given_events), window=window)
    naive = start_of(made)
    ordered = given_events.in_order()
    first = ordered[0].time if ordered else 0
    windows = sorted({(event.time - first) // window for event in ordered})
    assert len(made) == len(windows)
    for number, batch in zip(windows, made, strict=True):
        apply_naively(naive, batch)
        so_far = [event for event in ordered if (event.time - first) // window <= number]
        assert naive.named() == net_of(so_far, given_events.directed)


@given(events(), st.integers(1, 7))
def test_a_stream_can_be_read_again_and_knows_its_length(given_events: Events, size: int) -> None:
    made = stream.temporal(edge_list(given_events), size=size)
    assert len(made) == -(-len(given_events.rows) // size)
    once, again = list(made), list(made)
    assert once == again
    assert len(once) == len(made)


@given(events(), st.integers(1, 7))
def test_arriving_vertices_take_the_next_ids_in_order(given_events: Events, size: int) -> None:
    made = stream.temporal(edge_list(given_events), size=size)
    arrived = [vertex for batch in made for vertex in batch.insert_vertices.tolist()]
    appearing = dict.fromkeys(
        end for event in given_events.in_order() for end in (event.source, event.target)
    )
    assert arrived == list(range(len(appearing)))
    assert made.start is not None
    assert made.start.labels is not None
    assert made.start.labels.names.tolist() == list(appearing)


def test_the_last_of_several_events_on_one_edge_counts() -> None:
    rows = Events.of([(0, 1, 5, 10, False), (0, 1, 0, 11, True), (0, 1, 7, 12, False), (1, 0, 3, 12, False)])
    (batch,) = stream.temporal(edge_list(rows), size=4)
    assert batch_sets(batch) == ({(0, 1): 7, (1, 0): 3}, set())


def test_on_an_undirected_graph_both_orientations_are_one_edge() -> None:
    rows = Events.of([(0, 1, 5, 10, False), (1, 0, 6, 11, False)], directed=False)
    (batch,) = stream.temporal(edge_list(rows), size=4)
    assert batch_sets(batch) == ({(0, 1): 6}, set())


def test_an_edge_that_comes_and_goes_within_a_batch_is_a_deletion() -> None:
    rows = Events.of([(0, 1, 5, 10, False), (0, 1, 0, 11, True)])
    (batch,) = stream.temporal(edge_list(rows), size=2)
    assert batch_sets(batch) == ({}, {(0, 1)})
    assert batch.insert_vertices.tolist() == [0, 1]


def test_windows_in_which_nothing_happens_give_no_batch() -> None:
    rows = Events.of([(0, 1, 5, 100, False), (1, 2, 5, 109, False), (2, 3, 5, 1000, False)])
    made = stream.temporal(edge_list(rows), window=10)
    assert [batch.insert.rows() for batch in made] == [[(0, 1, 5), (1, 2, 5)], [(2, 3, 5)]]


def test_rows_without_times_are_taken_as_they_stand() -> None:
    edges = edge_list(Events.of([(3, 1, 1, 0, False), (0, 2, 1, 0, False)]), times=False)
    made = stream.temporal(edges, size=1, vertices="all")
    assert [batch.insert.rows() for batch in made] == [[(3, 1, 1)], [(0, 2, 1)]]


def test_an_empty_file_makes_an_empty_stream() -> None:
    made = stream.temporal(edge_list(Events.of([])), size=3)
    assert list(made) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of size= .* and window="),
        ({"size": 3, "window": 3}, "exactly one of size= .* and window="),
        ({"size": 0}, "size=0 must be at least 1"),
        ({"window": 0}, "window=0 must be a positive number"),
        ({"window": float("nan")}, "window=nan must be a positive number"),
        ({"size": 1, "start": 9}, "start=9 must be at most 1"),
        ({"size": 1, "vertices": "arrivng"}, "did you mean 'arriving'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    edges = edge_list(Events.of([(0, 1, 1, 1, False)]))
    with pytest.raises(InvalidArgument, match=message):
        stream.temporal(edges, **options)  # type: ignore[arg-type]  # wrong on purpose


def test_a_window_needs_times() -> None:
    edges = edge_list(Events.of([(0, 1, 1, 1, False)]), times=False)
    with pytest.raises(InvalidArgument, match="must be left out for arrays, which has no times"):
        stream.temporal(edges, window=1)


def test_times_must_be_finite() -> None:
    edges = edge_list(Events.of([(0, 1, 1, 1, False)]), time=np.array([np.nan]))
    with pytest.raises(InvalidArgument, match="finite"):
        stream.temporal(edges, window=1)
