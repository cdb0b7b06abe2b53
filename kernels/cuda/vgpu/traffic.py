"""What one memory instruction of a warp moves: addresses coalesced into sectors, lines and requests, behind L1 and L2.

The bytes that the lanes of a warp touch with one instruction are taken together: each 32-byte sector counts once, and
sectors side by side within one 128-byte line are one request, of 32 to 128 bytes. So many are asked for when nothing is
kept ("uncached"). A load then looks into the L1 of its multiprocessor, and for the sectors that are not there into the
L2: both keep lines of 128 bytes of which single sectors may be there, in sets of lines of which the least recently used
gives way. Stores and atomics go to the L2 directly, and what they change is gone from their own L1 only.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined
from grapin.kernels.cuda.vgpu.effects import LANES
from grapin.kernels.cuda.vgpu.raw import count_lanes, prefetch
from grapin.units import LINE, PAGE, SECTOR

SECTORS = LINE // SECTOR
ALL_SECTORS = (1 << SECTORS) - 1
EMPTY = -1 << SECTORS
"""A line that there is not, with no sectors."""


class Home(IntEnum):
    """Where memory lies that kernels touch."""

    DEVICE = 0
    HOST = 1
    """Host memory read over the link, sector by sector: zero-copy."""
    MANAGED = 2
    """Unified memory, which migrates page by page."""
    SHARED = 3
    LOCAL = 4


class Count(IntEnum):
    """What is counted of each instruction and home."""

    INSTRUCTIONS = 0
    """Executed by warps: Nsight's requests."""
    LANES = 1
    BYTES = 2
    """Which lanes asked for; the same byte counts for each of them."""
    SECTORS = 3
    LINES = 4
    UNCACHED = 5
    """Requests of 32, 64, 96 and 128 bytes as the lanes of one instruction ask for them; three more follow."""
    AFTER_L1 = 9
    """The same for the sectors that the L1 did not hold."""
    AFTER_L2 = 13
    """The same for those that the L2 did not hold either."""


COUNTS = 17
LINES_FOUND, SECTORS_FOUND, STAMP, PLACE, NUMBER = range(5)
"""Columns of the room in which lines are gathered: a list of lines and their sectors; a hash table of places in that
list, valid where the stamp is the present instruction's; in the first row, how many instructions there were."""


class Traffic(NamedTuple):
    """All that counting works on."""

    counts: NDArray[np.int64]
    """Effect, home, `Count`."""
    l1: NDArray[np.int64]
    """Multiprocessor, set, way, latest used first: a line's number above a bit for each sector that is there."""
    l2: NDArray[np.int64]
    pages: NDArray[np.uint8]
    """Whether each page of the regions was touched in this launch."""
    counting: NDArray[np.int64]
    """0 counts nothing but bytes, 1 what is uncached, 2 all; the addresses of L1 and L2."""
    lines: NDArray[np.int64]
    """Room to gather the lines of one instruction in."""


