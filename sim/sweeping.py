"""Sweeps: every combination of systems, machines and caches, on traces that all of them share, in several processes."""

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache.settings import CacheSettings
from grapin.errors import InvalidArgument
from grapin.sim.machine import Machine
from grapin.sim.prediction import Prediction
from grapin.sim.replaying import replay
from grapin.sim.systems import ModelSystem
from grapin.trace import Trace

_TABLES = ("reads", "phases", "changes")
_shared: dict[str, Trace] = {}
"""In a process of a sweep, the traces by repair: mapped files, which the processes share."""


@dataclass(frozen=True)
class Combination:
    """One thing to predict."""

    system: ModelSystem
    machine: Machine
    cache: int | str | CacheSettings | None = None


def sweep(
    traces: Mapping[str, Trace],
    combinations: Sequence[Combination],
    *,
    processes: int = 1,
    advance: Callable[[float], None] = lambda _: None,
) -> list[Prediction]:
    """Return a prediction for each combination, in their order; `traces` has one for each way to repair.

    With more than one process, scripts need the usual `if __name__ == "__main__":`, as for all of `multiprocessing`.
    """
    for repair in {str(one.system.repair) for one in combinations} - set(traces):
        raise InvalidArgument(f"traces must have one whose repair is {repair}")
    if min(processes, len(combinations)) < 2:
        found = []
        for one in combinations:
            found.append(_predicted(traces[one.system.repair], one))
            advance(1)
        return found
    with TemporaryDirectory(prefix="grapin-") as folder:
        for repair, trace in traces.items():
            _lay_out(trace, Path(folder, repair))
        return _in_processes(folder, combinations, processes, advance)


def _in_processes(
    folder: str, combinations: Sequence[Combination], processes: int, advance: Callable[[float], None]
) -> list[Prediction]:
    # Spawned rather than forked: the engine may have threads of its own in this process.
    workers = ProcessPoolExecutor(
        min(processes, len(combinations)), get_context("spawn"), _open_shared, (folder,)
    )
    try:
        waiting: list[Future[Prediction]] = [workers.submit(_predict_shared, one) for one in combinations]
        for done in as_completed(waiting):
            done.result()
            advance(1)
        return [one.result() for one in waiting]
    except BrokenProcessPool:
        raise MemoryError("a process of the sweep was ended from outside; try fewer processes") from None
    finally:
        workers.shutdown(cancel_futures=True)


def _lay_out(trace: Trace, folder: Path) -> None:
    folder.mkdir()
    for table in _TABLES:
        for name, column in getattr(trace, table).items():
            np.save(folder / f"{table}.{name}.npy", column)
    (folder / "about.json").write_text(json.dumps(trace.about))


def _open_shared(folder: str) -> None:
    # Ctrl-C reaches all processes of a terminal; the first one says so, these just end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for path in Path(folder).iterdir():
        _shared[path.name] = _mapped(path)


def _mapped(folder: Path) -> Trace:
    tables: dict[str, dict[str, NDArray[Any]]] = {table: {} for table in _TABLES}
    for file in folder.glob("*.npy"):
        table, name, _ = file.name.split(".")
        # Copied on write, which never happens: compiled functions would be compiled anew for arrays that are read-only.
        tables[table][name] = np.asarray(np.load(file, mmap_mode="c"))
    return Trace(**tables, about=json.loads((folder / "about.json").read_text()))


def _predict_shared(one: Combination) -> Prediction:
    return _predicted(_shared[one.system.repair], one)


def _predicted(trace: Trace, one: Combination) -> Prediction:
    return replay(trace, one.system, one.machine, cache=one.cache)
