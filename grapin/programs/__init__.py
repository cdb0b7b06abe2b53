"""Programs: what can be kept fresh, one file each, found by name."""

from grapin.programs.bfs import BFS
from grapin.programs.components import ConnectedComponents
from grapin.programs.pagerank import PageRank
from grapin.programs.program import Accumulative, Monotone, Program
from grapin.programs.sssp import SSSP
from grapin.programs.sswp import SSWP

__all__ = ["BFS", "SSSP", "SSWP", "Accumulative", "ConnectedComponents", "Monotone", "PageRank", "Program"]
