"""The event model keeps what it is given: order, bytes, tags and credits; and it is the same every time."""

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_traces import NANOSECOND, easy_machine, machines, paths, trace_of, traces
from simpy import Environment

from grapin.errors import InvalidArgument
from grapin.sim import MACHINES, Machine
from grapin.sim.oracle.events import Pool, Port
from grapin.sim.oracle.zero_copy import CopyEngine, Steps, issue, replay_events
from grapin.sim.path import Cost, Path, copy_to_device, copy_to_host, to_ticks
from grapin.sim.stations import copy_ticks
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.zero_copy import replay_zero_copy
from grapin.trace import Trace

costs = st.lists(st.integers(0, 9).map(lambda code: [0, 1, 2, 3, 4, 5, 6, 8, 9, 12][code]), max_size=60)
"""Codes of requests that lie within a line."""


def run(port: Port, steps: Steps) -> int:
    """Let one process run to its end; return at what time that is."""
    port.env.run(until=port.env.process(steps))
    return int(port.env.now)


def all_read(port: Port, reads: list[Cost], workers: int) -> Steps:
    yield issue(port.env, port.read, [[[read]] for read in reads], workers)


@given(paths, costs)
def test_what_is_asked_for_comes_and_nothing_else_is_on_the_wires(path: Path, codes: list[int]) -> None:
    port = Port(Environment(), path)
    reads = [path.request_costs[code] for code in codes]
    run(port, all_read(port, reads, path.window))
    assert port.requested == port.delivered == sum(read.payload for read in reads)
    assert port.upstream.bytes == len(reads) * path.machine.link.request_bytes
    assert port.downstream.bytes == port.delivered + len(reads) * path.machine.link.completion_bytes
    assert port.memory.bytes == sum(read.host_bytes for read in reads)
    assert port.tags.used == 0


