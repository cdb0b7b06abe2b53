"""The CPU device with a planted bug: the first deletion of a batch never reaches the repair."""

from dataclasses import replace
from typing import Any

from grapin.batch import Batch
from grapin.counters import Work
from grapin.device import Query
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.monotone.query import MonotoneQuery
from grapin.programs.program import Monotone
from grapin.system import System

name = "lost deletion"


def unavailable() -> str | None:
    return None


def query(program: Monotone, system: System, **options: Any) -> Query:
    return LosingDeletions(program, system, **options)


class LosingDeletions(MonotoneQuery):
    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        kept = Batch(insert=applied.deleted.rows()[1:]).insert
        return super().repair(snapshot, replace(applied, deleted=kept), tracing=tracing)
