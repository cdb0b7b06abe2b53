"""`load`: a graph from a file of any known format, or from a generator's name such as `rmat:18:16`."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grapin.edges import EdgeList
from grapin.files import load_edges
from grapin.files.layout import guesses
from grapin.files.read import Origin
from grapin.files.weights import WEIGHTS, merge, select
from grapin.generators import generate, is_specification
from grapin.graph import Graph
from grapin.graph.packed import Allocate
from grapin.graph.page_store import PageStore
from grapin.validation import check_choice

_LOG = logging.getLogger("grapin")
_TYPES = ("none", "int32", "float32")


def load(
    path: Origin,
    *,
    seed: int = 0,
    format: str | None = None,  # noqa: A002  # the word every reader knows for it
    directed: bool | None = None,
    columns: Sequence[str] | str | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    ids: str = "auto",
    weights: str = "keep",
    self_loops: str = "keep",
    duplicates: str = "last",
    aligned: bool = True,
    in_direction: bool = True,
    allocate: Allocate | None = None,
    strict: bool = False,
    store: str | PageStore = "packed",
) -> Graph:
    """Load a graph as it stands at the end of its file.

    Where rows have times, they count in the order of time: the last event of an edge decides, and an edge
    whose last event is a deletion is absent. What columns without names were taken for is logged, as a warning of the
    logger `grapin`; `columns=` says it instead.

    Args:
        path: A file, a pipe or -, or a table with the Arrow interface (see `grapin.load_edges`), or a specification
            (see `grapin.generate`).
        seed: For generators.
        format: As for `load_edges`; so are directed, columns, delimiter, comment and ids.
        directed: None for what the file says.
        columns: What the columns mean.
        delimiter: The character between columns.
        comment: What comment lines begin with.
        ids: How vertex ids are numbered.
        weights: As for `load_edges` (keep, ignore, absolute, shift, float32, round), or the graph's type:
            none, int32, float32.
        self_loops: keep, drop or refuse.
        duplicates: Which weight a repeated edge gets: last, first, min, max, sum or refuse.
        aligned: As for `Graph.from_edges`; so are the options after it.
        in_direction: Keep in-neighbours too.
        allocate: Places the edge arrays.
        strict: Refuse batches of which a part would be ignored.
        store: packed, in host memory, or pages, in a device's memory.
    """
    check_choice("weights", weights, (*WEIGHTS, *_TYPES))
    if isinstance(path, str) and is_specification(path):
        edges = generated_weights(
            generate(path, seed=seed, weights=weights not in {"ignore", "none"}), weights
        )
        edges = edges if directed is None else replace(edges, directed=directed)
    else:
        edges = load_edges(
            path,
            format=format,
            directed=directed,
            columns=columns,
            delimiter=delimiter,
            comment=comment,
            ids=ids,
            weights={"none": "ignore", "int32": "keep"}.get(weights, weights),
        )
        for note in guesses(edges.notes):
            _LOG.warning("grapin: note: %s: %s", edges.origin, note)
    edges = standing_edges(edges, duplicates)
    return Graph.from_edges(
        edges.source,
        edges.target,
        edges.weight,
        vertices=edges.vertices,
        directed=edges.directed,
        weights=weights if weights in _TYPES else None,
        duplicates=duplicates,
        self_loops=self_loops,
        aligned=aligned,
        in_direction=in_direction,
        allocate=allocate,
        labels=edges.labels,
        strict=strict,
        store=store,
    )


def generated_weights(edges: EdgeList, weights: str) -> EdgeList:
    """Return a generated graph's edges with the weights that a file's would have; they are small whole numbers."""
    if edges.weight is None or weights not in {"float32", "round"}:
        return edges
    return replace(edges, weight=edges.weight.astype(np.float32))


def standing_edges(edges: EdgeList, duplicates: str = "last") -> EdgeList:
    """Return the rows that stand at the end: the last event of each edge by time, without deleted edges."""
    if edges.removed is not None:
        last = merge(edges, "last")
        present = np.flatnonzero(np.asarray(last.removed) == 0)
        return replace(select(last, present), removed=None)
    if edges.time is not None and duplicates in {"first", "last"}:
        return merge(edges, duplicates)
    return edges
