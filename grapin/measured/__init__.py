"""Measured traffic: what a run's own counters, the GPU's driver and NVIDIA's profilers say crossed the link.

Whatever measured it, a measurement is a few totals by kind (`Measured`), so that each can be laid beside what the model
predicts of the same kind (`compare`).
"""

from grapin.measured.compare import Row, compare, predicted, read_measured
from grapin.measured.measured import KINDS, Measured

__all__ = ["KINDS", "Measured", "Row", "compare", "predicted", "read_measured"]
