"""The store stays equal to the reference and in order through any sequence of batches."""

from collections import Counter

import numpy as np
from hypothesis import Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from grapin.graph.index import has_index
from grapin.testing import StoreMachine

TestStoreBesideReference = StoreMachine.TestCase


def test_the_machine_reaches_every_kind_of_upkeep() -> None:
    """A machine that never meets an indexed list, a growth or a shrink proves nothing about them."""
    reached: Counter[str] = Counter()

    class Observed(StoreMachine):
        @invariant()
        def note_upkeep(self) -> None:
            reached.update({name: min(count, 1) for name, count in self.store.statistics().items()})
            lists = self.store._out.lists
            busiest = int(np.argmax(lists.degrees[: self.store.bound])) if self.store.bound else 0
            reached["indexed lists"] += bool(self.store.bound) and has_index(lists, busiest)

    many = settings(max_examples=100, phases=[Phase.generate], derandomize=True, database=None)
    run_state_machine_as_test(Observed, settings=many)
    assert min(reached.values()) > 0, reached
