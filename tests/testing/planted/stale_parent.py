"""The CPU device with a planted bug: a vertex that is repaired gets its new value and keeps its old parent."""

from typing import Any

import numpy as np

from grapin.counters import Work
from grapin.device import Query
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.monotone.query import MonotoneQuery
from grapin.kernels.rules import LOW, NO_PARENT, UNREACHED
from grapin.programs.program import Monotone
from grapin.system import System

name = "stale parent"


def unavailable() -> str | None:
    return None


def query(program: Monotone, system: System, **options: Any) -> Query:
    return KeepingParents(program, system, **options)


class KeepingParents(MonotoneQuery):
    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        before = self._words.copy()
        work = super().repair(snapshot, applied, tracing=tracing)
        words = self._words[: len(before)]
        had_one = (before & LOW != NO_PARENT) & (words != UNREACHED)
        words[:] = np.where(had_one, words & ~LOW | before & LOW, words)
        return work
