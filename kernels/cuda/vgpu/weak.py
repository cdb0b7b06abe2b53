"""Weak memory: stores may reach others late and out of order, loads may return older values, until there is a fence.

PTX promises little without fences: two threads that pass a message by two plain stores and two plain loads may read the
flag and miss the message. Here a warp keeps some of its stores back in a buffer, which it alone sees, and gives them up
in any order, at the latest at a fence, a barrier or its end. And a plain load may return any value that the memory held
since the warp's last fence or barrier, but none older than what the warp saw or wrote of that word before. Words of 8
bytes are never torn; atomics, volatile and relaxed loads see what memory holds. A warp's own lanes see each other.

It is what a program may see by the rules of PTX, not all that it may: histories and buffers are short.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.kernels.cuda.vgpu.raw import read_1, read_2, read_4, read_8, write_1, write_2, write_4, write_8

VERSIONS = 4
"""Older values that are remembered of a word."""
BUFFER = 32
"""Stores that a warp keeps back at most."""
TABLE = 1 << 13
"""Words, and pairs of warp and word, that are remembered; what is forgotten is read as it is."""
LATE, STALE = 1, 2
"""Out of four stores, so many are kept back; out of four loads, so many look for an older value."""


class Weak(NamedTuple):
    """What is remembered of memory; all empty where memory is not weak."""

    settings: NDArray[np.int64]
    """Whether memory is weak; the random state; the time, which counts writes."""
    views: NDArray[np.int64]
    """When each warp last had a fence or a barrier."""
    words: NDArray[np.int64]
    """Word of the table, (address, next version, `VERSIONS` times when a value was overwritten, those values)."""
    floors: NDArray[np.int64]
    """Pair of the table, (warp, address, time before which nothing is seen, the latest such time forgotten)."""
    buffers: NDArray[np.int64]
    """Warp, place, (address, size, value)."""
    held: NDArray[np.int64]
    """How many stores each warp keeps back."""


def weak_memory(warps: int, *, on: bool, seed: int) -> Weak:
    """Return a memory of which nothing is known yet."""
    size, warps = (TABLE, warps) if on else (1, 1)
    settings = np.array([on, seed | 1, 1], np.int64)
    words = np.zeros((size, 2 + 2 * VERSIONS), np.int64)
    zeros = np.zeros(warps, np.int64)
    buffers = np.zeros((warps, BUFFER, 3), np.int64)
    return Weak(settings, zeros, words, np.full((size, 4), -1, np.int64), buffers, zeros.copy())


@inlined
def draw(state: Any, place: Any, below: Any) -> Any:
    """Return a random number; xorshift of 64 bits, its state one element of an array."""
    number = state[place]
    number ^= number << 13
    number ^= (number >> 7) & ((np.int64(1) << 57) - 1)
    number ^= number << 17
    state[place] = number
    return ((number >> 11) & 0x7FFFFFFF) % below


@inlined
def _slot(warp: Any, word: Any) -> Any:
    mixed = (word >> 3) * np.int64(0x9E3779B97F4A7C1) + warp * np.int64(0x632BE59BD9B4E01)
    return (mixed >> 20) & (TABLE - 1)


@kernel
def _floor(weak: Weak, warp: Any, word: Any) -> Any:
    row = weak.floors[_slot(warp, word)]
    own = row[2] if row[0] == warp and row[1] == word else row[3]
    return max(own, weak.views[warp])


@kernel
def _raise_floor(weak: Weak, warp: Any, word: Any, time: Any) -> None:
    row = weak.floors[_slot(warp, word)]
    if row[0] != warp or row[1] != word:
        row[3] = max(row[2], row[3])
        row[0], row[1], row[2] = warp, word, time
    else:
        row[2] = max(row[2], time)


@kernel
def write_now(weak: Weak, warp: Any, address: Any, size: Any, value: Any) -> None:
    """Write memory, and remember what it held."""
    word = address & ~np.int64(7)
    row = weak.words[_slot(np.int64(0), word)]
    if row[0] != word:
        row[:] = 0
        row[0] = word
    weak.settings[2] += 1
    place = row[1] % VERSIONS
    row[2 + place] = weak.settings[2]
    row[2 + VERSIONS + place] = read_8(word)
    row[1] += 1
    if size == 4:
        write_4(address, value)
    elif size == 8:
        write_8(address, value)
    elif size == 1:
        write_1(address, value)
    else:
        write_2(address, value)
    _raise_floor(weak, warp, word, weak.settings[2])


@kernel
def _give_up(weak: Weak, warp: Any, place: Any) -> None:
    """Write one store that was kept back."""
    buffer = weak.buffers[warp]
    address, size, value = buffer[place, 0], buffer[place, 1], buffer[place, 2]
    weak.held[warp] -= 1
    last = weak.held[warp]
    buffer[place, 0], buffer[place, 1], buffer[place, 2] = buffer[last, 0], buffer[last, 1], buffer[last, 2]
    write_now(weak, warp, address, size, value)


@kernel
def settle(weak: Weak, warp: Any, address: Any) -> None:
    """Write what a warp keeps back of one word."""
    place = 0
    while place < weak.held[warp]:
        if weak.buffers[warp, place, 0] >> 3 == address >> 3:
            _give_up(weak, warp, np.int64(place))
        else:
            place += 1


@kernel
def write_weakly(weak: Weak, warp: Any, address: Any, size: Any, value: Any) -> None:
    """Write memory, perhaps later."""
    if weak.held[warp] and draw(weak.settings, 1, 8) == 0:
        _give_up(weak, warp, draw(weak.settings, 1, weak.held[warp]))
    settle(weak, warp, address)
    if draw(weak.settings, 1, 4) < LATE:
        if weak.held[warp] == BUFFER:
            _give_up(weak, warp, draw(weak.settings, 1, BUFFER))
        row = weak.buffers[warp, weak.held[warp]]
        row[0], row[1], row[2] = address, size, value
        weak.held[warp] += 1
    else:
        write_now(weak, warp, address, size, value)


@kernel
def read_weakly(weak: Weak, warp: Any, address: Any, size: Any) -> Any:
    """Read memory, or what it held since the warp's last fence."""
    for place in range(weak.held[warp]):
        if weak.buffers[warp, place, 0] >> 3 == address >> 3:
            if weak.buffers[warp, place, 0] == address and weak.buffers[warp, place, 1] == size:
                value = weak.buffers[warp, place, 2]
                return value if size == 8 else value & ((np.int64(1) << 8 * size) - 1)
            settle(weak, warp, address)
            break
    word = address & ~np.int64(7)
    row = weak.words[_slot(np.int64(0), word)]
    if row[0] == word and draw(weak.settings, 1, 4) < STALE:
        floor = _floor(weak, warp, word)
        kept = min(row[1], np.int64(VERSIONS))
        # Versions that were still there after the floor are the latest ones.
        possible = np.int64(0)
        while possible < kept and row[2 + (row[1] - 1 - possible) % VERSIONS] > floor:
            possible += 1
        back = draw(weak.settings, 1, possible + 1)
        if back:
            version = row[1] - back
            begun = row[2 + (version - 1) % VERSIONS] if back < kept else np.int64(0)
            _raise_floor(weak, warp, word, begun)
            value = row[2 + VERSIONS + version % VERSIONS] >> (8 * (address - word))
            return value if size == 8 else value & ((np.int64(1) << 8 * size) - 1)
    _raise_floor(weak, warp, word, weak.settings[2])
    if size == 4:
        return read_4(address)
    if size == 8:
        return read_8(address)
    if size == 1:
        return read_1(address)
    return read_2(address)


@kernel
def fence(weak: Weak, warp: Any) -> None:
    """Write all that a warp keeps back, in any order, and let it see nothing older than now."""
    while weak.held[warp]:
        _give_up(weak, warp, draw(weak.settings, 1, weak.held[warp]))
    weak.views[warp] = weak.settings[2]
