"""Sliding windows: what is in the graph is what was seen within the window, no more and no less."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from net import (
    Event,
    Events,
    NaiveGraph,
    Pair,
    apply_naively,
    batch_sets,
    edge_list,
    events,
    one_edge,
    start_of,
)

from grapin import stream
from grapin.batch import Batch
from grapin.errors import InvalidArgument

windows = st.integers(1, 12).flatmap(lambda window: st.tuples(st.just(window), st.integers(1, window)))


def seen(placed: list[tuple[int, Event]], begin: int, end: int, *, directed: bool) -> dict[Pair, int]:
    """Edges whose last event before `end` is an insertion at `begin` or later."""
    last = {
        one_edge((event.source, event.target), directed=directed): (position, event)
        for position, event in placed
        if position < end
    }
    return {
        pair: event.weight
        for pair, (position, event) in last.items()
        if position >= begin and not event.removed
    }


def changes(naive: NaiveGraph, expected: dict[Pair, int]) -> bool:
    return naive.named().keys() != expected.keys()


@given(events(), windows, st.sampled_from(["arriving", "all"]))
def test_by_count_the_graph_holds_the_latest_events(
    given_events: Events, shape: tuple[int, int], vertices: str
) -> None:
    count, step = shape
    placed = list(enumerate(given_events.in_order()))
    made = stream.sliding(edge_list(given_events), count=count, step=step, vertices=vertices)
    naive = start_of(made)
    end = 0
    for batch in made:
        end = min(end + step, len(placed))
        apply_naively(naive, batch)
        assert naive.named() == seen(placed, end - count, end, directed=given_events.directed)
    assert end == len(placed)


@given(events(), windows)
def test_by_time_the_graph_holds_the_latest_span(given_events: Events, shape: tuple[int, int]) -> None:
    span, step = shape
    ordered = given_events.in_order()
    first = ordered[0].time if ordered else 0
    placed = [(event.time - first, event) for event in ordered]
    batches = iter(stream.sliding(edge_list(given_events), span=span, step=step))
    naive = start_of(stream.sliding(edge_list(given_events), span=span, step=step))
    last = placed[-1][0] if placed else -1
    for begin in range(0, last + 1, step):
        end = begin + step
        expected = seen(placed, end - span, end, directed=given_events.directed)
        arriving = any(begin <= position < end for position, _ in placed)
        if arriving or changes(naive, expected):
            apply_naively(naive, next(batches))
        assert naive.named() == expected
    assert next(batches, None) is None


def rows(made: stream.Stream) -> list[tuple[dict[Pair, int], set[Pair]]]:
    return [batch_sets(batch) for batch in made]


def test_an_edge_seen_again_is_refreshed() -> None:
    given_events = Events.of(
        [(0, 1, 5, 0, False), (0, 1, 6, 2, False), (1, 0, 1, 4, False), (1, 0, 2, 5, False)]
    )
    made = stream.sliding(edge_list(given_events), span=2, step=1)
    refreshed: list[tuple[dict[Pair, int], set[Pair]]] = [({(0, 1): 5}, set()), ({(0, 1): 6}, set())]
    assert rows(made) == [*refreshed, ({(1, 0): 1}, {(0, 1)}), ({(1, 0): 2}, set())]


def test_an_expired_edge_can_come_back() -> None:
    given_events = Events.of([(0, 1, 5, 0, False), (0, 1, 6, 9, False)])
    made = stream.sliding(edge_list(given_events), span=2, step=1)
    assert rows(made) == [({(0, 1): 5}, set()), ({}, {(0, 1)}), ({(0, 1): 6}, set())]


def test_a_removed_edge_does_not_expire_again() -> None:
    given_events = Events.of([(0, 1, 5, 0, False), (0, 1, 0, 1, True), (1, 0, 1, 9, False)])
    made = list(stream.sliding(edge_list(given_events), span=2, step=1))
    assert made[1] == Batch(delete=[(0, 1)])
    assert len(made) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 1}, "exactly one of count= .* and span="),
        ({"step": 1, "count": 2, "span": 3}, "exactly one of count= .* and span="),
        ({"step": 3, "count": 2}, "step=3 must be at most the window of 2"),
        ({"step": 0, "count": 2}, "step=0 must be at least 1"),
        ({"step": -1, "span": 2}, "step=-1 must be a positive number"),
        ({"step": 0.5, "count": 2}, "step=0.5 must be a whole number"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    edges = edge_list(Events.of([(0, 1, 1, 1, False)]))
    with pytest.raises(InvalidArgument, match=message):
        stream.sliding(edges, **options)  # type: ignore[arg-type]  # wrong on purpose
