"""Programs: what can be kept fresh, one file each, found by name."""

from grapin.programs.monotone import BFS, SSSP, SSWP, ConnectedComponents
from grapin.programs.pagerank import PageRank
from grapin.programs.program import Monotone, Program

__all__ = ["BFS", "SSSP", "SSWP", "ConnectedComponents", "Monotone", "PageRank", "Program"]
