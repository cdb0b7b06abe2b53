"""Links between host and GPU: how many bytes a second they carry, and what a packet costs on them.

A GPU reads host memory by requests; each is a packet up to the host. The answer comes down as one or more completions,
each with a header of its own. A tag names a request until it is answered, so the number of tags bounds how many wait.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from grapin.figures import Part, figure
from grapin.validation import refuse

TRANSFERS = {3: 8e9, 4: 16e9, 5: 32e9, 6: 64e9}
"""Bits a second on one lane (PCIe Base Specification 6.0)."""
ENCODING = {3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}
"""What of them is not spent on line coding; in 6.0 on the check bytes of a flit (same)."""
LANES = (1, 2, 4, 8, 16)
PAYLOADS = (128, 256, 512)
TAGS = {5: 32, 8: 256, 10: 768}
"""Requests that may wait, by the bits of a tag; of ten bits the upper two are never both zero (same, 2.2.6.2)."""

_ACK_FACTORS = {16: (3.0, 3.0, 2.0), 8: (2.5, 2.5, 1.0)}
"""How many packets one acknowledgement answers, by payload; on fewer lanes 1.4, 1.4, 1.0 (5.0, tables 3-7 to 3-9)."""
_TLP_OVERHEAD = 28  # the specification's formula for those tables: packet bytes around the payload
_INTERNAL_DELAY = 115  # symbol times from 8 GT/s on, same formula
_CONTROL_PACKET = 8  # an acknowledgement or a credit update: 2 bytes framing, 4 content, 2 CRC (same)
_SKIP = 4 / 1538  # ordered sets for clock compensation (same)


@dataclass(frozen=True, kw_only=True)
class Link(Part):
    """What every link has; the unit of all sizes is bytes, of all rates bytes a second in one direction."""

    payload: int = figure("bytes")
    """The most data one packet carries."""
    completion_boundary: int = figure("bytes")
    """An answer may only be cut at multiples of this."""
    read_request: int = figure("bytes")
    """The most the copy engine asks for in one request."""
    round_trip: float = figure("seconds")
    """From a request's leaving the GPU to its data's arrival on an idle link, host memory included."""
    efficiency: float = figure("share", 1.0)
    """What of the rate that the link's rules allow is reached."""

    role: ClassVar[str] = "link"
    framing: ClassVar[int]
    """What of a packet the GPU's own counters leave out."""
    request_bytes: ClassVar[int]
    """What a read request takes on the wire."""
    completion_bytes: ClassVar[int]
    """What a completion takes beside its data."""
    write_bytes: ClassVar[int]
    """What a write takes beside its data."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """What packets may use in one direction, headers included."""

    @property
    @abstractmethod
    def tags(self) -> int:
        """How many requests may wait for their answers at a time."""

    def completions(self, size: int, address: int = 0) -> int:
        """Return in how many packets the answer to a read of `size` bytes comes back.

        The host sends as much as it may: the first packet ends at the last boundary within a payload, the others carry
        a whole payload each.
        """
        first_end = (address + self.payload) // self.completion_boundary * self.completion_boundary
        return 1 + max(0, -(-(address + size - first_end) // self.payload))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.payload % self.completion_boundary:
            refuse(
                "link.payload",
                self.payload,
                f"be a multiple of completion_boundary={self.completion_boundary}",
            )


@dataclass(frozen=True, kw_only=True)
class PcieLink(Link):
    """PCI Express. Each packet has 8 bytes of framing, sequence number and LCRC around header and data."""

    generation: int = figure()
    lanes: int = figure()
    tag_bits: int = figure()

    framing: ClassVar[int] = 8
    request_bytes: ClassVar[int] = 16 + framing  # with a 64-bit address (PCIe Base Specification, 2.2.4.1)
    write_bytes: ClassVar[int] = 16 + framing
    completion_bytes: ClassVar[int] = 12 + framing  # same, 2.2.9

    def __post_init__(self) -> None:
        for name, choices in (
            ("generation", tuple(TRANSFERS)),
            ("lanes", LANES),
            ("payload", PAYLOADS),
            ("completion_boundary", (64, 128)),
            ("tag_bits", tuple(TAGS)),
        ):
            if getattr(self, name) not in choices:
                refuse(f"link.{name}", getattr(self, name), f"be one of {', '.join(map(str, choices))}")
        super().__post_init__()

    @property
    def raw_rate(self) -> float:
        """What the lanes carry after line coding."""
        return TRANSFERS[self.generation] * ENCODING[self.generation] * self.lanes / 8

    @property
    def control_share(self) -> float:
        """What of it goes to acknowledgements, credit updates and clock compensation.

        One acknowledgement and one credit update are allowed for in each interval within which the specification wants
        them, a byte a symbol time, as Neugebauer et al. count it (SIGCOMM 2018, and their pcie-model). Counted by lane
        it would be less; measured rates side with this. PCIe 6.0 has no published figure and is counted like 5.0.
        """
        factor = _ACK_FACTORS.get(self.lanes, (1.4, 1.4, 1.0))[PAYLOADS.index(self.payload)]
        interval = int((self.payload + _TLP_OVERHEAD) * factor / self.lanes + _INTERNAL_DELAY)
        return 2 * _CONTROL_PACKET / interval + _SKIP

    @property
    def rate(self) -> float:
        """What is left for packets."""
        return self.raw_rate * (1 - self.control_share) * self.efficiency

    @property
    def tags(self) -> int:
        """How many requests may wait for their answers at a time."""
        return TAGS[self.tag_bits]


@dataclass(frozen=True, kw_only=True)
class ChipLink(Link):
    """NVLink-C2C, the link between the two halves of a Grace Hopper or Grace Blackwell module.

    Its packets are not published; they are taken to be NVLink's, whose headers are one flit of 16 bytes (Foley and
    Danskin, IEEE Micro 37(2), 2017).
    """

    nominal_rate: float = figure("bytes/s")
    """In one direction, as the vendor states it."""
    requests_in_flight: int = figure()

    framing: ClassVar[int] = 0
    request_bytes: ClassVar[int] = 16
    write_bytes: ClassVar[int] = 16
    completion_bytes: ClassVar[int] = 16

    @property
    def rate(self) -> float:
        """The nominal rate: what control packets take is not published."""
        return self.nominal_rate * self.efficiency

    @property
    def tags(self) -> int:
        """How many requests may wait for their answers at a time."""
        return self.requests_in_flight
