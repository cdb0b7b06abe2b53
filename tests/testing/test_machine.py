"""The state machine finds each kind of defect that a store could have."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from grapin import Applied, Batch, CorruptGraph, Graph, InvalidBatch, WrongAnswer
from grapin.reference import ReferenceGraph
from grapin.testing import StoreMachine, check_same_changes, check_same_graph

Apply = Callable[..., Applied]
searching = settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None)


def losing_a_deletion(apply: Apply) -> Apply:
    def sabotaged(batch: Batch, **options: Any) -> Applied:
        kept = batch.delete.rows()[1:]
        vertices = {"insert_vertices": batch.insert_vertices, "delete_vertices": batch.delete_vertices}
        return apply(Batch(insert=batch.insert, delete=kept, reweight=batch.reweight, **vertices), **options)

    return sabotaged


def losing_an_edge_of_a_large_batch(apply: Apply) -> Apply:
    def sabotaged(batch: Batch, **options: Any) -> Applied:
        if len(batch.insert) <= 128:
            return apply(batch, **options)
        columns = (batch.insert.source[1:], batch.insert.target[1:])
        weight = batch.insert.weight
        fewer = columns if weight is None else (*columns, weight[1:])
        return apply(Batch(insert=fewer, insert_vertices=batch.insert_vertices), **options)

    return sabotaged


def miscounting_what_it_ignored(apply: Apply) -> Apply:
    def sabotaged(batch: Batch, **options: Any) -> Applied:
        applied = apply(batch, **options)
        return replace(applied, ignored=min(applied.ignored, 1))

    return sabotaged


def swapping_old_and_new_weights(apply: Apply) -> Apply:
    def sabotaged(batch: Batch, **options: Any) -> Applied:
        applied = apply(batch, **options)
        after = applied.reweighted.weight
        return applied if after is None else replace(applied, old_weights=after)

    return sabotaged


def keeping_half_of_a_refused_batch(apply: Apply) -> Apply:
    def sabotaged(batch: Batch, **options: Any) -> Applied:
        try:
            return apply(batch, **options)
        except InvalidBatch:
            apply(Batch(insert_vertices=batch.insert_vertices))
            raise

    return sabotaged


def never_being_strict(apply: Apply) -> Apply:
    return lambda batch, **_options: apply(batch, strict=False)


@pytest.mark.parametrize(
    "sabotage",
    [
        losing_a_deletion,
        losing_an_edge_of_a_large_batch,
        miscounting_what_it_ignored,
        swapping_old_and_new_weights,
        keeping_half_of_a_refused_batch,
        never_being_strict,
    ],
)
def test_a_store_is_caught(sabotage: Callable[[Apply], Apply]) -> None:
    class Sabotaged(StoreMachine):
        def make_store(self, start: dict[str, Any], options: dict[str, Any]) -> Graph:
            store = super().make_store(start, options)
            store.apply = sabotage(store.apply)  # type: ignore[method-assign]
            return store

    with pytest.raises((WrongAnswer, InvalidBatch)):
        run_state_machine_as_test(Sabotaged, settings=searching)


def test_a_copy_that_shares_its_arrays_is_caught() -> None:
    class Sharing(StoreMachine):
        def make_store(self, start: dict[str, Any], options: dict[str, Any]) -> Graph:
            store = super().make_store(start, options)
            store.copy = lambda: store  # type: ignore[method-assign]
            return store

    with pytest.raises(WrongAnswer, match="expected"):
        run_state_machine_as_test(Sharing, settings=searching)


def test_a_store_whose_own_check_fails_is_caught() -> None:
    class Corrupt(StoreMachine):
        def make_store(self, start: dict[str, Any], options: dict[str, Any]) -> Graph:
            def check() -> None:
                raise CorruptGraph("an invariant is broken")

            store = super().make_store(start, options)
            store.check = check  # type: ignore[method-assign]
            return store

    with pytest.raises(CorruptGraph):
        run_state_machine_as_test(Corrupt, settings=searching)


def test_the_first_difference_between_store_and_reference_is_named() -> None:
    def compare(source: list[int], target: list[int], weight: list[int]) -> None:
        reference = ReferenceGraph.from_edges([0, 1], [1, 2], [5, 6])
        check_same_graph(Graph.from_edges(source, target, weight, vertices=3), reference)

    compare([1, 0], [2, 1], [6, 5])
    with pytest.raises(WrongAnswer, match="edges is 1, expected 2"):
        compare([0], [1], [5])
    with pytest.raises(WrongAnswer, match=r"edge \(0, 1\) has weight 4 in edge_arrays, expected 5"):
        compare([0, 1], [1, 2], [4, 6])
    with pytest.raises(WrongAnswer, match=r"edge \(0, 2\) is in edge_arrays with weight 6, expected no such"):
        compare([0, 0], [1, 2], [5, 6])
    with pytest.raises(WrongAnswer, match=r"edge \(0, 1\) is missing in edge_arrays, expected with weight 5"):
        compare([1, 2], [2, 0], [6, 5])


def test_the_first_difference_between_changes_is_named() -> None:
    store, reference = Graph.empty(2), ReferenceGraph.empty(2)
    expected = reference.apply(Batch(insert=[(0, 1)]))
    with pytest.raises(
        WrongAnswer, match=r"applied.inserted is \{\(1, 0\): None\}, expected \{\(0, 1\): None\}"
    ):
        check_same_changes(store.apply(Batch(insert=[(1, 0)])), expected)
