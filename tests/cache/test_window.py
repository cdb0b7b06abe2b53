"""Counts of the last batches, beside counts of every batch kept in full."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grapin.cache.chunks import MOST, AccessWindow

PLACES = 8
BATCHES = st.lists(
    st.lists(st.dictionaries(st.integers(0, PLACES - 1), st.integers(1, 200)), max_size=3), max_size=8
)


@given(batches=BATCHES, window=st.integers(1, 4))
def test_a_window_knows_the_last_batches_and_no_others(
    batches: list[list[dict[int, int]]], window: int
) -> None:
    counts = AccessWindow(window)
    counts.grow(PLACES)
    every = np.arange(PLACES)
    finished: list[Counter[int]] = []
    for phases in batches:
        total: Counter[int] = Counter()
        for phase in phases:
            counts.count(np.array(list(phase), np.int64), np.array(list(phase.values()), np.int64))
            total.update(phase)
        recent = [total, *finished[::-1]][: window + 1]
        expected = [[min(batch[place], MOST) for place in range(PLACES)] for batch in recent]
        assert counts.history(every)[: len(recent)].tolist() == expected
        assert (
            counts.hotness().tolist() == np.sum(expected[1:], axis=0, dtype=int).tolist() or not expected[1:]
        )
        assert sorted(counts.touched()) == sorted({place for batch in recent for place in batch})
        finished.append(total)
        counts.advance()
        forgotten = finished[-window - 1] if len(finished) > window else Counter()
        left = [place for part in counts.take_forgotten() for place in part.tolist()]
        assert sorted(left) == sorted(forgotten)
        assert counts.take_forgotten() == []
