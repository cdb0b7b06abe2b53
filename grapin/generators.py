"""Graphs by name: a specification such as `rmat:18:16` can stand wherever a path can.

| specification | graph |
|---|---|
| `rmat:SCALE[:EDGEFACTOR]` | 2^SCALE vertices, EDGEFACTOR (16) edges drawn for each, skewed as in a crowd |
| `er:N:M` | N vertices, M directed edges, every such graph equally likely (Erdős-Rényi) |
| `grid:ROWS:COLS` | streets: each crossing joined to its neighbours, both ways, one weight for both |
| `star:N` | N vertices, an edge from vertex 0 to every other: the hub |
| `path:N` | N vertices, an edge from each to the next: the longest way |
| `empty` | no vertices |

All are directed and simple: no self loops, no edge twice; rows are sorted by source, then target. Weights are
whole numbers from 1 to 64, each equally likely. The same specification and seed give the same rows on any
machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from grapin.edges import MOST_VERTICES, EdgeList
from grapin.errors import InvalidArgument
from grapin.random import Draws
from grapin.units import format_count
from grapin.validation import check_integer, nearest

HEAVIEST = 64
"""Weights are drawn from 1 to this; it divides 256, so a byte gives one without bias."""

_MOST_EDGES = 2**31
_BLOCK = 1 << 16
"""Edges drawn at a time: the few arrays of a block stay in a core's own cache."""

_QUADRANTS = (0.57, 0.19, 0.19, 0.05)  # a, b, c, d: Graph500 specification, section 3.4
_UPPER_LEFT, _UPPER, _ALL_BUT_LOWER_RIGHT = (
    np.uint32(round(bound * 2**32)) for bound in np.cumsum(_QUADRANTS)[:3]
)

Keys = NDArray[np.int64]
"""Edges packed into one number each: source in the upper 32 bits, target in the lower."""


@dataclass(frozen=True)
class _Kind:
    usage: str
    example: str
    defaults: tuple[int, ...]
    make: Callable[..., tuple[int, Keys, str]]

    @property
    def most_numbers(self) -> int:
        return self.usage.count(":")


def is_specification(text: str) -> bool:
    """Tell whether `text` names a generator rather than a file (a file of such a name is `./star:5`)."""
    name, colon, _ = text.partition(":")
    return name in _KINDS and bool(colon) == (name != "empty")


def suggestion(text: str) -> str:
    """Return a hint to end a sentence with, where a text that is no specification looks like one; else nothing."""
    name = text.partition(":")[0]
    near = get_close_matches(name, _KINDS, n=1, cutoff=0.75)
    return f" (did you mean a generator, such as {_KINDS[near[0]].example}?)" if near else ""


def generate(spec: str, *, seed: int = 0, weights: bool = True) -> EdgeList:
    """Make the graph that `spec` describes.

    >>> generate("path:4", weights=False).target.tolist()
    [1, 2, 3]
    """
    kind, numbers = _parse(spec)
    vertices, keys, note = kind.make(*numbers, seed)
    source, target = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    weight = _weights(source, target, seed, alike=spec.startswith("grid")) if weights else None
    return EdgeList(source, target, vertices, weight, origin=spec, notes=(note,) if note else ())


def _parse(spec: str) -> tuple[_Kind, list[int]]:
    name, *words = spec.split(":")
    if name not in _KINDS:
        known = ", ".join(kind.usage for kind in _KINDS.values())
        raise InvalidArgument(f"spec={spec!r} must be one of {known}{nearest(name, _KINDS)}")
    kind = _KINDS[name]
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = [-1]
    missing = kind.most_numbers - len(numbers)
    if min(numbers, default=0) < 0 or not 0 <= missing <= len(kind.defaults):
        raise InvalidArgument(
            f"spec={spec!r} must be {kind.usage} with whole numbers, such as {kind.example}"
        )
    return kind, numbers + list(kind.defaults[len(kind.defaults) - missing :])


def _weights(
    source: NDArray[np.int32], target: NDArray[np.int32], seed: int, *, alike: bool
) -> NDArray[np.int32]:
    draws = Draws(seed, "weights")
    if not alike:
        return (draws.bytes(len(source)) % HEAVIEST).astype(np.int32) + np.int32(1)
    pairs = (np.minimum(source, target).astype(np.int64) << 32) | np.maximum(source, target)
    distinct, row = np.unique(pairs, return_inverse=True)
    return ((draws.bytes(len(distinct)) % HEAVIEST).astype(np.int32) + np.int32(1))[row]