def empty_caches(caches: int, size: int, ways: int) -> NDArray[np.int64]:
    """Return caches of `size` bytes each, with nothing in them."""
    return np.full((caches, max(1, size // LINE // ways), ways), EMPTY, np.int64)


@inlined
def _set_of(line: Any, sets: Any) -> Any:
    """Return a line's set: mixed, so that lists a power of two apart do not share one, as GPUs do too."""
    return (((line * np.int64(0x9E3779B97F4A7C1)) >> 20 & 0xFFFFFFFF) * sets) >> 32


@inlined
def _prefetch_set(cache: Any, address: Any, which: Any, line: Any) -> None:
    """Ask for the ways of a line's set, of a cache that lies at an address."""
    sets, ways = cache.shape[1], cache.shape[2]
    at = address + (which * sets + _set_of(line, sets)) * ways * 8
    prefetch(at)
    prefetch(at + 8 * ways - 8)


@inlined
def look_up(cache: Any, which: Any, line: Any, sectors: Any) -> Any:
    """Return those of a line's sectors that a cache does not hold; from now on it holds them."""
    ways = cache[which, _set_of(line, cache.shape[1])]
    wanted, later = line << SECTORS, ways[0]
    if later >> SECTORS == line:
        ways[0] = later | sectors
        return sectors & ~later
    for way in range(1, len(ways)):  # look for it, and make room in front on the way
        this = ways[way]
        ways[way] = later
        if this >> SECTORS == line:
            ways[0] = this | sectors
            return sectors & ~this
        later = this
    ways[0] = wanted | sectors
    return sectors


@inlined
def drop(cache: Any, which: Any, line: Any, sectors: Any) -> None:
    """Forget sectors of a line."""
    at = _set_of(line, cache.shape[1])
    for way in range(cache.shape[2]):
        if cache[which, at, way] >> SECTORS == line:
            cache[which, at, way] &= ~sectors


@inlined
def _gather_lines(traffic: Traffic, processor: Any, addresses: Any, lanes: Any) -> Any:
    """Gather the lines that lanes touch, each once, with its sectors; return how many there are."""
    found, cached = traffic.lines, traffic.counting[0] >= 2
    found[0, NUMBER] += 1
    now, count, last = found[0, NUMBER], 0, 0
    for lane in range(lanes):
        line, sector = addresses[lane] >> 7, np.int64(1) << (addresses[lane] >> 5 & 3)
        if count and found[last, LINES_FOUND] == line:
            found[last, SECTORS_FOUND] |= sector
            continue
        at = (line * np.int64(0x9E3779B1) >> 13) & (len(found) - 1)
        while found[at, STAMP] == now and found[found[at, PLACE], LINES_FOUND] != line:
            at = (at + 1) & (len(found) - 1)
        if found[at, STAMP] == now:
            last = found[at, PLACE]
            found[last, SECTORS_FOUND] |= sector
        else:
            found[at, STAMP], found[at, PLACE] = now, count
            found[count, LINES_FOUND], found[count, SECTORS_FOUND] = line, sector
            last = count
            count += 1
            if cached:
                _prefetch_set(traffic.l1, traffic.counting[1], processor, line)
                _prefetch_set(traffic.l2, traffic.counting[2], np.int64(0), line)
    return count


def gathering_room() -> NDArray[np.int64]:
    """Return room for the lines of one instruction."""
    return np.zeros((2 * LANES, 5), np.int64)


def _stretches(sectors: int) -> int:
    """Count the stretches of neighbouring sectors of one line: `PACKED` bits a length, shortest first."""
    lengths = [len(one) for one in f"{sectors:b}".split("0") if one]
    return sum(1 << PACKED * (length - 1) for length in lengths)


PACKED = 16
"""An instruction touches at most 64 lines, so no count outgrows its bits."""
STRETCHES = np.array([_stretches(sectors) for sectors in range(ALL_SECTORS + 1)], np.int64)


@inlined
def _add_requests(counts: Any, base: Any, packed: Any) -> None:
    """Add numbers of requests, packed as `STRETCHES` are."""
    for place in range(SECTORS):
        counts[base + place] += packed >> PACKED * place & ((1 << PACKED) - 1)


@inlined
def count_access(
    traffic: Traffic,
    effect: Any,
    home: Any,
    processor: Any,
    addresses: Any,
    lanes: Any,
    size: Any,
    page: Any,
    loads: Any,
    past_l1: Any,
) -> None:
    """Count one instruction: `addresses` holds the first `lanes` addresses, `size` bytes each.

    `page` is what is added to an address's page to find its place in `traffic.pages`.
    """
    counts = traffic.counts[effect, home]
    counts[Count.INSTRUCTIONS] += 1
    counts[Count.LANES] += lanes
    counts[Count.BYTES] += lanes * size
    if not traffic.counting[0] or home >= Home.SHARED:
        return
    count = _gather_lines(traffic, processor, addresses, lanes)
    sectors = uncached = after_l1 = after_l2 = np.int64(0)
    cached = traffic.counting[0] >= 2
    for place in range(count):
        line, mask = traffic.lines[place, LINES_FOUND], traffic.lines[place, SECTORS_FOUND]
        sectors += count_lanes(mask)
        uncached += STRETCHES[mask]
        if home != Home.DEVICE:
            traffic.pages[(line * LINE) // PAGE + page] = 1
        if not cached:
            continue
        missing = mask
        if not loads:
            drop(traffic.l1, processor, line, mask)
        elif not past_l1:
            missing = look_up(traffic.l1, processor, line, mask)
        if missing:
            after_l1 += STRETCHES[missing]
            after_l2 += STRETCHES[look_up(traffic.l2, 0, line, missing)]
    counts[Count.SECTORS] += sectors
    counts[Count.LINES] += count
    _add_requests(counts, Count.UNCACHED, uncached)
    if cached:
        _add_requests(counts, Count.AFTER_L1, after_l1)
        _add_requests(counts, Count.AFTER_L2, after_l2)
