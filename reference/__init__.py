"""The reference: plain NumPy, obviously right, the judge of everything else.

`ReferenceGraph` says what batches mean; `bfs`, `sssp`, `sswp`, `connected_components` and `pagerank` compute
answers from scratch; the verifiers accept every legal answer, parents included, and name what is wrong.
"""

from grapin.reference.changes import Arc, Changes, Weight
from grapin.reference.edge_source import Arcs, EdgeSource
from grapin.reference.forest import NO_PARENT
from grapin.reference.graph import ReferenceGraph
from grapin.reference.pagerank import pagerank
from grapin.reference.programs import bfs, connected_components, sssp, sswp
from grapin.reference.rules import UNREACHED, WIDEST
from grapin.reference.verify import (
    verify_bfs,
    verify_components,
    verify_pagerank,
    verify_sssp,
    verify_sswp,
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
    "bfs",
    "connected_components",
    "pagerank",
    "sssp",
    "sswp",
    "verify_bfs",
    "verify_components",
    "verify_pagerank",
    "verify_sssp",
    "verify_sswp",
]
