"""`Trace`: what a run touched, list by list; the one value that passes from engine to model.

A trace is a table with one row a list read (which phase and iteration, whose list, in which direction, where it starts,
how many elements, from how many arrays), and a table of phases: the start, then each batch, for each program. Reads of
one iteration do not wait for each other; iterations do.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Counters, count_reads
from grapin.errors import InvalidFile
from grapin.graph.snapshot import Snapshot
from grapin.work import Work

FORMAT = 1
"""Raised when the meaning of a saved trace changes."""

_COLUMNS = {
    "phase": np.int32,
    "iteration": np.int32,
    "vertex": np.int32,
    "inward": np.bool_,
    "start": np.int64,
    "length": np.int32,
    "arrays": np.uint8,
}
_PHASE_COLUMNS = {"version": np.int64, "program": np.int32, "vertices": np.int64, "edges": np.int64}


@dataclass(frozen=True, eq=False)
class Trace:
    """Which lists a run read, in the order in which it read them."""

    reads: dict[str, NDArray[Any]]
    """Columns `phase, iteration, vertex, inward, start, length, arrays`; start and length count 4-byte elements."""
    phases: dict[str, NDArray[Any]]
    """Columns `version, program, vertices, edges`: the graph's version and size, and whose values were computed."""
    about: dict[str, Any]
    """Programs, system, device, and how the graph is stored."""

    def __len__(self) -> int:
        return len(self.reads["vertex"])

    def __repr__(self) -> str:
        return f"Trace({len(self)} lists in {len(self.phases['version'])} phases, {self.about['system']})"

    def counters(self, phase: int | None = None, *, aligned: bool = True) -> Counters:
        """Count what was read, in all or in one phase; `aligned=False` for a warp that starts where lists start."""
        total = Counters()
        rows = slice(None) if phase is None else self.reads["phase"] == phase
        starts, lengths, arrays = (self.reads[name][rows] for name in ("start", "length", "arrays"))
        for count in (1, 2):
            some = arrays == count
            total += count_reads(starts[some], lengths[some], arrays=count, aligned=aligned)
        return total

    def save(self, path: str | Path) -> None:
        """Write one file, compressed; what was there is replaced only when all is written."""
        path = Path(path)
        columns = {f"reads.{name}": column for name, column in self.reads.items()}
        columns |= {f"phases.{name}": column for name, column in self.phases.items()}
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
        """Read a saved trace."""
        try:
            # Opened here, because NumPy leaves a file open that turns out not to be an archive.
            with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                about = json.loads(bytes(file["about"]))
                reads = {name: file[f"reads.{name}"] for name in _COLUMNS}
                phases = {name: file[f"phases.{name}"] for name in _PHASE_COLUMNS}
        except FileNotFoundError:
            raise InvalidFile(f"{path}: there is no such file") from None
        except (BadZipFile, KeyError, ValueError, EOFError, OSError) as error:
            raise InvalidFile(f"{path}: is not a trace saved by grapin ({error})") from None
        if about.pop("format", None) != FORMAT:
            raise InvalidFile(f"{path}: was saved in another format; record the run again with this version")
        return cls(reads, phases, about)


class TraceWriter:
    """Collects what each phase of an engine's run read."""

    def __init__(self, about: dict[str, Any]) -> None:
        self._about = about
        self._reads: list[dict[str, NDArray[Any]]] = []
        self._phases: list[tuple[int, int, int, int]] = []

    def write(self, works: list[Work], snapshot: Snapshot) -> None:
        """Add what each program read after one batch, or at the start."""
        for program, work in enumerate(works):
            rows = np.empty((0, 5), np.int64) if work.reads is None else work.reads
            phase = np.full(len(rows), len(self._phases))
            iteration, place, start, length, arrays = rows.T
            columns = (phase, iteration, place >> 1, place & 1, start, length, arrays)
            self._reads.append(
                {
                    name: column.astype(dtype)
                    for (name, dtype), column in zip(_COLUMNS.items(), columns, strict=True)
                }
            )
            self._phases.append((snapshot.version, program, snapshot.bound, snapshot.edges))

    def trace(self) -> Trace:
        """Return all that was written so far."""
        reads: dict[str, NDArray[Any]] = {
            name: np.concatenate([np.empty(0, dtype), *(part[name] for part in self._reads)])
            for name, dtype in _COLUMNS.items()
        }
        table = np.array(self._phases, np.int64).reshape(-1, len(_PHASE_COLUMNS))
        phases: dict[str, NDArray[Any]] = {
            name: table[:, place].astype(dtype) for place, (name, dtype) in enumerate(_PHASE_COLUMNS.items())
        }
        return Trace(reads, phases, self._about)
