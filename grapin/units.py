"""Bytes, counts and durations as people write and read them."""

import re

from grapin.errors import InvalidArgument

_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Read a size such as `4G`, `32M`, `512 KiB` or `1000`; the prefixes are powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InvalidArgument(f"size={text!r} must be a number with an optional K, M, G or T, such as 32M")
    return int(float(match[1]) * _BINARY[match[2].upper()])


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
    """Write a duration with a fitting unit and three digits: `1.21 ms`."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if abs(seconds) * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
