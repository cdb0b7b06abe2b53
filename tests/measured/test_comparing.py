"""Every kind that is measured has its prediction, and the port's counters are those of the closed form."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.counters import REQUEST_SIZES, Counters
from grapin.engine import Engine
from grapin.errors import InvalidArgument
from grapin.graph import Graph
from grapin.measured import KINDS, Measured, Row, compare, predicted
from grapin.programs import BFS
from grapin.sim import (
    MACHINES,
    Machine,
    Prediction,
    copy_to_device,
    copy_to_host,
    hardware_counters,
    read_requests,
)
from grapin.sim.path import port_bytes
from grapin.sim.prediction import Costs, Seconds
from grapin.trace import Trace

machines = st.sampled_from(list(MACHINES.values()))
sizes = st.integers(0, 10**7)
requests = st.fixed_dictionaries(dict.fromkeys(REQUEST_SIZES, st.integers(0, 10**6)))


@given(machines, requests, sizes, sizes)
def test_the_port_sees_what_the_closed_form_says_of_requests_and_migrations(
    machine: Machine, asked: dict[int, int], migrated: int, evicted: int
) -> None:
    moves = [read_requests(machine, asked), copy_to_device(machine, migrated), copy_to_host(machine, evicted)]
    costs = Costs(
        counters=Counters.of(0, 0, [asked[size] for size in REQUEST_SIZES], 0),
        migrated_bytes=migrated,
        evicted_bytes=evicted,
        wire_to_device=sum(move.down_bytes for move in moves),
        wire_to_host=sum(move.up_bytes for move in moves),
    )
    counters = [hardware_counters(move, machine.link) for move in moves]
    names = ("pcie__read_bytes.sum", "pcie__write_bytes.sum")
    assert port_bytes(costs, machine.link) == tuple(sum(one[name] for one in counters) for name in names)


def prediction() -> Prediction:
    start = Costs(
        counters=Counters(
            edges=50, lists=9, requests_32=4, requests_128=2, pages=7, load_bytes=32, patch_bytes=64
        ),
        migrated_bytes=4096,
        evicted_bytes=512,
        faults=3,
        wire_to_device=6000,
        wire_to_host=1000,
        seconds=Seconds(link=3.0, launches=1.0),
    )
    batch = replace(start, seconds=Seconds(link=2.0, faults=0.5, launches=0.25))
    return Prediction("grapin", "a5000", "none", 1e9, (0, 1), (start, batch))


def trace() -> Trace:
    """Two lists of one page, read once each."""
    return Engine(Graph.from_edges([0, 1], [1, 2]), BFS(0), device="cpu", trace=True).trace


def test_every_kind_has_a_prediction_in_its_own_place() -> None:
    found = predicted(prediction(), MACHINES["a5000"], trace())
    assert list(found) == list(KINDS)
    bytes_of_requests = 2 * (4 * 32 + 2 * 128)
    assert found["edges"] == 100
    assert found["distinct pages"] == 1
    assert found["requests of 32 bytes"] == 8
    assert found["requests of 96 bytes"] == 0
    assert found["payload"] == bytes_of_requests + 2 * (64 + 4096)
    assert found["sectors read"] == (bytes_of_requests + 128) // 32
    assert (found["cache loads"], found["cache patches"]) == (64, 128)
    assert (found["faults"], found["migrated"], found["evicted"]) == (6, 8192, 1024)
    assert found["time in kernels"] == 5.5
    assert found["time of batches"] == 2.75


def test_rows_come_in_the_order_of_kinds_each_with_who_measured_it() -> None:
    measured = [Measured("nsys", {"faults": 3, "lists": 18}), Measured("ncu", {"faults": 6})]
    rows = compare(prediction(), MACHINES["a5000"], trace(), measured)
    assert [(row.kind, row.source, row.error) for row in rows] == [
        ("lists", "nsys", 0.0),
        ("faults", "nsys", 1.0),
        ("faults", "ncu", 0.0),
    ]


def test_an_error_beside_nothing_is_none_unless_nothing_was_predicted() -> None:
    assert Row("faults", 5, 0, "nsys").error is None
    assert Row("faults", 0, 0, "nsys").error == 0
    assert Row("faults", 0, 4, "nsys").error == -1


def test_a_kind_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="did you mean 'faults'"):
        Measured("nsys", {"fault": 1})
