"""How a cache is asked for: its policy, its room, and what each of them must be."""

import re
from dataclasses import dataclass

from grapin.errors import InvalidArgument
from grapin.units import ELEMENT, parse_bytes
from grapin.validation import check_choice, check_integer, refuse

POLICIES = ("none", "published", "adaptive", "oracle")
CHUNK = 32 * 2**20
"""Bytes of a chunk; the size that the paper uses (Grapin §7, setup)."""
WINDOW = 3
"""Batches whose reads count; the paper's choice too (Grapin §5.1)."""
PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
"""A part of the bytes of all edges, for a cache or for the memory of a GPU."""


@dataclass(frozen=True)
class CacheSettings:
    """Which lists to keep a copy of, and how much room there is for them."""

    policy: str
    capacity: int
    """Bytes of list elements on the device: neighbours and, where a program reads them, weights."""
    chunk: int = CHUNK
    """Bytes within which lists are moved together when others leave. No list is split between chunks, so one that is
    longer than a chunk is never kept: it is read over the link, as all are without a cache."""
    window: int = WINDOW
    """How many finished batches tell what the next one will read."""

    def __post_init__(self) -> None:
        check_choice("policy", self.policy, POLICIES)
        check_integer("capacity", self.capacity, least=0)
        check_integer("chunk", self.chunk, least=2 * ELEMENT)
        check_integer("window", self.window, least=1, most=255)


_MOST = 2**48
"""Bytes: more than any device has."""


def read_settings(given: "str | int | CacheSettings", *, policy: str, edge_bytes: int) -> CacheSettings:
    """Return the settings that `10%` (of the bytes of all edges), `1G`, a number of bytes, or `adaptive:10%` mean.

    `policy` is the one to use where none is named.
    """
    if isinstance(given, CacheSettings):
        return given
    if isinstance(given, str):
        named, colon, size = given.rpartition(":")
        policy = check_choice("cache policy", named, POLICIES) if colon else policy
        room = _bytes(given, size, edge_bytes)
        if room >= _MOST:
            refuse("cache", given, "be room that a device can have")
        return CacheSettings(policy, room)
    return CacheSettings(policy, check_integer("cache", given, least=0))


def _bytes(given: str, size: str, edge_bytes: int) -> int:
    percent = PERCENT.fullmatch(size)
    if percent is not None:
        return int(edge_bytes * float(percent[1]) / 100)
    try:
        return parse_bytes(size)
    except InvalidArgument:
        refuse("cache", given, "be a part of the edges' bytes such as 10%, or a size such as 1G or 32M")
