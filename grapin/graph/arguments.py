"""The arguments of `Graph.from_edges`, checked and brought into the store's types."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.edges import MOST_VERTICES, VertexArray
from grapin.errors import InvalidArgument
from grapin.graph.packed import Patterns
from grapin.graph.request import patterns
from grapin.validation import check_choice, check_integer

_WEIGHT_TYPES: dict[str, np.dtype[Any] | None] = {
    "none": None,
    "int32": np.dtype(np.int32),
    "float32": np.dtype(np.float32),
}


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """Edges in the store's types; `patterns` has length 0 when the graph has no weights."""

    source: VertexArray
    target: VertexArray
    patterns: Patterns
    vertices: int
    weight_dtype: np.dtype[Any] | None


def edge_columns(
    source: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None,
    *,
    vertices: int | None,
    weights: str | None,
) -> EdgeColumns:
    """Check columns of edges; int32 columns are used as they are, without a copy."""
    tails, heads = _vertex_column("source", source), _vertex_column("target", target)
    if len(tails) != len(heads):
        raise InvalidArgument(f"source and target must have one length, not {len(tails)} and {len(heads)}")
    least = 1 + int(max(tails.max(), heads.max())) if len(tails) else 0
    if vertices is None:
        vertices = least
    vertices = check_integer("vertices", vertices, least=0, most=MOST_VERTICES)
    if vertices < least:
        raise InvalidArgument(
            f"vertices={vertices} must be at least {least}: an edge ends at vertex {least - 1}"
        )
    dtype, weight_patterns = _weight_column(weight, len(tails), weights)
    return EdgeColumns(tails, heads, weight_patterns, vertices, dtype)


def refuse_self_loops(columns: EdgeColumns) -> None:
    """Raise `InvalidArgument` if an edge starts and ends at the same vertex."""
    loops = np.flatnonzero(columns.source == columns.target)
    if len(loops):
        vertex = columns.source[loops[0]]
        raise InvalidArgument(
            f"edge ({vertex}, {vertex}) must not be a self loop; self_loops= says what to do with it"
        )


def _vertex_column(name: str, given: ArrayLike) -> VertexArray:
    column = np.asarray(given)
    if column.ndim != 1:
        raise InvalidArgument(f"{name} must have one dimension, not {column.ndim}")
    if not column.size:
        return np.empty(0, np.int32)
    if column.dtype.kind not in "iu":
        raise InvalidArgument(f"{name} must hold whole numbers as vertices, not {column.dtype}")
    least, most = column.min(), column.max()
    if least < 0 or most >= MOST_VERTICES:
        culprit = least if least < 0 else most
        raise InvalidArgument(f"vertex {culprit} in {name} must be at least 0 and below {MOST_VERTICES}")
    return np.ascontiguousarray(column, np.int32)


def _weight_column(
    given: ArrayLike | None, count: int, weights: str | None
) -> tuple[np.dtype[Any] | None, Patterns]:
    if weights is not None:
        check_choice("weights", weights, _WEIGHT_TYPES)
    if weights == "none" or (weights is None and given is None):
        return None, np.empty(0, np.int32)
    column = np.asarray(() if given is None else given)
    if given is not None and not column.size:
        column = column.astype(np.int32) if column.dtype.kind not in "iuf" else column
    if column.shape != (count,):
        raise InvalidArgument(
            f"weight must have one number for each of {count} edges, not shape {column.shape}"
        )
    if not count:
        column = column.astype(np.int32) if weights == "int32" else column
    _check_weights(column)
    dtype = _WEIGHT_TYPES[weights or ("float32" if column.dtype.kind == "f" else "int32")]
    assert dtype is not None
    return dtype, patterns(column, dtype, "weight", InvalidArgument)


def _check_weights(column: NDArray[Any]) -> None:
    if not column.size:
        return
    if column.dtype.kind not in "iuf":
        raise InvalidArgument(f"weight must hold numbers, not {column.dtype}")
    least, most = column.min(), column.max()
    limit = np.finfo(np.float32).max if column.dtype.kind == "f" else np.iinfo(np.int32).max
    # A NaN anywhere makes the minimum NaN, which fails the comparison as well.
    if not (least >= 0 and most <= limit):
        culprit = most if least >= 0 else least
        raise InvalidArgument(f"weight {culprit} must be a number from 0 to {limit}")
