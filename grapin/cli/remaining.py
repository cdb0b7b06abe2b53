"""What a stream must leave behind, found by plain NumPy and held against a store."""

from typing import Any

import numpy as np

from grapin.batch import edge_keys
from grapin.errors import WrongAnswer
from grapin.graph import Graph
from grapin.stream import Stream


def check_remaining(store: Graph, stream: Stream) -> None:
    """Raise `WrongAnswer` unless the store holds the start, plus all insertions, minus all deletions.

    This holds for a stream that names each edge at most once, as a sampled workload does.
    """
    expected, got = _expected(stream), _stored(store)
    for name, wanted, found in zip(("edges", "weights"), expected, got, strict=True):
        if not np.array_equal(wanted, found):
            raise WrongAnswer(f"the {name} in the store differ from what plain NumPy finds")


def _expected(stream: Stream) -> tuple[Any, Any]:
    parts: list[Any] = [stream.start]
    gone = []
    for batch in stream:
        parts.append(batch.insert)
        gone.append(batch.delete.keys)
    keys = np.concatenate([edge_keys(part.source, part.target) for part in parts])
    weight = np.concatenate([_weights(part) for part in parts])
    kept = ~np.isin(keys, np.concatenate(gone)) if gone else np.ones(len(keys), np.bool_)
    return _in_order(keys[kept], weight[kept])


def _stored(store: Graph) -> tuple[Any, Any]:
    source, target, weight = store.edge_arrays()
    weight = np.zeros(len(source), np.int32) if weight is None else weight
    kept = np.ones(len(source), np.bool_) if store.directed else source <= target
    return _in_order(edge_keys(source[kept], target[kept]), weight[kept])


def _weights(edges: Any) -> Any:
    return np.zeros(len(edges), np.int32) if edges.weight is None else edges.weight


def _in_order(keys: Any, weight: Any) -> tuple[Any, Any]:
    order = np.argsort(keys)
    return keys[order], weight[order]
