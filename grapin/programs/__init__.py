"""Programs: what can be kept fresh, one file each, found by name."""

from grapin.programs.monotone import BFS, SSSP, SSWP, ConnectedComponents
from grapin.programs.pagerank import PageRank
from grapin.programs.program import Accumulative, Monotone, Program

__all__ = ["BFS", "SSSP", "SSWP", "Accumulative", "ConnectedComponents", "Monotone", "PageRank", "Program"]
