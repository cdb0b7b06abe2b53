"""How often each list was read in the last batches: one saturating byte a list and batch, the oldest forgotten."""

import numpy as np
from numpy.typing import NDArray

MOST = 255
"""What a byte can count; the paper finds tens to a few hundred reads a vertex and batch (Grapin §5.1)."""


class AccessWindow:
    """Counts of the batch under way and of the `window` batches before it.

    The paper shifts one integer a vertex to the right when a batch ends. Here the batches' bytes lie in a ring of rows,
    and the row that falls out is cleared only where it counted: a batch costs what it read, not what there is.
    """

    def __init__(self, window: int) -> None:
        self._counts = np.zeros((window + 1, 0), np.uint8)
        self._touched: list[list[NDArray[np.int64]]] = [[] for _ in range(window + 1)]
        self._current = 0
        self._forgotten: list[NDArray[np.int64]] = []

    def grow(self, places: int) -> None:
        """Make room for lists below `places`."""
        missing = places - self._counts.shape[1]
        self._counts = np.pad(self._counts, ((0, 0), (0, missing)))

    def advance(self) -> None:
        """End the batch under way, and forget the oldest."""
        self._current = (self._current + 1) % len(self._counts)
        self._forgotten = self._touched[self._current]
        for places in self._touched[self._current]:
            self._counts[self._current, places] = 0
        self._touched[self._current] = []

    def count(self, places: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Count reads of lists in the batch under way; each list is named once."""
        row = self._counts[self._current]
        before = row[places]
        row[places] = np.minimum(before + times, MOST)
        self._touched[self._current].append(places[before == 0])

    def take_forgotten(self) -> list[NDArray[np.int64]]:
        """Return, once, the lists that the batch read which fell out of the window last."""
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def touched(self) -> NDArray[np.int64]:
        """Return the lists that the batches of the window read, each once."""
        found = [np.empty(0, np.int64)]
        for age, row in enumerate(self._ages()):
            places = np.concatenate([np.empty(0, np.int64), *self._touched[row]])
            found.append(places[~self.history(places)[:age].any(axis=0)])
        return np.concatenate(found)

    def history(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the counts of the batch under way and of those before it, a row each, the latest first."""
        return np.stack([self._counts[row, places] for row in self._ages()])

    def hotness(self) -> NDArray[np.int64]:
        """Return for every list how often the finished batches of the window read it."""
        finished: NDArray[np.int64] = self._counts[self._ages()[1:]].sum(axis=0, dtype=np.int64)
        return finished

    def _ages(self) -> list[int]:
        """Return the rows of the ring, that of the batch under way first."""
        rows = len(self._counts)
        return [(self._current - age) % rows for age in range(rows)]
