"""`State`: a graph, its programs and their answers in a directory, where they survive the process.

A directory holds one snapshot (`snapshot-VERSION.npz`: the graph and the answers at that version) and one log
(`log.sqlite`: every batch since, see `grapin.engine.log`). A snapshot is written beside its place, made durable, and
renamed; the log names it, with a digest of each of its arrays, in the transaction that forgets the batches it
contains. So at every moment there is one whole snapshot and every batch behind it, and whoever opens the directory
finds the last version that was acknowledged.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.device import Query
from grapin.engine.log import Log, sync_folder
from grapin.errors import GrapinError, InvalidArgument, InvalidFile
from grapin.graph import Graph, Snapshot
from grapin.graph.archive import Archive, archive, restore
from grapin.graph.packed import Allocate
from grapin.kernels.rules import fingerprint
from grapin.programs import PROGRAMS
from grapin.programs.program import Monotone, Program
from grapin.units import format_bytes

LOG, LOCK = "log.sqlite", "lock"
REPLAY_PER_SNAPSHOT = 4.0
"""A snapshot is taken when applying the batches since the last one took so many times what writing that one did: it
adds at most a quarter to the time of batches, and opening replays at most so much."""
LEAST_REPLAY = 1.0
"""Seconds of batches that are worth a snapshot, however quickly one is written."""
Arrays = dict[str, NDArray[Any]]


@runtime_checkable
class SavedQuery(Query, Protocol):
    """A query whose values can be put away and taken up again; others are computed from scratch."""

    def state(self) -> Arrays:
        """Return all that is needed to go on from here."""

    def resume(self, snapshot: Snapshot, state: Arrays) -> None:
        """Go on from what `state` returned, on the same graph."""


@dataclass(frozen=True)
class Health:
    """What is in the directory of a state."""

    snapshot: int
    """The version of the snapshot."""
    version: int
    """The version of the last batch."""
    snapshot_bytes: int
    log_bytes: int
    programs: tuple[str, ...]
    mark: str | None
    """What was said with the last batch that said something."""
    written_by: str
    """The version of Grapin that took the snapshot."""
    leftovers: tuple[str, ...]
    """Files that nothing refers to, as a process leaves them that is killed while it writes."""
    damage: str | None
    """What is wrong, in a sentence; None if nothing is."""


class State:
    """The directory in which an engine keeps what it knows; one process at a time may write to it."""

    def __init__(self, folder: Path, log: Log, lock: int) -> None:
        self.folder = folder
        self.mark: str | None = None
        """What was said with the last batch that said something."""
        self._log = log
        self._lock = lock
        self._replay = 0.0
        """Seconds that the batches since the snapshot took."""
        self._writing = 0.0
        """Seconds that writing the snapshot took."""

    @classmethod
    def make(cls, folder: Path, durability: str) -> "State":
        """Return the state in a directory that is new, empty, or holds what a process left that came to nothing."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.absolute().parent)
        except OSError as error:
            raise InvalidArgument(f"state={str(folder)!r} must be a directory: {error.strerror}") from None
        strangers = sorted(path.name for path in folder.iterdir() if not _is_ours(path))
        if strangers:
            raise InvalidArgument(
                f"state={str(folder)!r} must be a directory for the state alone, and has {strangers[0]!r} in it"
            )
        return cls._locked(folder, durability)

    @classmethod
    def found(cls, folder: Path, durability: str) -> "State":
        """Return the state in a directory that was saved to, or say that there is none."""
        if not holds_state(folder):
            raise InvalidArgument(
                f"state={str(folder)!r} must be a directory that engine.save wrote, and no snapshot in it was completed"
            )
        return cls._locked(folder, durability)

    @classmethod
    def _locked(cls, folder: Path, durability: str) -> "State":
        lock = _lock(folder)
        try:
            return cls(folder, Log(folder / LOG, durability=durability), lock)
        except BaseException:
            os.close(lock)
            raise

    @property
    def record(self) -> dict[str, Any] | None:
        """What the log says of the snapshot; None if none was completed yet."""
        return self._log.record

    @property
    def version(self) -> int | None:
        """The version of the snapshot."""
        record = self.record
        return None if record is None else record["version"]

    def load(self, allocate: Allocate | None) -> "Saved":
        """Return what the snapshot holds."""
        record = self._log.record
        assert record is not None
        begin = time.perf_counter()
        saved = read_snapshot(self.folder, record, allocate)
        self._writing = time.perf_counter() - begin  # as good a guess as any: the same bytes, checked
        self.mark = record["mark"]
        return saved

    def batches(self, after: int) -> Iterator[Batch]:
        """Yield the batches behind the snapshot."""
        for batch, mark in self._log.batches(after):
            begin = time.perf_counter()
            yield batch
            self._replay += time.perf_counter() - begin
            self.mark = mark if mark is not None else self.mark

    def append(self, version: int, body: bytes, mark: str | None) -> None:
        """Keep one batch more, as `encode` has it; on return it is as durable as asked for."""
        self._log.append(version, body, mark)
        self.mark = mark if mark is not None else self.mark

    def worth_a_snapshot(self, seconds: float) -> bool:
        """Tell, after a batch that took so long, whether replaying costs more by now than a snapshot does."""
        self._replay += seconds
        return self._replay > max(LEAST_REPLAY, REPLAY_PER_SNAPSHOT * self._writing)

    def write(self, graph: Graph, programs: Sequence[Program], queries: Sequence[Query], system: str) -> None:
        """Write a snapshot, and let the log follow it; until that is durable, all is as it was."""
        begin = time.perf_counter()
        name = f"snapshot-{graph.version}.npz"
        numbers, arrays = archive(graph)
        answers = []
        for place, (program, query) in enumerate(zip(programs, queries, strict=True)):
            kept = query.state() if isinstance(query, SavedQuery) else {}
            arrays |= {f"answers.{place}.{part}": array for part, array in kept.items()}
            answers.append(_about(program, query, system))
        record = {
            "version": graph.version,
            "file": name,
            "graph": numbers,
            "answers": answers,
            "system": system,
            "mark": self.mark,
            "grapin": installed("grapin"),
            "digests": {part: digest(array) for part, array in arrays.items()},
        }
        partial = self.folder / f"{name}.part"
        try:
            with partial.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]  # names are the arrays', none is a parameter
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.folder / name)
        except OSError as error:
            raise GrapinError(
                f"{partial} could not be written, and the state stays as it was: {error.strerror}"
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        sync_folder(self.folder)
        self._log.follow(record)
        for path in leftovers(self.folder, name):
            path.unlink(missing_ok=True)
        self._replay, self._writing = 0.0, time.perf_counter() - begin

    def close(self) -> None:
        """Make what waits as durable as asked for, and let another process have the directory."""
        try:
            self._log.close()
        finally:
            os.close(self._lock)

    def abandon(self) -> None:
        """Let go of everything without writing what waits, as a process does that is killed."""
        self._log.abandon()
        os.close(self._lock)


@dataclass(frozen=True, eq=False)
class Saved:
    """What a snapshot holds."""

    graph: Graph
    answers: list[dict[str, Any]]
    """What is said of each program."""
    values: list[Arrays]
    """What each program's query put away; nothing where it cannot."""
    system: str

    def programs(self, given: Sequence[Program] | None) -> list[Program]:
        """Return the programs as they were saved, or those given if they are the same."""
        if given is None:
            return [_made(about) for about in self.answers]
        shown = [[kind.name, _settings(kind)] for kind in given]
        if shown != [[about["name"], about["settings"]] for about in self.answers]:
            raise InvalidArgument(
                f"programs={list(given)!r:.80} must be what was saved: "
                + ", ".join(f"{about['name']} with {about['settings']}" for about in self.answers)
            )
        return list(given)

    def resume(self, place: int, program: Program, query: Query, snapshot: Snapshot, system: str) -> bool:
        """Let a query go on from what was put away; False if that cannot be, and it has to compute from scratch."""
        if _about(program, query, system) != self.answers[place] or not isinstance(query, SavedQuery):
            return False
        query.resume(snapshot, self.values[place])
        return True


def holds_state(folder: Path) -> bool:
    """Tell whether a directory has a state with a complete snapshot in it."""
    if not (folder / LOG).is_file():
        return False
    log = Log(folder / LOG, reading=True)
    try:
        return log.record is not None
    finally:
        log.abandon()


def read_snapshot(folder: Path, record: dict[str, Any], allocate: Allocate | None = None) -> Saved:
    """Read the file that the log names, array by array, or say what is wrong with it."""
    path = folder / record["file"]
    try:
        with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
            arrays = {name: file[name] for name in record["digests"]}
    except Exception as error:  # a damaged archive makes zipfile and numpy raise anything
        raise InvalidFile(f"{path} is damaged or gone: {error}; nothing in {folder} was changed") from error
    for name, expected in record["digests"].items():
        if digest(arrays[name]) != expected:
            raise InvalidFile(f"{path} is damaged: {name} is not as written; nothing in {folder} was changed")
    values = [
        {
            name.removeprefix(f"answers.{place}."): array
            for name, array in arrays.items()
            if name.startswith(f"answers.{place}.")
        }
        for place in range(len(record["answers"]))
    ]
    graph = restore(Archive(record["graph"], arrays), allocate=allocate)
    return Saved(graph, record["answers"], values, record["system"])


def health(folder: Path) -> Health:
    """Look at all of a state, every array and every batch, and change nothing."""
    if not holds_state(folder):
        raise InvalidArgument(f"state={str(folder)!r} must be a directory that engine.save wrote")
    log = Log(folder / LOG, reading=True)
    try:
        record = log.record
        assert record is not None
        damage = None
        version, mark = record["version"], record["mark"]
        try:
            log.check()
            for _, told in log.batches(version):
                version, mark = version + 1, told if told is not None else mark
            read_snapshot(folder, record)
        except InvalidFile as error:
            damage = str(error)
        path = folder / record["file"]
        return Health(
            snapshot=record["version"],
            version=version,
            snapshot_bytes=path.stat().st_size if path.exists() else 0,
            log_bytes=log.size,
            programs=tuple(about["name"] for about in record["answers"]),
            mark=mark,
            written_by=record["grapin"],
            leftovers=tuple(
                f"{path.name} ({format_bytes(path.stat().st_size)})"
                for path in leftovers(folder, record["file"])
            ),
            damage=damage,
        )
    finally:
        log.abandon()


def leftovers(folder: Path, current: str) -> list[Path]:
    """Return snapshots, whole or in part, that are not the current one."""
    return sorted(path for path in folder.glob("snapshot-*.npz*") if path.name != current)


def digest(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes, type and shape."""
    seen = hashlib.sha256(f"{array.dtype.descr}{array.shape}".encode())
    seen.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
    return seen.hexdigest()


def _is_ours(path: Path) -> bool:
    return path.name.startswith(LOG) or path.name == LOCK or path.match("snapshot-*.npz*")


def _lock(folder: Path) -> int:
    """Keep other processes from writing to a directory, until the process ends or closes what this returns."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InvalidArgument(
            f"state={str(folder)!r} must be a directory to write to: {error.strerror}"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InvalidArgument(
            f"state={str(folder)!r} must be in use once: another engine has it open"
        ) from None
    return descriptor


def _about(program: Program, query: Query, system: str) -> dict[str, Any]:
    """Return what tells a program, and whether values of it that were put away are still its values."""
    kind = type(program)
    rule = kind.edge if issubclass(kind, Monotone) else getattr(kind, "share", None)
    rules = [fingerprint(one, {}) for one in (rule, getattr(kind, "start", None)) if one is not None]
    return {
        "name": program.name,
        "own": PROGRAMS.get(program.name) is not kind,
        "settings": _settings(program),
        "rule": hashlib.sha256("|".join(rules).encode()).hexdigest()[:12],
        "query": f"{type(query).__module__}.{type(query).__qualname__} {system}",
    }


def _settings(program: Program) -> dict[str, Any]:
    """Return what a program was made with, as JSON has it."""

    def plain(given: Any) -> Any:
        return given.tolist() if hasattr(given, "tolist") else repr(given)

    return dict(json.loads(json.dumps(vars(program), default=plain)))


def _made(about: dict[str, Any]) -> Program:
    """Return a program as it was saved."""
    if about["own"]:
        raise InvalidArgument(
            f"programs=None must name {about['name']!r}, which is a class of your own: Engine.open(..., programs=[...])"
        )
    program = PROGRAMS[about["name"]].__new__(PROGRAMS[about["name"]])
    for name, value in about["settings"].items():
        if isinstance(value, dict):
            value = {int(vertex): amount for vertex, amount in value.items()}
        elif isinstance(value, list):
            value = np.array(value, np.float64)
        setattr(program, name, value)
    return program


@contextmanager
def abandoned_on_failure(state: State) -> Iterator[State]:
    """Let go of a state, changed by nothing, if the block fails."""
    try:
        yield state
    except BaseException:
        state.abandon()
        raise
