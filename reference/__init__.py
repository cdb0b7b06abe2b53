"""The reference: plain NumPy, obviously right, the judge of everything else.

`ReferenceGraph` says what batches mean; `bfs`, `sssp`, `sswp`, `connected_components`, `pagerank` and `accumulate`
compute answers from scratch; the verifiers accept every legal answer, parents included, and name what is wrong.
"""

from grapin.reference.accumulative import accumulate, pagerank, verify_accumulative, verify_pagerank
from grapin.reference.graph import Arc, Arcs, Changes, EdgeSource, ReferenceGraph, Weight
from grapin.reference.programs import UNREACHED, WIDEST, bfs, connected_components, sssp, sswp, triangles
from grapin.reference.verify import (
    NO_PARENT,
    verify_bfs,
    verify_components,
    verify_sssp,
    verify_sswp,
    verify_triangles,
)

__all__ = [
    "NO_PARENT",
    "UNREACHED",
    "WIDEST",
    "Arc",
    "Arcs",
    "Changes",
    "EdgeSource",
    "ReferenceGraph",
    "Weight",
    "accumulate",
    "bfs",
    "connected_components",
    "pagerank",
    "sssp",
    "sswp",
    "triangles",
    "verify_accumulative",
    "verify_bfs",
    "verify_components",
    "verify_pagerank",
    "verify_sssp",
    "verify_sswp",
    "verify_triangles",
]
