"""Ends engines that keep a state at random moments, and holds what is opened then against what was acknowledged.

Run as a process of its own: `kills` forks, and `drops` changes how SQLite writes. Both print how many cases there were,
and end with an assertion that names the case.
"""

import ctypes
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import grapin.engine.state as states
from grapin import SSSP, Batch, ConnectedComponents, Engine, Graph, PageRank
from grapin.engine.log import Log
from grapin.engine.verify import verify_answer
from grapin.errors import GrapinError

VERTICES = 40


def new_engine(seed: int) -> Engine:
    """Return an engine at version 0."""
    draws = np.random.default_rng(seed)
    ends = draws.integers(0, VERTICES, (2, 2 * VERTICES))
    graph = Graph.from_edges(ends[0], ends[1], draws.integers(0, 9, 2 * VERTICES), vertices=VERTICES)
    return Engine(graph, [SSSP(source=0), ConnectedComponents(), PageRank()], device="cpu", threads=1)


def next_batch(engine: Engine, seed: int) -> Batch:
    """Return the batch behind the graph's version: the same for the same graph."""
    draws = np.random.default_rng((seed, engine.graph.version))
    alive = np.flatnonzero(engine.graph.alive())
    ends = draws.choice(alive, (2, int(draws.integers(1, 12))))
    keys = np.unique(ends[0] * 10_000 + ends[1], return_index=True)[1]
    kinds = draws.integers(0, 3, len(keys))
    rows = [ends[:, keys[kinds == kind]] for kind in range(3)]
    coming = engine.graph.free_vertices(int(draws.integers(0, 3)))
    going = [vertex for vertex in draws.choice(alive, 1).tolist() if vertex and vertex not in ends]
    return Batch(
        insert=(*rows[0], draws.integers(0, 9, rows[0].shape[1])),
        delete=tuple(rows[1]),
        reweight=(*rows[2], draws.integers(0, 9, rows[2].shape[1])),
        insert_vertices=coming,
        delete_vertices=going if len(alive) > VERTICES // 2 else [],
    )


