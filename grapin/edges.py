"""Edges as plain arrays: what files and generators hand out, and what graphs and streams are made from.

An `EdgeList` keeps the rows as they came (order, duplicates, self loops, times, deletions); a `Graph` is a set
of edges. Vertex ids are dense int32 here; `Labels` remembers the names they had in the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import GrapinError, InvalidArgument

MOST_VERTICES = 2**31 - 1
"""Vertex ids are int32, and the largest one stays free to mean 'no vertex'."""

VertexArray = NDArray[np.int32]
WeightArray = NDArray[np.int32] | NDArray[np.float32]

COUNTED_BY_FLOATS = 2.0**53
"""From here on every 64-bit float is a whole number, and so none is one that somebody counted."""
_FLOAT32_DIGITS = 2**24
"""An odd number up to here is exact as a 32-bit float, and so are its doubles."""


def lost_in_float32(numbers: Any) -> NDArray[np.bool_]:
    """Tell which numbers of at least 0 are whole and would be others as 32-bit floats.

    Real numbers are rounded there as a matter of course; a count, an amount or an id is another one when it is.
    """
    given = np.atleast_1d(numbers)
    if given.dtype == np.float32 or not given.size:
        return np.zeros(given.shape, np.bool_)
    if given.dtype.kind == "f":
        counted = (given < COUNTED_BY_FLOATS) & (given == np.trunc(given))
        whole = np.where(counted, given, 0).astype(np.uint64)
    elif given.dtype == object:
        return np.array([int(np.float32(one)) != one for one in given.flat], np.bool_).reshape(given.shape)
    else:
        whole = given.astype(np.uint64)
    # Without the zeros that its binary form ends with, a number has the digits that a float must keep.
    lowest = np.maximum(whole & (~whole + np.uint64(1)), np.uint64(1))
    lost: NDArray[np.bool_] = whole // lowest >= _FLOAT32_DIGITS
    return lost


def check_exact(weights: NDArray[Any], where: str, error: type[GrapinError]) -> None:
    """Raise `error` naming the first weight that is whole and would be another one as a 32-bit float."""
    lost = lost_in_float32(weights)
    if lost.any():
        weight = weights[np.argmax(lost)]
        raise error(
            f"weight {weight} in {where} must be exact as a 32-bit float, and would become {int(np.float32(weight))}: "
            "give np.float32 weights to have them rounded"
        )


class Labels:
    """The names vertices had outside: label `names[v]` belongs to vertex `v`."""

    def __init__(self, names: NDArray[Any]) -> None:
        self.names = names
        """int64 or string (object) array, one distinct name a vertex."""
        self._indices: dict[Any, int] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def name(self, vertex: int) -> int | str:
        """Return the outside name of a vertex."""
        name: int | str = self.names[vertex].item() if self.names.dtype != object else self.names[vertex]
        return name

    def vertex(self, name: int | str) -> int:
        """Return the vertex with this outside name; the look-up table is built on first use."""
        if self._indices is None:
            self._indices = {known: index for index, known in enumerate(self.names.tolist())}
        try:
            return self._indices[name]
        except KeyError:
            raise InvalidArgument(
                f"vertex={name!r} must be one of the {len(self)} names in the file"
            ) from None


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Rows of source, target and what else the origin had; every array has one entry a row."""

    source: VertexArray
    target: VertexArray
    vertices: int
    """How many vertices there are; every id is below this."""
    weight: WeightArray | None = None
    time: NDArray[np.int64] | NDArray[np.float64] | None = None
    removed: NDArray[np.bool_] | None = None
    """True where the row deletes its edge (KONECT's -1 events); None when every row inserts."""
    directed: bool = True
    labels: Labels | None = None
    """None when the ids in the file were already dense and were kept."""
    origin: str = "arrays"
    """Where the rows came from: a path or a generator's specification."""
    notes: Sequence[str] = field(default=())
    """What was noticed or done on the way in, one sentence each: dropped self loops, merged duplicates ..."""

    def __len__(self) -> int:
        return len(self.source)
