"""`Trace`: what a run touched, list by list; the one value that passes from engine to model.

A trace is three tables: lists read (in which phase and iteration, whose list, in which direction, where it starts, how
many elements, from how many arrays, whether that was the whole list, whether the device held a copy); phases (the
start, then each batch, for each program); and lists changed by a batch. Reads of one iteration do not wait for each
other; iterations do.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 - it is a class

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Counters, count_reads
from grapin.device import Work
from grapin.errors import InvalidFile
from grapin.graph.change import Applied
from grapin.graph.packed import Snapshot
from grapin.spool import readable

_MOST, _LONGEST = 2**48, 2**31
"""Above every place in the arrays of a store that fits into a computer; above the length of every list."""
FORMAT = 3
"""Raised when the meaning of a saved trace changes."""

_COLUMNS = {
    "phase": np.int32,
    "iteration": np.int32,
    "vertex": np.int32,
    "inward": np.bool_,
    "start": np.int64,
    "length": np.int32,
    "arrays": np.uint8,
    "whole": np.bool_,
    "cached": np.bool_,
}
_PHASE_COLUMNS = {
    "version": np.int64,
    "program": np.int32,
    "vertices": np.int64,
    "edges": np.int64,
    "out_slots": np.int64,
    "in_slots": np.int64,
}
_CHANGE_COLUMNS = {
    "version": np.int64,
    "vertex": np.int32,
    "inward": np.bool_,
    "start": np.int64,
    "length": np.int32,
    "mutations": np.int32,
}


@dataclass(frozen=True, eq=False)
class Trace:
    """Which lists a run read, in the order in which it read them."""

    reads: dict[str, NDArray[Any]]
    """Columns `phase, iteration, vertex, inward, start, length, arrays, whole, cached`; start and length count elements
    of 4 bytes."""
    phases: dict[str, NDArray[Any]]
    """Columns `version, program, vertices, edges, out_slots, in_slots`: the graph's version and size, whose values were
    computed, and how many elements the edge arrays of each direction have, gaps included (`in_slots` is 0 where there
    is no in-direction or it is the same as the out-direction)."""
    changes: dict[str, NDArray[Any]]
    """Columns `version, vertex, inward, start, length, mutations`: the lists that the batch leading to this version
    changed, as they are after it, and how many of their entries it inserted, deleted or re-weighted."""
    about: dict[str, Any]
    """Programs, system, device, cache, and how the graph is stored."""

    def __len__(self) -> int:
        return len(self.reads["vertex"])

    def __repr__(self) -> str:
        return f"Trace({len(self)} lists in {len(self.phases['version'])} phases, {self.about['system']})"

    def counters(self, phase: int | None = None, *, aligned: bool = True) -> Counters:
        """Count what was read, in all or in one phase, as the system that was recorded moves it.

        `aligned=False` is for a warp that starts where lists start.
        """
        total = Counters()
        rows = slice(None) if phase is None else self.reads["phase"] == phase
        starts, lengths, arrays = (self.reads[name][rows] for name in ("start", "length", "arrays"))
        for count in (1, 2):
            some = arrays == count
            total += count_reads(starts[some], lengths[some], arrays=count, aligned=aligned)
        return total.moved_by(self.about.get("transfer", "zero-copy"))

    def save(self, path: str | Path) -> None:
        """Write one file, compressed; what was there is replaced only when all is written."""
        path = Path(path)
        columns = {f"reads.{name}": column for name, column in self.reads.items()}
        columns |= {f"phases.{name}": column for name, column in self.phases.items()}
        columns |= {f"changes.{name}": column for name, column in self.changes.items()}
        about = np.frombuffer(json.dumps(self.about | {"format": FORMAT}).encode(), np.uint8)
        partial = path.with_name(path.name + ".part")
        try:
            with partial.open("wb") as file:
                np.savez_compressed(file, about=about, allow_pickle=False, **columns)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> "Trace":
        """Read a saved trace, from a file, a pipe, or - for standard input."""
        try:
            # Opened here, because NumPy leaves a file open that turns out not to be an archive.
            with (
                readable(path) as content,
                content.open("rb") as raw,
                np.load(raw, allow_pickle=False) as file,
            ):
                about = dict(json.loads(bytes(file["about"])))
                _check_format(path, about)
                reads = {name: file[f"reads.{name}"] for name in _COLUMNS}
                phases = {name: file[f"phases.{name}"] for name in _PHASE_COLUMNS}
                changes = {name: file[f"changes.{name}"] for name in _CHANGE_COLUMNS}
                _check(about, reads, phases, changes)
        except InvalidFile:
            raise
        except FileNotFoundError:
            raise InvalidFile(f"{path}: there is no such file") from None
        except IsADirectoryError:
            raise InvalidFile(f"{path}: is a directory, not a trace") from None
        except (BadZipFile, KeyError, TypeError, ValueError, EOFError, OSError, ZlibError, RuntimeError):
            raise InvalidFile(
                f"{path}: is not a trace, or is damaged: `grapin run --trace FILE` and `Trace.save` write whole ones"
            ) from None
        return cls(reads, phases, changes, about)


def _check_format(path: str | Path, about: dict[str, Any]) -> None:
    if about.pop("format", None) != FORMAT:
        raise InvalidFile(f"{path}: was saved in another format; record the run again with this version")


def _check(about: dict[str, Any], *tables: dict[str, NDArray[Any]]) -> None:
    """Raise `ValueError` for what no run writes: columns of unequal length or of other kinds, numbers out of bounds."""
    if not {"programs", "repair", "system"} <= about.keys():
        raise ValueError("it does not say what was run")
    for columns in tables:
        if len({column.shape for column in columns.values()}) > 1:
            raise ValueError("its columns differ in length")
        for column in columns.values():
            whole = column.ndim == 1 and column.dtype.kind in "iub"
            if not whole or (column.size and not 0 <= column.min() <= column.max() < _MOST):
                raise ValueError("a column holds what it cannot")
    reads, phases, _changes = tables
    if (reads["phase"] >= len(phases["version"])).any() or (reads["length"] >= _LONGEST).any():
        raise ValueError("it has reads of no phase, or of no list")


class TraceWriter:
    """Collects what each phase of an engine's run read, and what each batch changed."""

    def __init__(self, about: dict[str, Any]) -> None:
        self._about = about
        self._reads: list[dict[str, NDArray[Any]]] = []
        self._phases: list[tuple[int, ...]] = []
        self._changes: list[dict[str, NDArray[Any]]] = []

    def write(self, works: list[Work], snapshot: Snapshot, applied: Applied | None) -> None:
        """Add what each program read after one batch, or at the start."""
        in_slots = 0 if snapshot.in_ is None or snapshot.in_ is snapshot.out else len(snapshot.in_.neighbours)
        for program, work in enumerate(works):
            rows = np.empty((0, 5), np.int64) if work.reads is None else work.reads
            phase = np.full(len(rows), len(self._phases))
            whole = whole_reads(rows, snapshot) if work.whole is None else work.whole
            cached = np.zeros(len(rows), np.bool_) if work.cached is None else work.cached
            iteration, place, start, length, arrays = rows.T
            columns = (phase, iteration, place >> 1, place & 1, start, length, arrays, whole, cached)
            self._reads.append(_typed(_COLUMNS, columns))
            slots = len(snapshot.out.neighbours), in_slots
            self._phases.append((snapshot.version, program, snapshot.bound, snapshot.edges, *slots))
        if applied is not None:
            self._changes.append(_typed(_CHANGE_COLUMNS, changed_lists(snapshot, applied)))

    def trace(self) -> Trace:
        """Return all that was written so far."""
        table = np.array(self._phases, np.int64).reshape(-1, len(_PHASE_COLUMNS))
        return Trace(
            _joined(_COLUMNS, self._reads),
            _typed(_PHASE_COLUMNS, tuple(table.T)),
            _joined(_CHANGE_COLUMNS, self._changes),
            self._about,
        )


