"""`Trace`: what a run touched, list by list; the one value that passes from engine to model.

A trace is four tables: lists read (in which phase and iteration, whose list, in which direction, where it starts, how
many elements, from how many arrays, whether that was the whole list, whether the device held a copy); phases (the
start, then each batch, for each program); lists changed by a batch; and tasks, of a system that copies lists to the
device before they are read. Reads of one iteration do not wait for each
other; iterations do.
"""

import json
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812 - it is a class

import numpy as np
from numpy.typing import NDArray

from grapin.counters import TASK, Counters, Work, count_reads
from grapin.display import Shown
from grapin.errors import GrapinError, InvalidArgument, InvalidFile
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.spool import readable
from grapin.units import ELEMENT, PAGE, format_bytes

_MOST, _LONGEST = 2**48, 2**31
"""Above every place in the arrays of a store that fits into a computer; above the length of every list."""
FORMAT = 5
"""Raised when the meaning of a saved trace changes."""
_READABLE = (3, 4, FORMAT)
"""Format 3 had every column in one part, and 4 no tasks."""
PART_ROWS = 1 << 17
"""A trace that goes to its file while it is recorded goes there in parts of so many rows at least, some 4 MiB."""
_ROWS_PER_BATCH = 128
"""What a batch costs in memory beside its rows, in rows: arrays of a single element take a hundred bytes each."""

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


_TASK_COLUMNS: dict[str, Any] = {"phase": np.int32, **{name: TASK[name].type for name in TASK.names or ()}}
_TABLES: dict[str, dict[str, Any]] = {
    "reads": _COLUMNS,
    "phases": _PHASE_COLUMNS,
    "changes": _CHANGE_COLUMNS,
    "tasks": _TASK_COLUMNS,
}


def _no_tasks() -> dict[str, NDArray[Any]]:
    return {name: np.empty(0, dtype) for name, dtype in _TASK_COLUMNS.items()}


@dataclass(frozen=True, eq=False)
class Trace(Shown):
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
    tasks: dict[str, NDArray[Any]] = field(default_factory=_no_tasks)
    """Columns `phase`, and those of `grapin.counters.TASK`: what each task copied, and how many rows of `reads` are its
    own, in their order; empty where lists are not copied before they are read."""

    @property
    def task(self) -> NDArray[np.int64]:
        """The task of each read as a row of `tasks`; -1 where there are none."""
        if not len(self.tasks["rows"]):
            return np.full(len(self), -1)
        return np.repeat(np.arange(len(self.tasks["rows"])), self.tasks["rows"])

    def __len__(self) -> int:
        return len(self.reads["vertex"])

    def __repr__(self) -> str:
        return f"Trace({len(self)} lists in {len(self.phases['version'])} phases, {self.about['system']})"

    def _facts(self) -> dict[str, str]:
        counters = self.counters()
        return {
            "programs": ", ".join(self.about["programs"]),
            "system": self.about["system"],
            "device": self.about["device"],
            "phases": f"{len(self.phases['version']):,}",
            "lists read": f"{len(self):,}",
            "edges read": f"{counters.edges:,}",
            "bytes requested": format_bytes(counters.bytes),
        }

    def counters(self, phase: int | None = None, *, aligned: bool = True) -> Counters:
        """Count what was read, in all or in one phase, as the system that was recorded moves it.

        `aligned=False` is for a warp that starts where lists start.
        """
        rows = np.ones(len(self), np.bool_) if phase is None else self.reads["phase"] == phase
        total = Counters()
        if len(self.tasks["rows"]):
            staged = rows & self.reads["cached"]
            edges, lists = int(self.reads["length"][staged].sum(dtype=np.int64)), int(staged.sum())
            done = slice(None) if phase is None else self.tasks["phase"] == phase
            copied = int(self.tasks["copied"][done].sum())
            total = Counters(edges, lists, cached_edges=edges, cached_lists=lists, copied_bytes=copied)
            rows = rows & ~staged
        starts, lengths, arrays = (self.reads[name][rows] for name in ("start", "length", "arrays"))
        for count in (1, 2):
            some = arrays == count
            total += count_reads(starts[some], lengths[some], arrays=count, aligned=aligned)
        return total.moved_by(self.about.get("transfer", "zero-copy"))

    def distinct_pages(self) -> int:
        """Count the 4-KiB pages of host memory that were read, each once, wherever no copy was read instead."""
        one_for_both = not self.phases["in_slots"].any()
        first = self.reads["start"] * ELEMENT // PAGE
        last = (self.reads["start"] + self.reads["length"] - 1) * ELEMENT // PAGE
        read = (self.reads["length"] > 0) & ~self.reads["cached"]
        total = 0
        for inward in (False, True):
            for arrays in (1, 2):  # weights lie in an array of their own
                some = read & (self.reads["arrays"] >= arrays)
                some &= (self.reads["inward"] == inward) | one_for_both
                if not some.any() or (inward and one_for_both):
                    continue
                begins = np.bincount(first[some], minlength=int(last[some].max()) + 2)
                ends = np.bincount(last[some] + 1, minlength=len(begins))
                total += int((np.cumsum(begins - ends) > 0).sum())
        return total

    def save(self, path: str | Path) -> None:
        """Write one file, compressed; what was there is replaced only when all is written."""
        file = _PartsFile(path, self.about)
        try:
            file.add("reads", self.reads)
            file.add("phases", self.phases)
            file.add("changes", self.changes)
            file.add("tasks", self.tasks)
            file.finish()
        finally:
            file.discard()

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
                parts = about.pop("parts", dict.fromkeys(_TABLES, 1))
                reads, phases, changes, tasks = (
                    {name: _read_parts(file, f"{table}.{name}", parts[table]) for name in columns}
                    if parts.get(table, 1) and (table != "tasks" or f"{table}.phase" in file)
                    else _no_tasks()
                    for table, columns in _TABLES.items()
                )
                _check(about, reads, phases, changes, tasks)
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
        return cls(reads, phases, changes, about, tasks)