def _rmat(scale: int, edge_factor: int, seed: int) -> tuple[int, Keys, str]:
    """Recursive matrix: each edge picks one quadrant a level, then vertices are renamed at random.

    The renaming is Graph500's: without it, ids would tell degrees, and hubs would lie side by side in memory.
    """
    check_integer("SCALE", scale, most=30)
    vertices, drawn = 1 << scale, check_integer("edges", edge_factor << scale, most=_MOST_EDGES)
    draws = Draws(seed, "rmat")
    renamed = Draws(seed, "rename").permutation(vertices)
    keys = np.empty(drawn, np.int64)
    for begin in range(0, drawn, _BLOCK):
        block = keys[begin : begin + _BLOCK]
        source, target = _descend(draws, scale, len(block))
        block[:] = (renamed[source] << 32) | renamed[target]
    kept = _simple(keys)
    dropped = format_count(drawn - len(kept))
    return (
        vertices,
        kept,
        f"{dropped} of {format_count(drawn)} drawn edges were self loops or repeated; dropped",
    )


def _descend(draws: Draws, scale: int, count: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    source, target = np.zeros(count, np.int32), np.zeros(count, np.int32)
    for _ in range(scale):
        chance = draws.halves(count)
        lower = chance >= _UPPER
        right = (chance >= _UPPER_LEFT) ^ lower ^ (chance >= _ALL_BUT_LOWER_RIGHT)
        source += source + lower
        target += target + right
    return source, target


def _simple(keys: Keys) -> Keys:
    keys.sort()
    kept = (keys >> 32) != (keys & 0xFFFFFFFF)
    kept[1:] &= keys[1:] != keys[:-1]
    simple: Keys = keys[kept]
    return simple


def _erdos_renyi(vertices: int, edges: int, seed: int) -> tuple[int, Keys, str]:
    check_integer("N", vertices, most=MOST_VERTICES)
    possible = vertices * (vertices - 1)
    check_integer("M", edges, most=min(possible, _MOST_EDGES))
    # Pair number p is the p-th entry of the adjacency matrix without its diagonal.
    pairs = np.sort(Draws(seed, "er").distinct(possible, edges))
    source, column = np.divmod(pairs, max(vertices - 1, 1))
    return vertices, (source << 32) | (column + (column >= source)), ""


def _grid(rows: int, columns: int, _seed: int) -> tuple[int, Keys, str]:
    vertices = check_integer("ROWS * COLS", rows * columns, most=MOST_VERTICES)
    crossing = np.arange(vertices, dtype=np.int64).reshape(rows, columns)
    ends = [(crossing[:, :-1], crossing[:, 1:]), (crossing[:-1], crossing[1:])]
    ends += [(target, source) for source, target in ends]
    keys = np.concatenate([((source << 32) | target).ravel() for source, target in ends])
    keys.sort()
    return vertices, keys, ""


def _star(vertices: int, _seed: int) -> tuple[int, Keys, str]:
    check_integer("N", vertices, most=MOST_VERTICES)
    return vertices, np.arange(1, vertices, dtype=np.int64), ""


def _path(vertices: int, _seed: int) -> tuple[int, Keys, str]:
    check_integer("N", vertices, most=MOST_VERTICES)
    source = np.arange(max(vertices - 1, 0), dtype=np.int64)
    return vertices, (source << 32) | (source + 1), ""


def _empty(_seed: int) -> tuple[int, Keys, str]:
    return 0, np.empty(0, np.int64), ""


_KINDS = {
    "rmat": _Kind("rmat:SCALE[:EDGEFACTOR]", "rmat:18:16", (16,), _rmat),
    "er": _Kind("er:N:M", "er:1000:5000", (), _erdos_renyi),
    "grid": _Kind("grid:ROWS:COLS", "grid:100:100", (), _grid),
    "star": _Kind("star:N", "star:1000", (), _star),
    "path": _Kind("path:N", "path:1000", (), _path),
    "empty": _Kind("empty", "empty", (), _empty),
}
