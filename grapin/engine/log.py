"""`Log`: the batches that came since a graph was saved, in one SQLite database that outlives the process.

A batch is written as it was applied, by ids, with a checksum, in a transaction of its own. SQLite's write-ahead log
makes that whole or not there at all; how much a commit waits for is the `durability`.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from grapin.batch import Batch
from grapin.errors import GrapinError, InvalidBatch, InvalidFile
from grapin.graph.archive import PLAIN_NAMES
from grapin.validation import check_choice

FORMAT = 1
"""The form of a saved state; one that a later Grapin changes gets another number."""
_APPLICATION = 0x67726170
"""How a database says that it is one of ours: "grap", as SQLite's application_id."""
DURABILITIES = {"batch": "FULL", "os": "NORMAL", "none": "NORMAL"}
"""What SQLite waits for at a commit (sqlite.org/pragma.html#pragma_synchronous): FULL for the disk at each, NORMAL for
none but checkpoints. With "none" there is no commit before the next snapshot either."""
_HEADER = 4
"""Bytes in front of a batch that say how long its description is."""


class Log:
    """An open database of batches, and the record of the snapshot that they follow."""

    def __init__(self, path: Path, *, durability: str = "batch", reading: bool = False) -> None:
        """Open the database, or make it where there is none; one that is only for `reading` is not changed."""
        check_choice("durability", durability, DURABILITIES)
        self.path = path
        self.durability = durability
        # What a killed process left half done SQLite takes back when it opens the file, which read-only it cannot.
        uri = f"{path.absolute().as_uri()}{'?mode=rw' if reading else ''}"
        with self._told():
            self._database = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            with self._told():
                if reading:
                    self._database.execute("PRAGMA query_only=1")
                else:
                    self._database.execute("PRAGMA journal_mode=WAL")
                    self._wait_for(DURABILITIES[durability])
                if not self._is_empty():
                    self._check_format()
                elif not reading:
                    self._make()
        except BaseException:
            self._database.close()
            raise

    @property
    def record(self) -> dict[str, Any] | None:
        """What was said of the snapshot; None if none was ever complete."""
        with self._told():
            if self._is_empty():
                return None
            row = self._database.execute("SELECT record FROM snapshot").fetchone()
        return None if row is None else json.loads(row[0])

    @property
    def size(self) -> int:
        """What the database takes on disk, with what has yet to be moved into it."""
        beside = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(path.stat().st_size for path in beside if path.exists())

    def append(self, version: int, body: bytes, mark: str | None) -> None:
        """Write the encoded batch that makes `version`, and return when it is as durable as asked for."""
        row = (version, mark, zlib.crc32(body), body)
        with self._told():
            if self.durability == "none":
                self._begin()
            self._database.execute("INSERT INTO batches VALUES (?, ?, ?, ?)", row)

    def follow(self, record: dict[str, Any]) -> None:
        """Let the log follow another snapshot, and forget the batches that are part of it; durable on return."""
        with self._told():
            if self._database.in_transaction:
                self._database.execute("COMMIT")
            self._wait_for("FULL")
            self._begin()
            self._database.execute("DELETE FROM snapshot")
            self._database.execute("INSERT INTO snapshot VALUES (?)", (json.dumps(record),))
            self._database.execute("DELETE FROM batches WHERE version <= ?", (record["version"],))
            self._database.execute("COMMIT")
            self._wait_for(DURABILITIES[self.durability])

    def versions(self) -> list[int]:
        """Return the versions whose batches are here, in order."""
        with self._told():
            return [row[0] for row in self._database.execute("SELECT version FROM batches ORDER BY version")]

    def batches(self, after: int) -> Iterator[tuple[Batch, str | None]]:
        """Yield the batches behind a version with their marks, or say which one is missing or damaged."""
        with self._told():
            rows = self._database.execute(
                "SELECT version, mark, checksum, body FROM batches WHERE version > ? ORDER BY version",
                (after,),
            )
            for expected, (version, mark, checksum, body) in enumerate(rows, after + 1):
                if version != expected:
                    raise InvalidFile(
                        f"{self.path} must have every batch: the one of version {expected} is gone"
                    )
                if zlib.crc32(body) != checksum:
                    raise InvalidFile(
                        f"{self.path} is damaged: the batch of version {version} is not as written"
                    )
                yield decode(body), mark

    def check(self) -> None:
        """Raise `InvalidFile` if the database or a batch in it is damaged."""
        with self._told():
            [found] = self._database.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise InvalidFile(f"{self.path} is damaged: {found}")
        versions = self.versions()
        for _ in self.batches(versions[0] - 1) if versions else ():
            pass

    def close(self) -> None:
        """Write what waits, and let go of the database."""
        with self._told():
            if self._database.in_transaction:
                self._database.execute("COMMIT")
            self._database.close()

    def abandon(self) -> None:
        """Let go of the database as a process does that is killed: what was not committed is not written."""
        with suppress(sqlite3.Error):
            self._database.close()

    def _is_empty(self) -> bool:
        """Tell whether nothing was ever written: a process may be killed between making the file and its tables."""
        [tables] = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return not tables and self._application() == 0

    def _application(self) -> int:
        return int(self._database.execute("PRAGMA application_id").fetchone()[0])

    def _make(self) -> None:
        self._begin()
        self._database.execute(f"PRAGMA application_id={_APPLICATION}")
        self._database.execute(f"PRAGMA user_version={FORMAT}")
        self._database.execute("CREATE TABLE snapshot (record TEXT NOT NULL)")
        self._database.execute(
            "CREATE TABLE batches (version INTEGER PRIMARY KEY, mark TEXT, checksum INTEGER NOT NULL, "
            "body BLOB NOT NULL)"
        )
        self._database.execute("COMMIT")

    def _check_format(self) -> None:
        [form] = self._database.execute("PRAGMA user_version").fetchone()
        if self._application() != _APPLICATION:
            raise InvalidFile(
                f"{self.path} must be the log of a state that Grapin saved, and is another database"
            )
        if form != FORMAT:
            raise InvalidFile(
                f"{self.path} has form {form} of a saved state and this Grapin reads form {FORMAT}: open it with the "
                "version that wrote it; nothing in it was changed"
            )

    def _begin(self) -> None:
        if not self._database.in_transaction:
            self._database.execute("BEGIN IMMEDIATE")

    def _wait_for(self, what: str) -> None:
        self._database.execute(f"PRAGMA synchronous={what}")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in one sentence what SQLite found wrong."""
        try:
            yield
        except sqlite3.Error as error:
            kind = (
                InvalidFile if isinstance(error, sqlite3.DatabaseError) and _is_damage(error) else GrapinError
            )
            raise kind(f"{self.path} cannot be used: {error}") from error


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def encode(batch: Batch) -> bytes:
    """Return a batch as bytes: a description in JSON, and its columns one behind the other."""
    for name in batch.names:
        if type(name) not in PLAIN_NAMES:
            raise InvalidBatch(f"name {name!r:.60} must be text or a number where batches are saved")
    columns: dict[str, Any] = {}
    for name in ("insert", "delete", "reweight"):
        edges = getattr(batch, name)
        columns |= {f"{name}.source": edges.source, f"{name}.target": edges.target}
        if edges.weight is not None:
            columns[f"{name}.weight"] = edges.weight
    columns |= {name: getattr(batch, name) for name in ("insert_vertices", "delete_vertices")}
    columns = {name: column for name, column in columns.items() if len(column)}
    described = [[name, column.dtype.str, len(column)] for name, column in columns.items()]
    header = json.dumps({"columns": described, "names": batch.names}).encode()
    return b"".join([len(header).to_bytes(_HEADER, "little"), header, *map(bytes, columns.values())])


def decode(body: bytes) -> Batch:
    """Return the batch that was encoded."""
    place = _HEADER + int.from_bytes(body[:_HEADER], "little")
    about = json.loads(body[_HEADER:place])
    columns = {}
    for name, dtype, count in about["columns"]:
        columns[name] = np.frombuffer(body, dtype, count, place)
        place += columns[name].nbytes
    parts: dict[str, Any] = {}
    for name in ("insert", "delete", "reweight"):
        ends = [
            columns[f"{name}.{part}"]
            for part in ("source", "target", "weight")
            if f"{name}.{part}" in columns
        ]
        parts[name] = tuple(ends)
    for name in ("insert_vertices", "delete_vertices"):
        parts[name] = columns.get(name, ())
    try:
        return Batch(**parts, names=about["names"])
    except InvalidBatch as error:
        raise InvalidFile(f"a batch of the log is damaged: {error}") from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: files that came, went or were renamed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
