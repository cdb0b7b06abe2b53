"""Links: the rates and packets of PCI Express, and of what is not PCI Express."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.errors import InvalidArgument
from grapin.sim import find_machine
from grapin.sim.machine import LANES, PAYLOADS, TRANSFERS, PcieLink

LINK = PcieLink(
    generation=4,
    lanes=16,
    payload=256,
    completion_boundary=64,
    read_request=512,
    round_trip=1e-6,
    tag_bits=8,
)

# GB/s left for packets by generation, lanes and payload, as pcie-model (Neugebauer et al., SIGCOMM 2018) computes them.
RATES = {
    (3, 8): (7.0832, 7.2356, 7.164),
    (3, 16): (13.9624, 14.2125, 14.3279),
    (4, 16): (27.9249, 28.425, 28.6558),
    (5, 16): (55.8498, 56.85, 57.3117),
    (6, 16): (107.2409, 109.1615, 110.0479),
}

links = st.builds(
    PcieLink,
    generation=st.sampled_from(sorted(TRANSFERS)),
    lanes=st.sampled_from(LANES),
    payload=st.sampled_from(PAYLOADS),
    completion_boundary=st.sampled_from((64, 128)),
    read_request=st.sampled_from((128, 256, 512, 4096)),
    round_trip=st.floats(1e-7, 1e-4),
    tag_bits=st.sampled_from((5, 8, 10)),
)


@pytest.mark.parametrize(("generation", "lanes"), list(RATES))
def test_the_rate_is_that_of_the_published_model(generation: int, lanes: int) -> None:
    for payload, rate in zip(PAYLOADS, RATES[generation, lanes], strict=True):
        link = replace(LINK, generation=generation, lanes=lanes, payload=payload)
        assert link.rate / 1e9 == pytest.approx(rate, rel=1e-5)


@pytest.mark.parametrize(("payload", "interval"), [(128, 169), (256, 214), (512, 250)])
def test_four_lanes_follow_the_intervals_of_the_specification(payload: int, interval: int) -> None:
    link = replace(LINK, lanes=4, payload=payload)
    assert link.control_share == pytest.approx(16 / interval + 4 / 1538)


@given(links)
def test_a_later_generation_and_more_lanes_carry_more(link: PcieLink) -> None:
    assert 0 < link.rate < link.raw_rate
    if link.generation < max(TRANSFERS):
        assert replace(link, generation=link.generation + 1).rate > 1.8 * link.rate
    if link.lanes < max(LANES):
        assert replace(link, lanes=2 * link.lanes).rate > 1.8 * link.rate


@given(links, st.integers(1, 4096), st.integers(0, 4095))
def test_answers_are_cut_only_at_boundaries_and_are_as_few_as_can_be(
    link: PcieLink, size: int, address: int
) -> None:
    packets, at = 0, address
    while at < address + size:
        end = min(address + size, (at + link.payload) // link.completion_boundary * link.completion_boundary)
        assert 0 < end - at <= link.payload
        packets, at = packets + 1, end
    assert link.completions(size, address) == packets


@pytest.mark.parametrize(("bits", "tags"), [(5, 32), (8, 256), (10, 768)])
def test_tags_bound_what_waits(bits: int, tags: int) -> None:
    assert replace(LINK, tag_bits=bits).tags == tags


@pytest.mark.parametrize(
    ("name", "value", "choices"),
    [
        ("generation", 7, "3, 4, 5, 6"),
        ("lanes", 3, "1, 2, 4, 8, 16"),
        ("payload", 100, "128, 256, 512"),
        ("tag_bits", 9, "5, 8, 10"),
        ("completion_boundary", 32, "64, 128"),
    ],
)
def test_what_pci_express_does_not_have_is_refused(name: str, value: int, choices: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"link\.{name}={value} must be one of {choices}"):
        replace(LINK, **{name: value})  # type: ignore[arg-type]  # all of them are whole numbers


def test_a_chip_link_carries_what_its_vendor_states() -> None:
    link = find_machine("gh200").link
    assert link.rate == 450e9
    assert link.completions(128) == 1
    with pytest.raises(InvalidArgument, match="multiple of completion_boundary=64"):
        replace(link, payload=100)
