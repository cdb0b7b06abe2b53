"""`published`: the paper's choice. The lists read most in the last batches, as many as fit, loaded before the next.

All lists are sorted by how often they were read, as the paper does it (Grapin §5.1: sort, prefix sum of sizes, search);
so a batch costs here as much as there are lists, however little it reads. The paper's engine reads out-lists only; here
any list counts that a repair reads.
"""

import numpy as np

from grapin.cache.holdings import Holdings, Places
from grapin.cache.policy import NOTHING, Policy


class Published(Policy):
    """Frequency over the window, loaded in advance, loaded again whole when changed."""

    in_advance = True

    def choose(self, holdings: Holdings, frontier: Places = NOTHING) -> Places:
        """Return the hottest lists that together fit, hottest first, and by place where they are equally hot."""
        del frontier
        hotness = holdings.window.hotness()
        read = np.flatnonzero(hotness)
        read = read[holdings.cacheable(read)]
        hottest = read[np.argsort(-hotness[read], kind="stable")]
        sizes = np.cumsum(holdings.lengths[hottest])
        return hottest[: np.searchsorted(sizes, holdings.chunks.capacity, side="right")]
