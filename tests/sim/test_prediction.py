"""A prediction adds up its phases and says what takes most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.counters import Counters
from grapin.sim.prediction import PARTS, Costs, Prediction, Seconds

amounts = st.integers(0, 10**6)
times = st.floats(0, 10)
costs = st.builds(
    Costs,
    st.builds(Counters, *[amounts] * 13),
    amounts,
    amounts,
    amounts,
    amounts,
    amounts,
    amounts,
    st.builds(Seconds, *[times] * 5),
)


def predicted(versions: list[int], phases: list[Costs]) -> Prediction:
    return Prediction("bounded", "a5000", "none", 1e9, tuple(versions), tuple(phases))


@given(st.lists(costs, min_size=1, max_size=5))
def test_start_and_batches_are_all_there_is(phases: list[Costs]) -> None:
    found = predicted(list(range(len(phases))), phases)
    assert found.start == phases[0]
    assert (found.start + found.batches).counters == found.total.counters
    assert found.total.bytes == sum(one.bytes for one in phases)
    assert found.seconds == pytest.approx(sum(one.seconds.total for one in phases))


def test_phases_of_one_version_are_one_batch() -> None:
    one = Costs(seconds=Seconds(link=1.0))
    assert predicted([0, 0, 1, 1], [one] * 4).seconds_a_batch == 2.0
    assert predicted([0, 0], [one] * 2).seconds_a_batch is None


def test_the_dominant_part_is_the_longest_and_hidden_time_is_taken_off() -> None:
    seconds = Seconds(link=3.0, device=2.0, hidden=2.0, launches=0.5)
    assert (seconds.dominant, seconds.total) == ("link", 3.5)
    assert Seconds().dominant == "nothing"
    assert all(Seconds(**{part: 1.0}).dominant == part for part in PARTS)


def test_utilisation_is_the_part_of_the_wire_that_is_used() -> None:
    found = predicted([0], [Costs(wire_to_device=500, seconds=Seconds(link=1e-6))])
    assert found.utilisation == pytest.approx(0.5)
    assert predicted([0], [Costs()]).utilisation == 0.0
