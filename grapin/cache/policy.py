"""`Policy`: what is decided about copies, and when. The base class is the policy `none`: nothing is ever held."""

import numpy as np
from numpy.typing import NDArray

from grapin.cache.holdings import Holdings, Places

NOTHING: Places = np.empty(0, np.int64)
"""No lists."""


class Policy:
    """One way to choose what a device holds; a policy overrides what it does differently from holding nothing."""

    in_advance = False
    """Whether chosen lists are read before the computation, rather than left behind by the first read of them."""
    on_first_use = False
    """Whether lists may be let in, and copies mended, while a phase reads."""

    def choose(self, holdings: Holdings, frontier: Places = NOTHING) -> Places:
        """In advance: return the lists to hold during the coming batch. Otherwise: those to give up now.

        Within a phase, `frontier` are the lists that the coming iteration reads, each once and in order.
        """
        del holdings, frontier
        return NOTHING

    def wanted(self) -> int:
        """Return how many elements reads may fill after a choice; space is reclaimed so that they are ready."""
        return 0

    def admits(self, holdings: Holdings, places: Places) -> NDArray[np.bool_]:
        """Tell which lists without a slot, being read from the host in this order, may leave a copy behind."""
        del holdings
        return np.zeros(len(places), np.bool_)

    def refused(self, holdings: Holdings, places: Places) -> None:
        """Hear which admitted lists found no room."""

    def patience(self, holdings: Holdings) -> float:
        """Return how many elements a phase reads until the policy is asked whether it is restless."""
        del holdings
        return np.inf

    def restless(self, holdings: Holdings, frontier: Places = NOTHING) -> bool:
        """Tell, before an iteration of a phase that reads these lists, whether to choose again."""
        del holdings, frontier
        return False
