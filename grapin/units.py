"""What memory is read in, and bytes, counts and durations as people write and read them."""

import re

from grapin.errors import InvalidArgument

ELEMENT = 4
"""Bytes of a neighbour, and of a weight."""
SECTOR, LINE = 32, 128
"""Bytes of the smallest and the largest request of a GPU's warp: a line of its caches, in four sectors (CUDA C++ Best
Practices Guide, "Coalesced Access to Global Memory")."""
PAGE = 4096
"""Bytes of the pages in which host memory is counted and PCIe requests end."""
WARP = 32
"""Lanes of a warp."""

_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}
_NUMBER = r"\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*"
_RATE = re.compile(_NUMBER + r"([KMGT]?)(?:B/s)?\s*", re.IGNORECASE)
_DURATION = re.compile(_NUMBER + r"(ns|us|ms|s|)\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Read a size such as `4G`, `32M`, `512 KiB` or `1000`; the prefixes are powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InvalidArgument(f"size={text!r} must be a number with an optional K, M, G or T, such as 32M")
    return int(float(match[1]) * _BINARY[match[2].upper()])


def parse_rate(text: str) -> float:
    """Read bytes a second such as `900G`, `12.3 GB/s` or `5e9`; the prefixes are powers of 1000."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise InvalidArgument(
            f"rate={text!r} must be a number with an optional K, M, G or T, such as 12.3GB/s"
        )
    return float(match[1]) * _DECIMAL[match[2].upper()]


def parse_seconds(text: str) -> float:
    """Read a duration such as `1.7us`, `20 ms` or `0.5`; without a unit it is seconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InvalidArgument(
            f"duration={text!r} must be a number with an optional ns, us, ms or s, such as 1.7us"
        )
    return float(match[1]) * _SECONDS[match[2].lower()]


def format_rate(rate: float) -> str:
    """Write bytes a second with three digits and a decimal prefix: `12.3 GB/s`."""
    for unit in ("B/s", "KB/s", "MB/s", "GB/s"):
        if abs(rate) < 1000:
            return f"{rate:.3g} {unit}"
        rate /= 1000
    return f"{rate:.3g} TB/s"


def format_bytes(count: float) -> str:
    """Write a number of bytes with three digits and a binary prefix: `1.25 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def format_count(count: int) -> str:
    """Write a whole number with thousands separators: `15,038,083`."""
    return f"{count:,}"


def format_seconds(seconds: float) -> str:
    """Write a duration with a fitting unit and three digits, or in whole seconds: `1.21 ms`, `1140 s`."""
    if abs(seconds) >= 1000:
        return f"{seconds:.0f} s"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if abs(seconds) * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
