"""The closed form: what requests and copies cost, and what a GPU's counters would show of them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.errors import InvalidArgument
from grapin.sim import MACHINES, copy_to_device, copy_to_host, find_machine, hardware_counters, read_requests
from grapin.sim.machine import Machine
from grapin.sim.path import Transfer

V100 = MACHINES["v100"]
MANY = 10**6

machines = st.sampled_from(sorted(MACHINES)).map(MACHINES.__getitem__)
mixes = st.dictionaries(st.sampled_from((32, 64, 96, 128)), st.integers(0, 10**9))


@pytest.mark.parametrize(
    ("mix", "published"),
    [({32: MANY}, 4.74e9), ({32: MANY, 96: MANY}, 9.40e9), ({128: MANY}, 12.23e9)],
    ids=["32 B", "32+96 B", "128 B"],
)
def test_zero_copy_on_v100_is_within_two_percent_of_what_emogi_measured(
    mix: dict[int, int], published: float
) -> None:
    assert read_requests(V100, mix).rate == pytest.approx(published, rel=0.02)


def test_a_copy_on_v100_is_within_three_percent_of_what_emogi_measured() -> None:
    assert copy_to_device(V100, 2**30).rate == pytest.approx(12.3e9, rel=0.03)


@pytest.mark.parametrize("size", [32, 64, 96, 128])
def test_rates_follow_the_two_parameter_fit(size: int) -> None:
    machine = V100.with_settings({"link.payload": 256})
    fit = min(14.21e9 * size / (size + 20), 256 * size / 1.735e-6)
    assert read_requests(machine, {size: MANY}).rate == pytest.approx(fit, rel=0.001)


@given(machines, mixes)
def test_what_is_asked_for_is_what_comes(machine: Machine, mix: dict[int, int]) -> None:
    read = read_requests(machine, mix)
    count = sum(mix.values())
    assert read.payload == sum(size * number for size, number in mix.items())
    assert read.requests == read.completions == count  # none of them is longer than a payload
    assert read.down_bytes == read.payload + count * machine.link.completion_bytes
    assert read.up_bytes == count * machine.link.request_bytes
    assert read.host_bytes >= read.payload
    assert read.writes == 0


@given(machines, st.integers(0, 10**12))
def test_a_copy_carries_every_byte_once(machine: Machine, size: int) -> None:
    down, up = copy_to_device(machine, size), copy_to_host(machine, size)
    assert down.payload == up.payload == size
    assert down.down_bytes - down.completions * machine.link.completion_bytes == size
    assert up.up_bytes - up.writes * machine.link.write_bytes == size
    assert (down.writes, up.requests, up.completions, up.down_bytes) == (0, 0, 0, 0)
    assert (down.requests - 1) * machine.link.read_request < size or size == 0
    assert (up.writes - 1) * machine.link.payload < size or size == 0


@given(machines, mixes, mixes)
def test_costs_of_a_mix_are_sums(machine: Machine, one: dict[int, int], other: dict[int, int]) -> None:
    both = {size: one.get(size, 0) + other.get(size, 0) for size in one | other}
    parts = read_requests(machine, one), read_requests(machine, other)
    for resource, seconds in read_requests(machine, both).times.items():
        assert seconds == pytest.approx(sum(part.times[resource] for part in parts))


@given(machines, mixes, st.floats(1.0, 8.0))
def test_a_better_machine_is_never_slower(machine: Machine, mix: dict[int, int], factor: float) -> None:
    before = read_requests(machine, mix).seconds
    better: list[dict[str, object]] = [
        {"link.round_trip": machine.link.round_trip / factor},
        {"host.bandwidth": machine.host.bandwidth * factor},
    ]
    if machine.name != "gh200":
        better += [{"link.tag_bits": 10}, {"link.generation": 6}]
    for settings in better:
        assert read_requests(machine.with_settings(settings), mix).seconds <= before


@pytest.mark.parametrize(
    ("settings", "mix", "limit"),
    [
        ({}, {32: MANY}, "tags"),
        ({}, {128: MANY}, "link down"),
        ({"link.round_trip": "100ns"}, {1: MANY}, "link up"),
        ({"host.bandwidth": "5GB/s"}, {128: MANY}, "host memory"),
        ({"link.tag_bits": 5}, {128: MANY}, "tags"),
    ],
)
def test_the_tightest_resource_is_named_and_sets_the_rate(
    settings: dict[str, object], mix: dict[int, int], limit: str
) -> None:
    read = read_requests(V100.with_settings(settings), mix)
    assert read.limit == limit
    assert read.seconds == max(read.times.values()) == read.times[limit]
    assert read.rate == pytest.approx(read.payload / read.seconds)


def test_memory_reads_whole_accesses() -> None:
    read = read_requests(V100, {32: MANY, 96: MANY, 128: MANY})
    assert read.host_bytes == (64 + 128 + 128) * MANY
    assert copy_to_host(V100, 65).host_bytes == 128


def test_nothing_costs_nothing() -> None:
    for nothing in (read_requests(V100, {}), copy_to_device(V100, 0), copy_to_host(V100, 0)):
        assert nothing.seconds == nothing.rate == nothing.payload == 0


@pytest.mark.parametrize("mix", [{0: 1}, {32: -1}, {32: 1.5}, {-32: 1}])
def test_impossible_requests_are_refused(mix: dict[int, int]) -> None:
    with pytest.raises(InvalidArgument, match="request"):
        read_requests(V100, mix)
    with pytest.raises(InvalidArgument, match="size=-1 must be at least 0"):
        copy_to_device(V100, -1)


def shown(transfer: Transfer, name: str) -> int:
    return hardware_counters(transfer, MACHINES["h100"].link)[name]


def test_counters_show_headers_as_measured_on_h100() -> None:
    h100 = find_machine("h100")
    read = read_requests(h100, {64: 1})
    assert shown(read, "pcie__read_bytes.sum") == 76
    assert shown(read, "pcie__write_bytes.sum") == 16
    assert shown(read, "lts__t_sectors_aperture_sysmem_op_read.sum") == 2
    write = copy_to_host(h100, 128)
    assert shown(write, "pcie__write_bytes.sum") == 128 + 16
    assert shown(write, "lts__t_sectors_aperture_sysmem_op_write.sum") == 4
    assert shown(write, "pcie__read_bytes.sum") == 0


@given(machines, mixes)
def test_counters_lie_between_payload_and_wire(machine: Machine, mix: dict[int, int]) -> None:
    read = read_requests(machine, mix)
    counters = hardware_counters(read, machine.link)
    assert read.payload <= counters["pcie__read_bytes.sum"] <= read.down_bytes
    assert counters["pcie__read_bytes.sum"] == counters["DCGM_FI_PROF_PCIE_RX_BYTES"]
    assert counters["pcie__write_bytes.sum"] == counters["DCGM_FI_PROF_PCIE_TX_BYTES"] <= read.up_bytes


@given(machines, st.integers(1, 10**9), st.sampled_from((128, 256, 512)))
def test_a_larger_payload_never_puts_more_on_the_wire(machine: Machine, size: int, payload: int) -> None:
    smaller = replace(machine, link=replace(machine.link, payload=128))
    larger = replace(machine, link=replace(machine.link, payload=payload))
    assert copy_to_device(larger, size).down_bytes <= copy_to_device(smaller, size).down_bytes
