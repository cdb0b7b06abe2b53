"""Values, parents, traces, counters and predictions are what they were: a change of places and names changes none."""

import pytest
from golden import WORKLOADS, Quantities, differences, kept


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_quantity_is_what_it_was(name: str) -> None:
    changed = differences(name, kept().get(name, {}), WORKLOADS[name]())
    assert not changed, "\n".join([*changed, "if this is meant: python -m tests.golden --write"])


def test_the_file_holds_what_is_run_and_no_more() -> None:
    assert list(kept()) == list(WORKLOADS)


def test_a_difference_names_its_quantity_and_a_new_name_is_told_from_a_new_value() -> None:
    before: Quantities = {"values": "#1", "trace.rows": 5, "old": "#7", "left": 3}
    now: Quantities = {"values": "#2", "trace.rows": 5, "new": "#7", "more": 4}
    assert differences("run", before, now) == [
        "run: values: #1 is now #2",
        "run: old is called new now",
        "run: left: 3 is gone",
        "run: more: 4 is new",
    ]
    assert differences("run", before, dict(before)) == []