class Expected:
    """What the state must be at each version, computed without any state."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._engine = new_engine(seed)
        self._versions = [self._seen(self._engine)]

    def check(self, engine: Engine, case: str) -> None:
        """Hold an engine that was opened against its version, and its answers against the reference."""
        while len(self._versions) <= engine.graph.version:
            self._engine.apply(next_batch(self._engine, self._seed))
            self._versions.append(self._seen(self._engine))
        assert self._seen(engine) == self._versions[engine.graph.version], case
        engine.graph.check()
        for answer in engine.answers:
            verify_answer(answer, engine.graph)

    @staticmethod
    def _seen(engine: Engine) -> Any:
        columns = zip(
            *(column.tolist() for column in engine.graph.edge_arrays() if column is not None), strict=True
        )
        return sorted(columns), engine.graph.alive().tolist()


def open_state(folder: Path) -> Engine:
    return Engine.open(folder, device="cpu", threads=1)


def impatient(draws: random.Random) -> None:
    """Have snapshots taken every few batches."""
    states.LEAST_REPLAY, states.REPLAY_PER_SNAPSHOT = 0.0, draws.choice([0.02, 0.1, 1.0])


def kills(folder: Path, count: int, seed: int) -> None:
    """Kill a process `count` times that applies batches and takes snapshots, and goes on where the last one was."""
    draws = random.Random(seed)
    new_engine(seed).apply(
        Batch(insert=[(0, 1, 1)])
    )  # what it compiles is compiled for the processes it forks
    lives = 0
    seen = dict.fromkeys(["acknowledged", "ahead", "unsaved", "while writing a snapshot"], 0)
    while count > lives:
        life = folder / str(lives)
        expected, acknowledged = Expected(seed + lives), -1
        for _ in range(min(25, count - lives)):
            lives += 1
            case = f"seed {seed}, kill {lives}, of {life.name}"
            acknowledged = max(
                acknowledged, killed(life, int(life.name) + seed, draws.uniform(0.0, 0.1), draws)
            )
            seen["while writing a snapshot"] += bool(list(life.glob("*.part")))
            if not life.exists() or not states.holds_state(life):
                assert acknowledged == -1, case
                seen["unsaved"] += 1
                continue
            with open_state(life) as engine:
                assert acknowledged <= engine.graph.version <= acknowledged + 1 or acknowledged == -1, case
                seen["ahead" if engine.graph.version > acknowledged else "acknowledged"] += 1
                expected.check(engine, case)
                acknowledged = engine.graph.version
        shutil.rmtree(life, ignore_errors=True)
    print(json.dumps({"kills": lives} | seen))


def killed(folder: Path, seed: int, seconds: float, draws: random.Random) -> int:
    """Let a process work on a state and kill it so many seconds later; return what version it acknowledged last."""
    reading, writing = os.pipe()
    impatient(draws)
    process = os.fork()
    if not process:
        os.close(reading)
        try:
            work(folder, seed, lambda version: os.write(writing, version.to_bytes(4, "little")))
        except BaseException:  # noqa: BLE001 - a forked process must not run on
            traceback.print_exc()
        os._exit(1)
    os.close(writing)
    told = (
        os.read(reading, 4) if draws.random() < 0.8 else b""
    )  # mostly when it has something to lose, however slow
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status), "a process that was to be killed failed before"
    with os.fdopen(reading, "rb") as pipe:
        told += pipe.read()
    return int.from_bytes(told[-4:], "little") if told else -1


def work(folder: Path, seed: int, tell: Callable[[int], object], batches: int = 1 << 30) -> None:
    """Apply batches to a state, new or old, and tell of each when it is acknowledged."""
    if folder.exists() and states.holds_state(folder):
        engine = open_state(folder)
    else:
        engine = new_engine(seed)
        engine.save(folder)
        tell(0)
    for _ in range(batches):
        engine.apply(next_batch(engine, seed))
        tell(engine.graph.version)
    engine.close()


# What a disk does with unsynced writes: SQLite's are seen at its interface to the file system, ours at Python's.


class Disk:
    """Everything that was written to a folder, in order, and what of it is certain to outlast the power."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[tuple[Any, ...]] = []
        self._keep: list[Any] = []
        """Callbacks, which SQLite calls as long as the process lives."""

    def add(self, kind: str, path: str | Path, *rest: Any) -> None:
        if Path(path).parent == self.folder:
            self.events.append((kind, Path(path).name, *rest))

    def watch_python(self) -> None:
        """See what `grapin.engine.state` does with files."""
        fsync, replace, unlink = os.fsync, os.replace, os.unlink

        def watched_fsync(descriptor: int) -> None:
            fsync(descriptor)
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            if path == self.folder:
                self.events.append(("folder", ""))
            elif not path.is_dir():
                self.add("whole", path, path.read_bytes())

        def watched_replace(source: Any, target: Any, **options: Any) -> None:
            replace(source, target, **options)
            self.add("rename", source, Path(target).name)

        def watched_unlink(path: Any, **options: Any) -> None:
            unlink(path, **options)
            self.add("unlink", path)

        os.fsync, os.replace, os.unlink = watched_fsync, watched_replace, watched_unlink  # type: ignore[assignment]

    def watch_sqlite(self) -> None:
        """See what SQLite writes, at the methods of each file that its default VFS opens."""
        library = ctypes.CDLL("libsqlite3.so.0")
        library.sqlite3_vfs_find.restype = ctypes.POINTER(Vfs)
        vfs = library.sqlite3_vfs_find(None).contents
        open_before, delete_before = OPEN(vfs.xOpen), DELETE(vfs.xDelete)

        def opened(this: int, name: int | None, file: int, flags: int, out: int) -> int:
            found: int = open_before(this, name, file, flags, out)
            if found == 0 and name is not None and Path(text_at(name)).parent == self.folder:
                self._wrap(file, text_at(name))
            return found

        def deleted(this: int, name: int, durable: int) -> int:
            found: int = delete_before(this, name, durable)
            self.add("unlink", text_at(name))
            if durable:
                self.events.append(("folder", ""))
            return found

        self._keep += [OPEN(opened), DELETE(deleted)]
        vfs.xOpen, vfs.xDelete = (ctypes.cast(one, ctypes.c_void_p).value for one in self._keep)

    def _wrap(self, file: int, name: str) -> None:
        pointer = ctypes.c_void_p.from_address(file)
        before = Methods.from_address(pointer.value or 0)
        methods = Methods.from_buffer_copy(before)
        write_before, truncate_before, sync_before = (
            WRITE(before.xWrite),
            TRUNCATE(before.xTruncate),
            SYNC(before.xSync),
        )

        def write(this: int, data: int, count: int, offset: int) -> int:
            self.add("write", name, offset, ctypes.string_at(data, count))
            return int(write_before(this, data, count, offset))

        def truncate(this: int, size: int) -> int:
            self.add("truncate", name, size)
            return int(truncate_before(this, size))

        def sync(this: int, flags: int) -> int:
            found = int(sync_before(this, flags))
            self.add("sync", name)
            return found

        callbacks = WRITE(write), TRUNCATE(truncate), SYNC(sync)
        methods.xWrite, methods.xTruncate, methods.xSync = (
            ctypes.cast(one, ctypes.c_void_p).value for one in callbacks
        )
        self._keep += [callbacks, methods]
        pointer.value = ctypes.addressof(methods)

    def image(self, end: int, folder: Path, draws: random.Random) -> None:
        """Write the folder as it may be found when the power failed before event `end`.

        What was synced is there. Of every other write, some are there, some in part, and some are not; and so are
        files that came, went or were renamed since the folder was synced.
        """
        live: dict[str, int] = {}  # which file a name stands for
        certain: dict[str, int] = {}  # the same after the power failed, but for what is pending
        pending: list[tuple[str, int | None]] = []
        synced: list[bytearray] = []
        loose: list[list[tuple[Any, ...]]] = []  # writes since a file was synced

        def new_file(name: str) -> None:
            live[name] = len(synced)
            synced.append(bytearray())
            loose.append([])
            pending.append((name, live[name]))

        for kind, name, *rest in self.events[:end]:
            if kind in ("write", "truncate"):
                if name not in live:
                    new_file(name)
                loose[live[name]].append((kind, *rest))
            elif kind == "sync" and name in live:
                file = live[name]
                apply_all(synced[file], loose[file])
                loose[file] = []
                if (name, file) in pending:  # SQLite syncs the folder of a file that is new
                    change_names(certain, pending)
                    pending = []
            elif kind == "whole":
                new_file(name)
                synced[live[name]][:] = rest[0]
            elif kind == "rename":
                live[rest[0]] = live.pop(name)
                pending += [(rest[0], live[rest[0]]), (name, None)]
            elif kind == "unlink":
                live.pop(name, None)
                pending.append((name, None))
            elif kind == "folder":
                change_names(certain, pending)
                pending = []
        change_names(certain, [one for one in pending if draws.random() < 0.5])
        folder.mkdir(parents=True)
        for name, file in certain.items():
            body = bytearray(synced[file])
            apply_all(body, [torn(one, draws) for one in loose[file] if draws.random() < 0.6])
            (folder / name).write_bytes(body)


