"""Families: graphs that differ in size only, so that small ones say what a large one would do.

A family is a generator's specification with another size, or a list of degrees, of which any number of vertices can be
drawn: their degrees are spread evenly over the list, and edges join them at random in proportion.

**Tiling**: the trace of a small graph, laid side by side until it is as long as that of a large one.

What a GPU does to memory hangs on what has a size: how many blocks its memory holds, how many warps are in flight, how
many faults a batch takes. Made smaller with the graph, all of these reach one soon, and one block is not a hundredth of
a hundred blocks. So it is the graph that is made larger, not the machine smaller: copies of its lists lie one behind
the other, and each iteration reads those of all copies. What a graph has per list (how long it is, how often it is
read, how many rounds there are) stays that of the small one; how it grows is for `extrapolation` to say.

Copies take turns, and each begins at another place of an iteration: lists that are read one after the other lie as
far apart as those of a large graph do, and no two copies of a list are read together.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grapin.edges import MOST_VERTICES, EdgeList
from grapin.errors import InvalidArgument, InvalidFile
from grapin.generators import HEAVIEST, is_specification
from grapin.random import Draws
from grapin.spool import readable
from grapin.trace import Trace

DEGREES = "degrees:"
"""How the name of a graph begins that stands for a file of degrees."""
LARGEST_RUN = 2**22
"""Edges of the largest graph that is run where nobody says which."""
BYTES_AN_EDGE = 150
"""What a run needs at its peak: rows, both directions of the store, traces; 175 were measured on rmat:18:16 with two
ways to repair, of which about 30 are Python and its libraries."""
_MEMBERS, _MOST_MEMBERS = 6, 64

_SIZES: dict[str, Callable[..., tuple[int, int]]] = {
    "rmat": lambda scale, factor=16: (
        1 << min(scale, 63),
        factor << min(scale, 63),
    ),  # more is too much anyway
    "er": lambda vertices, edges: (vertices, edges),
    "grid": lambda rows, columns: (rows * columns, 4 * rows * columns),
    "star": lambda vertices: (vertices, vertices),
    "path": lambda vertices: (vertices, vertices),
}
"""Vertices and edges that a specification asks for."""


def nominal_size(spec: str) -> int:
    """Return the number of edges that a specification asks for, before repeated ones are dropped."""
    name, *numbers = spec.split(":")
    try:
        vertices, edges = _SIZES[name](*(int(number) for number in numbers))
    except (KeyError, ValueError, TypeError, OverflowError, MemoryError):
        raise InvalidArgument(
            f"graph={spec!r} must be a generator with whole numbers, such as rmat:18:16"
        ) from None
    if vertices > MOST_VERTICES:
        raise InvalidArgument(
            f"graph={spec!r} must have at most {MOST_VERTICES:,} vertices: ids are of 32 bits"
        )
    return edges


def members(target: str, given: str) -> list[str]:
    """Return the graphs that `--from` names: `rmat:16..19` are four, with what else the target has; or several.

    >>> members("rmat:26:16", "rmat:16..18")
    ['rmat:16:16', 'rmat:17:16', 'rmat:18:16']
    """
    found: list[str] = []
    for one in given.split(","):
        name, *numbers = one.strip().split(":")
        numbers += target.split(":")[1:][len(numbers) :]
        low, dots, high = numbers[0].partition("..") if numbers else ("", "", "")
        if dots and not (low.isdecimal() and high.isdecimal() and int(low) < int(high)):
            raise InvalidArgument(f"from={given!r} must have a range of whole numbers, such as rmat:16..19")
        if dots and int(high) - int(low) > _MOST_MEMBERS:
            raise InvalidArgument(f"from={given!r} must name at most {_MOST_MEMBERS} graphs")
        sizes = [str(size) for size in range(int(low), int(high) + 1)] if dots else numbers[:1]
        found += [":".join([name, size, *numbers[1:]]) for size in sizes]
    family = target.partition(":")[0]
    for one in found:
        if one.partition(":")[0] != family or nominal_size(one) >= nominal_size(target):
            raise InvalidArgument(f"from={given!r} must name smaller graphs of the family of {target}")
    return found


def too_large(graph: str) -> bool:
    """Tell whether a generator's graph would not fit into this computer's memory."""
    if not is_specification(graph) or graph == "empty":
        return False
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return nominal_size(graph) * BYTES_AN_EDGE > memory


def usual_members(target: str) -> list[str]:
    """Return graphs of a generator's family that can be run in a minute, each twice the one before."""
    name, size, *rest = target.split(":")
    if name != "rmat":
        raise InvalidArgument(
            f"graph={target!r} is too large to run here: give --from with smaller ones of its family"
        )
    factor = nominal_size(target) >> int(size)
    largest = (LARGEST_RUN // max(1, factor)).bit_length() - 1
    return [":".join([name, str(scale), *rest]) for scale in range(largest - _MEMBERS + 1, largest + 1)]


def read_degrees(path: str | Path) -> NDArray[np.int64]:
    """Read a file with one out-degree a line, or a NumPy array of them."""
    try:
        ignored = warnings.catch_warnings(
            category=UserWarning, action="ignore"
        )  # an empty file is refused below
        with ignored, readable(path) as file:
            raw = np.load(file) if str(path).endswith(".npy") else np.loadtxt(file, np.float64, ndmin=1)
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    except (ValueError, OSError) as error:
        raise InvalidFile(f"{path}: must hold one degree a line ({error})") from None
    degrees = np.asarray(raw)
    if degrees.ndim != 1 or not len(degrees) or degrees.min() < 0 or (degrees != np.floor(degrees)).any():
        raise InvalidFile(f"{path}: must hold one whole number of at least 0 a line")
    return np.sort(degrees.astype(np.int64))


def sampled_vertices(degrees: NDArray[np.int64]) -> list[int]:
    """Return how many vertices to draw for graphs of a family that can be run in a minute."""
    edges = max(1, int(degrees.sum()))
    most = min(len(degrees), max(1 << _MEMBERS, len(degrees) * LARGEST_RUN // (2 * edges)))
    return [most >> step for step in range(_MEMBERS - 1, -1, -1)]


def sampled_graph(degrees: NDArray[np.int64], vertices: int, seed: int) -> EdgeList:
    """Draw a graph of so many vertices with degrees spread evenly over a sorted list of them.

    Ends are drawn in proportion to degrees, so that hubs point at hubs as often as chance has it; loops and repeated
    edges are dropped, and ids say nothing about degrees.
    """
    draws = Draws(seed, "degrees")
    chosen = degrees[((np.arange(vertices) + 0.5) * len(degrees) / vertices).astype(np.int64)]
    source = np.repeat(np.arange(vertices), chosen)
    target = source[draws.below(max(1, len(source)), len(source))] if len(source) else source
    renamed = draws.permutation(vertices)
    keys = np.unique((renamed[source].astype(np.int64) << 32) | renamed[target])
    keys = keys[(keys >> 32) != (keys & 0xFFFFFFFF)]
    weight = (draws.below(HEAVIEST, len(keys)) + 1).astype(np.int32)
    ends = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    return EdgeList(*ends, vertices, weight, origin=f"{vertices} vertices of a list of degrees")


_ALIGNED = 32
"""Elements of a line of 128 bytes, which copies begin with as arrays do."""


def tiled(trace: Trace, copies: int, *, changed: float, alike: bool = True) -> Trace:
    """Return so many copies of a trace side by side.

    Args:
        trace: what a small graph's run read.
        copies: how many.
        changed: how many copies' changes the batches make; less than one is a part of them.
        alike: whether a batch reads all copies, as one that reads the whole graph does, or only those it changes.
    """
    some = min(copies, max(1, round(changed)))
    phase = trace.reads["phase"].astype(np.int64)
    begins = np.flatnonzero(np.diff(phase, prepend=-1) | np.diff(trace.reads["iteration"], prepend=-1))
    lengths = np.diff(begins, append=len(trace))
    first = int(trace.phases["version"].min(initial=0))
    start = trace.phases["version"][phase[begins]] == first
    taken = np.where(start | alike, copies, some)
    rows, copy = _in_turns(begins, lengths, taken)
    reads = {name: column[rows] for name, column in trace.reads.items()}
    reads["start"] = reads["start"] + copy * _strides(trace, reads["inward"])
    reads["vertex"] = (reads["vertex"] + copy * int(trace.phases["vertices"].max(initial=0))).astype(np.int32)
    phases = dict(trace.phases)
    for name in ("vertices", "edges"):
        phases[name] = phases[name] * copies
    for name in ("out_slots", "in_slots"):
        phases[name] = _aligned(phases[name]) * copies
    return replace(
        trace, reads=reads, phases=phases, changes=_changes(trace, copies if alike else some, changed)
    )


def _in_turns(
    begins: NDArray[np.int64], lengths: NDArray[np.int64], copies: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of the trace and the copy each is of, iteration by iteration."""
    sizes = lengths * copies
    iteration = np.repeat(np.arange(len(begins)), sizes)
    place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    length, count = lengths[iteration], copies[iteration]
    copy = place % count
    return begins[iteration] + (place // count + copy * length // count) % length, copy


def _changes(trace: Trace, copies: int, changed: float) -> dict[str, NDArray[np.generic]]:
    """Return as many changes as so many copies make, version by version, evenly chosen from all copies' changes."""
    count = len(trace.changes["version"])
    row, turn = np.repeat(np.arange(count), copies), np.tile(np.arange(copies), count)
    kept = np.diff(np.floor(np.arange(len(row) + 1) * min(1.0, changed / copies))) > 0
    row, copy = row[kept], ((turn + row) % copies)[kept]
    changes = {name: column[row] for name, column in trace.changes.items()}
    changes["start"] = changes["start"] + copy * _strides(trace, changes["inward"])
    shifted = changes["vertex"] + copy * int(trace.phases["vertices"].max(initial=0))
    changes["vertex"] = shifted.astype(np.int32)
    return changes


def _strides(trace: Trace, inward: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how far apart copies of a list lie; one array serves both directions where there is no second."""
    out, in_ = (int(_aligned(trace.phases[name]).max(initial=0)) for name in ("out_slots", "in_slots"))
    return np.where(inward, in_ or out, out)


def _aligned(slots: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-slots // _ALIGNED) * _ALIGNED
