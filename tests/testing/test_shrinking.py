"""Shrinking leaves out all that a failure does not need, and nothing that it does."""

from dataclasses import replace

from hypothesis import given

from grapin import Batch, Graph
from grapin.reference import ReferenceGraph
from grapin.testing import Case, Weights, cases
from grapin.testing.case import batch_parts
from grapin.testing.shrink import shrink


def deletes_heavily(case: Case) -> bool:
    """Fail where some batch deletes an edge and a later one inserts one of weight 3 or more."""
    deleted = False
    for batch in case.batches:
        for part, row in batch:
            if part == "insert" and deleted and row[2] >= 3:
                return True
        deleted = deleted or any(part == "delete" for part, _ in batch)
    return False


LARGE = Case(
    directed=True,
    weights="int32",
    vertices=40,
    edges=tuple((u, u + 1, 5) for u in range(39)),
    batches=(
        (("insert", (0, 9, 8)), ("delete", (3, 4))),
        (("insert_vertices", (40,)),),
        (("reweight", (7, 8, 2)), ("insert", (30, 40, 900))),
    ),
    sources=(12, 30),
    threads=2,
)


def test_what_is_left_is_what_the_failure_needs() -> None:
    smallest = shrink(LARGE, deletes_heavily)
    assert smallest.edges == ()
    assert smallest.batches == ((("delete", (0, 1)),), (("insert", (2, 3, 3)),))
    assert (smallest.vertices, smallest.sources, smallest.threads) == (3, (2,), 1)


def test_a_weight_that_only_a_large_one_can_replace_is_found_in_few_tries() -> None:
    tried: list[Case] = []

    def heavy(case: Case) -> bool:
        tried.append(case)
        return any(row[2] >= 123_456_789 for row in case.edges)

    case = replace(LARGE, edges=((0, 1, 2_000_000_000),), batches=())
    assert shrink(case, heavy).edges == ((0, 1, 123_456_789),)
    assert len(tried) < 200


def test_weights_stay_within_the_range_that_was_asked_for() -> None:
    smallest = shrink(LARGE, deletes_heavily, least_weight=7)
    assert smallest.batches[1] == (("insert", (2, 3, 7)),)


@given(cases(weights=[Weights("int32", 2, 9)], hubs=False))
def test_nothing_is_left_of_a_case_that_fails_whatever_is_in_it(case: Case) -> None:
    smallest = shrink(case, lambda _case: True, least_weight=2)
    assert (smallest.edges, smallest.batches) == ((), ())
    assert (smallest.vertices, len(smallest.sources)) == (1, 1)


@given(cases(hubs=False))
def test_a_shrunk_case_still_fails_and_no_single_row_can_be_left_out(case: Case) -> None:
    def fails(case: Case) -> bool:
        return len([row for row in case.edges if row[0] == row[1]]) + case.mutations >= 2

    if fails(case):
        smallest = shrink(case, fails)
        assert fails(smallest)
        for place in range(len(smallest.edges)):
            fewer = (*smallest.edges[:place], *smallest.edges[place + 1 :])
            assert not fails(replace(smallest, edges=fewer))


def test_ctrl_c_leaves_the_smallest_case_so_far() -> None:
    tried: list[Case] = []

    def interrupted(case: Case) -> bool:
        tried.append(case)
        if len(tried) == 5:
            raise KeyboardInterrupt
        return deletes_heavily(case)

    smallest = shrink(LARGE, interrupted)
    assert deletes_heavily(smallest)
    assert len(tried) == 5


def test_no_more_is_tried_than_allowed() -> None:
    tried: list[Case] = []

    def never(case: Case) -> bool:
        tried.append(case)
        return False

    shrink(LARGE, never, tries=7)
    assert len(tried) == 7


@given(cases(weights=[Weights("float32", 0.5, 0.75), Weights("int32", 3, 4), Weights("none")]))
def test_cases_are_valid_streams_with_weights_in_their_ranges(case: Case) -> None:
    low, high = {"float32": (0.5, 0.75), "int32": (3, 4), "none": (0, 0)}[case.weights]
    assert all(low <= row[2] <= high for row in case.rows() if len(row) == 3)
    store, reference = Graph.from_edges(**case.start()), ReferenceGraph.from_edges(**case.start())
    for mutations in case.batches:
        reference.apply(Batch(**batch_parts(mutations)))
        store.apply(Batch(**batch_parts(mutations)))
    assert all(vertex < case.vertices for vertex in case.sources)