def change_names(names: dict[str, int], changes: list[tuple[str, int | None]]) -> None:
    for name, file in changes:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


def torn(one: tuple[Any, ...], draws: random.Random) -> tuple[Any, ...]:
    """Return a write of which only some of the first sectors arrived, now and then."""
    if one[0] == "truncate" or draws.random() < 0.7:
        return one
    kind, offset, data = one
    return kind, offset, data[: 512 * draws.randint(0, len(data) // 512)]


def apply_all(body: bytearray, changes: list[tuple[Any, ...]]) -> None:
    for kind, *rest in changes:
        if kind == "truncate":
            body[:] = body[: rest[0]]
        else:
            offset, data = rest
            body.extend(b"\0" * (offset + len(data) - len(body)))
            body[offset : offset + len(data)] = data


def text_at(name: int) -> str:
    return os.fsdecode(ctypes.string_at(name))


def pointer_fields(*names: str) -> list[tuple[str, Any]]:
    return [(name, ctypes.c_void_p) for name in names]


class Vfs(ctypes.Structure):
    """The beginning of `sqlite3_vfs` (sqlite.org/c3ref/vfs.html)."""

    _fields_ = [
        ("iVersion", ctypes.c_int),
        ("szOsFile", ctypes.c_int),
        ("mxPathname", ctypes.c_int),
        *pointer_fields("pNext", "zName", "pAppData", "xOpen", "xDelete"),
    ]


class Methods(ctypes.Structure):
    """`sqlite3_io_methods` (sqlite.org/c3ref/io_methods.html)."""

    _fields_ = [
        ("iVersion", ctypes.c_int),
        *pointer_fields("xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize", "xLock", "xUnlock"),
        *pointer_fields("xCheckReservedLock", "xFileControl", "xSectorSize", "xDeviceCharacteristics"),
        *pointer_fields("xShmMap", "xShmLock", "xShmBarrier", "xShmUnmap", "xFetch", "xUnfetch"),
    ]


_P, _I, _L = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
OPEN = ctypes.CFUNCTYPE(_I, _P, _P, _P, _I, _P)
DELETE = ctypes.CFUNCTYPE(_I, _P, _P, _I)
WRITE = ctypes.CFUNCTYPE(_I, _P, _P, _I, _L)
TRUNCATE = ctypes.CFUNCTYPE(_I, _P, _L)
SYNC = ctypes.CFUNCTYPE(_I, _P, _I)


def drops(folder: Path, count: int, seed: int) -> None:
    """Let the power fail `count` times at random moments of runs that were written down."""
    draws = random.Random(seed)
    states.LEAST_REPLAY, states.REPLAY_PER_SNAPSHOT = 0.0, 0.02
    make = Log.__init__

    def soon(self: Log, *given: Any, **options: Any) -> None:
        make(self, *given, **options)
        if not options.get(
            "reading"
        ):  # the log is moved into the database every few batches, not every few hundred
            self._database.execute("PRAGMA wal_autocheckpoint=12")

    Log.__init__ = soon  # type: ignore[method-assign]
    cases, lost, per_run = 0, 0, 25
    disk = Disk(folder / "run")
    disk.watch_python()
    disk.watch_sqlite()
    for run in range((count + per_run - 1) // per_run):
        disk.folder, disk.events = folder / f"run{run}", []
        acknowledged: list[tuple[int, int]] = []

        def tell(version: int, told: list[tuple[int, int]] = acknowledged) -> None:
            told.append((len(disk.events), version))

        for _ in range(3):  # closed and opened again, twice
            work(disk.folder, seed + run, tell, batches=12)
        end = len(disk.events)
        assert {"write", "sync", "whole", "rename", "unlink", "folder"} <= {kind for kind, *_ in disk.events}
        expected = Expected(seed + run)
        for _ in range(min(per_run, count - cases)):
            cases += 1
            moment = draws.randint(0, end)
            image = folder / f"image{cases}"
            disk.image(moment, image, draws)
            case = f"seed {seed}, run {run}, event {moment} of {end}: {image}"
            certain = max((version for when, version in acknowledged if when <= moment), default=-1)
            try:
                engine = open_state(image)
            except GrapinError as error:
                if certain >= 0:
                    raise AssertionError(case) from error
                lost += 1
                continue
            with engine:
                assert certain <= engine.graph.version <= certain + 1, case
                expected.check(engine, case)
            shutil.rmtree(image)
    print(json.dumps({"cases": cases, "before anything was acknowledged": lost}))


if __name__ == "__main__":
    {"kills": kills, "drops": drops}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
