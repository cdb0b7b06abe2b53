"""Random numbers that are the same on every machine and under every version of NumPy.

NumPy promises that a bit generator's raw 64-bit words never change; it makes no such promise for the methods
of `Generator` (`integers`, `permutation`, `choice`). So everything random here is spelled out from the raw
words of Philox4x64-10, a counter-based generator, keyed by the seed and by what the numbers are for: two
purposes under one seed never share a number.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.validation import check_integer


class Draws:
    """A sequence of random numbers fixed by a seed and a purpose (a word of up to eight letters)."""

    def __init__(self, seed: int, purpose: str) -> None:
        seed = check_integer("seed", seed, least=0, most=2**64 - 1)
        word = int.from_bytes(purpose.encode("ascii"), "little")
        self._words = np.random.Philox(key=np.array([seed, word], np.uint64))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw 64-bit words, laid out alike on every machine so that they can be viewed as smaller parts."""
        return self._words.random_raw(count).astype("<u8", copy=False)

    def halves(self, count: int) -> NDArray[np.uint32]:
        """Draw 32-bit words."""
        return self.words((count + 1) // 2).view("<u4")[:count]

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Draw bytes."""
        return self.words((count + 7) // 8).view(np.uint8)[:count]

    def below(self, limit: int, count: int) -> NDArray[np.int64]:
        """Draw `count` whole numbers from 0 to `limit - 1`, each equally likely."""
        check_integer("limit", limit, least=1)
        bits = max(limit - 1, 1).bit_length()
        found = np.empty(0, np.int64)
        while len(found) < count:
            # A number of as many bits as needed is below the limit at least every second time.
            missing = count - len(found)
            drawn = (self.words(missing + missing // 2 + 16) >> np.uint64(64 - bits)).astype(np.int64)
            found = np.concatenate((found, drawn[drawn < limit]))
        return found[:count]

    def distinct(self, limit: int, count: int) -> NDArray[np.int64]:
        """Draw `count` different numbers from 0 to `limit - 1`, ascending; every set is equally likely."""
        check_integer("count", count, least=0, most=limit)
        if count * 4 > limit:
            return np.sort(self.permutation(limit)[:count])
        found = np.empty(0, np.int64)
        while len(found) < count:
            # As many as are missing and never more, so nothing that was drawn has to be given up again.
            found = np.sort(np.concatenate((found, self.below(limit, count - len(found)))))
            found = found[np.diff(found, prepend=-1) > 0]
        return found

    def permutation(self, count: int) -> NDArray[np.int64]:
        """Draw an order of the numbers from 0 to `count - 1`."""
        return np.argsort(self.words(count), kind="stable").astype(np.int64, copy=False)
