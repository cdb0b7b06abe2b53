"""The CPU device with a planted bug: a list ends one neighbour too early."""

from dataclasses import replace
from typing import Any

import numpy as np

from grapin.counters import Work
from grapin.device import Query
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cpu.monotone.query import MonotoneQuery
from grapin.programs.program import Monotone
from grapin.system import System

name = "short lists"


def unavailable() -> str | None:
    return None


def query(program: Monotone, system: System, **options: Any) -> Query:
    return EndingEarly(program, system, **options)


class EndingEarly(MonotoneQuery):
    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        return super().repair(shortened(snapshot), applied, tracing=tracing)


def shortened(snapshot: Snapshot) -> Snapshot:
    assert snapshot.in_ is not None
    return replace(snapshot, out=without_last(snapshot.out), in_=without_last(snapshot.in_))


def without_last(lists: Lists) -> Lists:
    # A column as the store has them, strided and not to be written to, so that nothing is compiled again for it.
    degrees = np.repeat(np.maximum(lists.degrees - 1, 0), 2)[::2]
    degrees.flags.writeable = False
    return replace(lists, degrees=degrees)
