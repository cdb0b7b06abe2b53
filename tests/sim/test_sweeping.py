"""Combinations come in the order asked, and several processes predict what one does."""

import numpy as np
import pytest
from unified_traces import Phase, make_trace

from grapin.errors import InvalidArgument
from grapin.sim import Combination, replay, sweep
from grapin.sim.predict import combine
from grapin.system import SYSTEMS, Hybrid
from grapin.trace import Trace


def trace_of(repair: str) -> Trace:
    lists = [(128 * number, 5 + number, 1, False, False) for number in range(20)]
    made = make_trace([Phase([lists, lists]), Phase([lists[:3]])], in_slots=0)
    made.about.update(repair=repair)
    return made


TRACES = {repair: trace_of(repair) for repair in ("bounded", "published", "recompute")}


def names(found: list[Combination]) -> list[tuple[str, str, object]]:
    return [(one.machine.name, one.system.name, one.cache) for one in found]


def test_combinations_come_in_the_order_asked_and_without_a_cache_only_once() -> None:
    found = combine(["h100", "a5000"], ["grapin-zc", "bounded"], ["1M", "2M"])
    expected = [("grapin-zc", None), ("bounded", "1M"), ("bounded", "2M")]
    assert names(found) == [(machine, *rest) for machine in ("h100", "a5000") for rest in expected]


def test_values_of_a_machines_numbers_are_all_tried() -> None:
    found = combine(["a5000"], ["bounded"], settings=["link.generation=3,4", "link.lanes=8"])
    assert [one.machine.link.rate for one in found] == sorted({one.machine.link.rate for one in found})
    assert len(found) == 2


@pytest.mark.parametrize(
    "setting", ["link.generation", "=5", "link.generation=", "link.speed=5", "wheel.size=3"]
)
def test_a_bad_setting_is_refused(setting: str) -> None:
    with pytest.raises(InvalidArgument):
        combine(["a5000"], ["bounded"], settings=[setting])


def test_a_bad_cache_is_refused_before_anything_is_run() -> None:
    with pytest.raises(InvalidArgument, match="cache='much' must be"):
        combine(["a5000"], ["bounded"], ["much"])


def test_several_processes_predict_what_one_does_in_the_same_order() -> None:
    combinations = combine(["a5000", "h100"], ["bounded", "emogi", "subway-sync"])
    steps: list[float] = []
    alone = sweep(TRACES, combinations)
    together = sweep(TRACES, combinations, processes=2, advance=steps.append)
    assert (
        together
        == alone
        == [replay(TRACES[one.system.repair], one.system, one.machine) for one in combinations]
    )
    assert np.sum(steps) == len(combinations)


def test_a_repair_without_a_trace_is_named() -> None:
    with pytest.raises(InvalidArgument, match="traces must have one whose repair is recompute"):
        sweep({"bounded": TRACES["bounded"]}, combine(["a5000"], ["emogi"]))


def test_what_a_process_refuses_is_refused() -> None:
    combinations = combine(["a5000"], ["bounded", "bounded"], ["999G"])
    with pytest.raises(InvalidArgument, match="cache=999 GiB must fit"):
        sweep(TRACES, combinations, processes=2)


def test_numbers_of_a_transfer_are_set_like_those_of_a_machine() -> None:
    found = combine(["a5000"], ["bounded", "hytgraph"], settings=["transfer.partition=4M,32M"])
    assert [one.system.name for one in found] == [
        "bounded",
        "hytgraph+transfer.partition=4M",
        "hytgraph+transfer.partition=32M",
    ]
    assert [one.system.transfer for one in found[1:]] == [Hybrid(partition=4 << 20), Hybrid()]
    with pytest.raises(
        InvalidArgument, match=r"transfer.partition.* must be a number of the transfer of bounded"
    ):
        combine(["a5000"], ["bounded"], settings=["transfer.partition=4M"])


def test_a_smaller_partition_copies_no_more() -> None:
    lists = [(0, 8, 1, False, False), (2048, 8, 1, False, False)]
    trace = make_trace([Phase([lists])], in_slots=0)
    trace.about.update(repair="recompute")
    small, large = (
        replay(trace, SYSTEMS["exptm-filter"].with_settings({"transfer.partition": size}), "a5000")
        for size in ("4K", "1M")
    )
    assert small.total.counters.copied_bytes == 2 * 4096 < large.total.counters.copied_bytes