def _check_format(path: str | Path, about: dict[str, Any]) -> None:
    if about.pop("format", None) not in _READABLE:
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
    reads, phases, _changes, tasks = tables
    if len(tasks["rows"]) and tasks["rows"].sum() != len(reads["phase"]):
        raise ValueError("its tasks read other lists than it has")
    if (reads["phase"] >= len(phases["version"])).any() or (reads["length"] >= _LONGEST).any():
        raise ValueError("it has reads of no phase, or of no list")


def _read_parts(file: Any, name: str, count: int) -> NDArray[Any]:
    parts = [file[_part_name(name, part)] for part in range(count)]
    return parts[0] if count == 1 else np.concatenate(parts)


def _part_name(name: str, part: int) -> str:
    return name if part == 0 else f"{name}.{part}"


class _PartsFile:
    """A trace's file while it is written, under another name beside its place until it is complete.

    An archive as NumPy's, of which a column may have several parts, with a checksum each. How many there are is written
    last, and an archive that was not finished cannot be opened: what is there is the whole trace, or not a trace.
    """

    def __init__(self, path: str | Path, about: dict[str, Any]) -> None:
        self.path = Path(path)
        self._about = about
        self._parts = dict.fromkeys(_TABLES, 0)
        # The process in the name keeps two runs apart that were told to write the same file.
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._raw = self._partial.open("wb")
        self._archive = ZipFile(self._raw, "w", ZIP_DEFLATED)

    def add(self, table: str, columns: dict[str, NDArray[Any]]) -> None:
        """Write one more part of a table."""
        for name, column in columns.items():
            self._write(_part_name(f"{table}.{name}", self._parts[table]), column)
        self._parts[table] += 1

    def finish(self) -> None:
        """Write the end, and put the file in its place."""
        about = self._about | {"format": FORMAT, "parts": self._parts}
        self._write("about", np.frombuffer(json.dumps(about).encode(), np.uint8))
        self._archive.close()
        self._raw.close()
        self._partial.replace(self.path)

    def discard(self) -> None:
        """Leave nothing behind that is not whole; does nothing to a file that is finished."""
        with suppress(OSError):  # of a full disk, for which it is discarded
            self._raw.close()
        self._partial.unlink(missing_ok=True)
        # An archive that nobody closes would try to end itself when it is collected, and say that it cannot.
        self._archive.fp = None

    def _write(self, name: str, column: NDArray[Any]) -> None:
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, column, allow_pickle=False)