@given(paths, costs)
def test_time_is_at_least_what_each_station_is_busy_and_what_each_tag_waits(
    path: Path, codes: list[int]
) -> None:
    port = Port(Environment(), path)
    reads = [path.request_costs[code] for code in codes]
    took = run(port, all_read(port, reads, path.window))
    assert took >= max(port.upstream.busy, port.downstream.busy, sum(read.memory for read in reads))
    rounds = -(-len(reads) // path.window)
    assert took >= rounds * (2 * path.flight + path.memory_latency)


@given(paths, st.integers(0, 60_000))
def test_a_copy_moves_each_byte_once_in_either_direction(path: Path, size: int) -> None:
    port = Port(Environment(), path)
    run(port, CopyEngine(port).to_device(size))
    assert port.requested == port.delivered == size
    assert port.upstream.bytes == -(-size // path.machine.link.read_request) * path.machine.link.request_bytes
    other = Port(Environment(), path)
    run(other, CopyEngine(other).to_host(size))
    packets = -(-size // path.machine.link.payload)
    assert other.written == size
    assert other.upstream.bytes == size + packets * path.machine.link.write_bytes
    assert (other.delivered, other.downstream.bytes) == (0, 0)


@given(machines, st.integers(0, 60_000), st.booleans())
def test_the_fast_form_of_a_copy_takes_the_same_time(machine: Machine, size: int, to_host: bool) -> None:
    path = Path(machine)
    port = Port(Environment(), path)
    engine = CopyEngine(port)
    took = run(port, engine.to_host(size) if to_host else engine.to_device(size))
    assert copy_ticks(path, size, to_host=to_host) == took


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(("closed_form", "to_host"), [(copy_to_device, False), (copy_to_host, True)])
def test_a_large_copy_has_the_closed_forms_rate(
    name: str, closed_form: Callable[[Machine, int], object], to_host: bool
) -> None:
    size = 64 * 2**20
    expected = closed_form(MACHINES[name], size).seconds  # type: ignore[attr-defined]
    took = copy_ticks(Path(MACHINES[name]), size, to_host=to_host)
    assert took == pytest.approx(to_ticks(expected), rel=0.05)


@pytest.mark.parametrize("name", ["v100", "a100", "h100"])
def test_pages_as_one_step_take_as_long_as_their_single_requests(name: str) -> None:
    path = Path(MACHINES[name])
    size = 4 * 2**20
    single = path.read_cost(path.machine.link.read_request)
    port = Port(Environment(), path)
    took = run(port, all_read(port, [single] * (size // single.payload), path.tags))
    assert copy_ticks(path, size) == pytest.approx(took, rel=0.005)


def test_a_copy_and_requests_share_the_link_and_waste_nothing_of_it() -> None:
    path = Path(MACHINES["v100"])
    reads = [path.request_costs[3]] * 4000
    alone = [copy_ticks(path, 512_000), int(replay_zero_copy(lines(4000), path).ticks[0]) - path.launch]
    port = Port(Environment(), path)
    port.env.process(all_read(port, reads, path.window))
    port.env.process(CopyEngine(port).to_device(512_000))
    port.env.run()
    saved = to_ticks(path.machine.link.round_trip)  # while one waits for its first answer, the other's come
    assert port.env.now == pytest.approx(sum(alone) - saved, rel=0.005)


def lines(count: int) -> Trace:
    return trace_of([[(0, 32, 1)] * count])


@given(traces, paths)
@settings(max_examples=10)
def test_equal_runs_give_equal_results_and_equal_timelines(trace: Trace, path: Path) -> None:
    timelines = Timeline(), Timeline()
    first, second = (replay_events(trace, path, timeline=timeline) for timeline in timelines)
    assert first.ticks.tolist() == second.ticks.tolist() == replay_events(trace, path).ticks.tolist()
    assert json.dumps(timelines[0].events()) == json.dumps(timelines[1].events())


def test_a_pool_serves_in_the_order_of_asking_and_lets_no_small_wish_overtake_a_large_one() -> None:
    env = Environment()
    pool: Pool[str] = Pool(env, "tags", 4)
    log: list[tuple[str, int, int]] = []

    def have(name: str, count: int, hold: int) -> None:
        log.append((name, int(env.now), pool.used))
        env.timeout(hold).callbacks.append(lambda _: pool.give(count))

    def wish(name: str, count: int, since: int, hold: int) -> Steps:
        yield env.timeout(since)
        pool.take(count, lambda name: have(name, count, hold), name)

    for name, count, since, hold in [("a", 3, 0, 10), ("b", 2, 1, 5), ("c", 1, 2, 5), ("d", 4, 3, 1)]:
        env.process(wish(name, count, since, hold))
    env.run()
    assert log == [("a", 0, 3), ("b", 10, 2), ("c", 10, 3), ("d", 15, 4)]


def test_reads_come_back_when_one_works_out_by_hand_that_they_do() -> None:
    """An answer of 48 bytes takes 48 ns; two tags; the third waits for the first's; a line takes 96 ns more."""
    path = Path(easy_machine(requests_in_flight=2))
    port = Port(Environment(), path)
    log: list[tuple[str, float]] = []

    def come(name: str) -> None:
        log.append((name, port.env.now / NANOSECOND))

    for name, code in [("sector", 0), ("line", 3), ("another", 0)]:
        port.read(path.request_costs[code], partial(come, name))
    port.env.run()
    assert log == [("sector", 1000.0), ("line", 1144.0), ("another", 2000.0)]


def test_with_one_credit_a_request_leaves_when_the_one_before_has_reached_memory() -> None:
    """Sent by 16 ns, in flight for 417.5 ns, the credit as long on its way back: 851 ns from one to the next."""
    path = Path(easy_machine(requests_in_flight=8), request_credits=1)
    port = Port(Environment(), path)
    took = run(port, all_read(port, [path.request_costs[0]] * 3, 8))
    assert took == (2 * 851 + 1000) * NANOSECOND


def test_writes_wait_for_credits_too() -> None:
    """A packet of 144 ns, two flights of 417.5 ns for it and its credit; memory takes 2 ns for the last."""
    path = Path(easy_machine(requests_in_flight=8), write_credits=1)
    port = Port(Environment(), path)
    took = run(port, CopyEngine(port).to_host(1024))
    assert took == (7 * 979 + 563.5) * NANOSECOND
    assert copy_ticks(path, 1024, to_host=True) == took


@pytest.mark.parametrize("name", ["request_credits", "write_credits"])
def test_no_credits_at_all_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name}=0 must be at least 1"):
        Path(MACHINES["v100"], **{name: 0})