def whole_reads(rows: NDArray[np.int64], snapshot: Snapshot) -> NDArray[np.bool_]:
    """Tell which rows of `Work.reads` go through their list from its first element to its last."""
    _, places, starts, lengths, _ = rows.T
    whole = np.zeros(len(rows), np.bool_)
    for inward, lists in enumerate((snapshot.out, snapshot.in_ or snapshot.out)):
        some = np.flatnonzero(places & 1 == inward)
        vertices = places[some] >> 1
        whole[some] = (starts[some] == lists.starts[vertices]) & (lengths[some] == lists.degrees[vertices])
    return whole


def changed_lists(snapshot: Snapshot, applied: Applied) -> tuple[NDArray[Any], ...]:
    """Return the columns of the lists that a batch changed, each list once, out-lists first."""
    edges = (applied.inserted, applied.deleted, applied.reweighted)
    sides = [(snapshot.out, np.concatenate([part.source for part in edges]), 0)]
    if snapshot.in_ is not None and snapshot.in_ is not snapshot.out:
        sides.append((snapshot.in_, np.concatenate([part.target for part in edges]), 1))
    columns = []
    for lists, owners, inward in sides:
        vertices, mutations = np.unique(owners, return_counts=True)
        sized = np.full(len(vertices), applied.version), np.full(len(vertices), inward)
        columns.append(
            (sized[0], vertices, sized[1], lists.starts[vertices], lists.degrees[vertices], mutations)
        )
    return tuple(np.concatenate(parts) for parts in zip(*columns, strict=True))


def _typed(dtypes: dict[str, Any], columns: tuple[NDArray[Any], ...]) -> dict[str, NDArray[Any]]:
    return {name: column.astype(dtype) for (name, dtype), column in zip(dtypes.items(), columns, strict=True)}


def _joined(dtypes: dict[str, Any], parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {
        name: np.concatenate([np.empty(0, dtype), *(part[name] for part in parts)])
        for name, dtype in dtypes.items()
    }