class TraceWriter:
    """Collects what each phase of an engine's run read, and what each batch changed.

    With a path all goes to that file, in parts: what is kept in memory is what the last batches read. The file is there
    when `finish` is called; until then there is none, and a run that ends before leaves what was there as it was. Only
    a process that is killed outright leaves a hidden `.part` file beside it, which is not read as a trace.
    """

    def __init__(self, about: dict[str, Any], path: str | Path | None = None) -> None:
        self._about = about
        self._kept: dict[str, list[dict[str, NDArray[Any]]]] = {name: [] for name in _TABLES}
        self._rows = dict.fromkeys(_TABLES, 0)
        self._count = 0
        self._file = None if path is None else _PartsFile(path, about)
        self.path = None if path is None else Path(path)
        """The file that the trace goes to."""
        if self._file is not None:
            weakref.finalize(self, _PartsFile.discard, self._file)

    def write(self, works: list[Work], snapshot: Snapshot, applied: Applied | None) -> None:
        """Add what each program read after one batch, or at the start."""
        in_slots = 0 if snapshot.in_ is None or snapshot.in_ is snapshot.out else len(snapshot.in_.neighbours)
        for program, work in enumerate(works):
            rows = np.empty((0, 5), np.int64) if work.reads is None else work.reads
            phase = np.full(len(rows), self._count)
            whole = whole_reads(rows, snapshot) if work.whole is None else work.whole
            cached = np.zeros(len(rows), np.bool_) if work.cached is None else work.cached
            iteration, place, start, length, arrays = rows.T
            self._keep(
                "reads", (phase, iteration, place >> 1, place & 1, start, length, arrays, whole, cached)
            )
            slots = len(snapshot.out.neighbours), in_slots
            row = (snapshot.version, program, snapshot.bound, snapshot.edges, *slots)
            self._keep("phases", tuple(np.array(row, np.int64).reshape(-1, 1)))
            if work.tasks is not None:
                done = np.full(len(work.tasks), self._count)
                self._keep("tasks", (done, *(work.tasks[name] for name in TASK.names or ())))
            self._count += 1
        if applied is not None:
            self._keep("changes", changed_lists(snapshot, applied))

    def _keep(self, table: str, columns: tuple[NDArray[Any], ...]) -> None:
        self._kept[table].append(_typed(_TABLES[table], columns))
        self._rows[table] += len(columns[0])
        rows = self._rows[table] + _ROWS_PER_BATCH * len(self._kept[table])
        if self._file is not None and rows >= PART_ROWS:
            self._spill(table)

    def _spill(self, table: str) -> None:
        assert self._file is not None
        self._file.add(table, self._joined(table))
        self._kept[table], self._rows[table] = [], 0

    def _joined(self, table: str) -> dict[str, NDArray[Any]]:
        return _joined(_TABLES[table], self._kept[table])

    def trace(self) -> Trace:
        """Return all that was written so far, of a trace that does not go to a file."""
        reads, phases, changes, tasks = (self._joined(table) for table in _TABLES)
        return Trace(reads, phases, changes, self._about, tasks)

    def finish(self) -> None:
        """Write what is left, and put the file in its place."""
        assert self._file is not None
        for table in _TABLES:
            self._spill(table)
        self._file.finish()

    def discard(self) -> None:
        """Leave no file behind that is not whole."""
        if self._file is not None:
            self._file.discard()


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


def writer_of(trace: bool | str | Path, about: dict[str, Any]) -> TraceWriter | None:
    """Return what keeps the trace, in memory or in a file."""
    if isinstance(trace, bool):
        return TraceWriter(about) if trace else None
    if not isinstance(cast("object", trace), (str, Path)) or not str(trace):
        raise InvalidArgument(f"trace={trace!r:.60} must be True, False or the name of a file")
    try:
        return TraceWriter(about, trace)
    except OSError as error:
        raise InvalidArgument(
            f"trace={str(trace)!r} must be a file that can be written: {error.strerror}"
        ) from None


@contextmanager
def told_of(writer: TraceWriter) -> Iterator[None]:
    """Leave no part of a trace behind that could not be written whole, and say which trace that was."""
    try:
        yield
    except BaseException as error:
        writer.discard()
        if isinstance(error, KeyboardInterrupt) and writer.path is not None:
            left = "which stays as it was" if writer.path.exists() else "which is not there"
            raise type(error)(f"while {writer.path} was written, {left}") from error
        if isinstance(error, OSError) and writer.path is not None:
            raise GrapinError(
                f"{writer.path}: the trace could not be written and is lost: {error.strerror}"
            ) from error
        raise
