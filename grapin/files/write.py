"""Graphs out: the rows of an `EdgeList` as a file that `load` reads back, whole or not at all."""

import bz2
import gzip
import lzma
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import zstandard
from numpy.typing import NDArray
from pyarrow import csv, parquet

from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.outputs import check_outputs, write_whole
from grapin.tables import roles_of_names

Columns = dict[str, NDArray[Any]]

_OPEN: dict[str, Callable[..., Any]] = {
    "": lambda raw, _mode: nullcontext(raw),
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": zstandard.open,
}
_COMPRESSED = _OPEN.keys() - {""}
_TEXT = {".txt", ".csv", ".json"}
"""Formats that are worth compressing; the others do it themselves."""


def write_edges(edges: EdgeList, file: str) -> None:
    """Write the rows in the format and compression that the file's name asks for.

    A file of that name is replaced when all is written; until then, and if anything fails, it stays.
    """
    form = ending_of(file, _WRITERS)
    if form is None:
        raise InvalidArgument(
            f"file={file!r} must end in .txt or .csv (then perhaps .gz, .bz2, .xz or .zst), .npz or .parquet"
        )
    check_outputs(file)

    def write_rows(partial: Path) -> None:
        # Opened here: not every compressor closes its file when the disk is full.
        with partial.open("wb") as raw, compressed(raw, file) as sink:
            _WRITERS[form](edges, sink)

    write_whole(file, write_rows)


def ending_of(file: str, known: Collection[str]) -> str | None:
    """Return which known ending a file's name has, that of a compression aside; None where it has no such."""
    path = Path(file)
    form = Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix
    fits = form in known and (path.suffix == form or form in _TEXT)
    return form if fits else None


def compressed(raw: IO[bytes], file: str) -> AbstractContextManager[IO[bytes]]:
    """Open what compresses to `raw` as the file's name asks for."""
    opened: AbstractContextManager[IO[bytes]] = _OPEN.get(Path(file).suffix, _OPEN[""])(raw, "wb")
    return opened


def _columns(edges: EdgeList) -> Columns:
    source, target = edges.source, edges.target
    named: Columns = {"source": source, "target": target}
    if edges.labels is not None:
        named = {"source": edges.labels.names[source], "target": edges.labels.names[target]}
    if edges.weight is not None:
        named["weight"] = edges.weight
    if edges.time is not None:
        named["time"] = edges.time
    return named


def _table(edges: EdgeList) -> Any:
    columns = _columns(edges)
    if edges.removed is not None:
        columns["change"] = np.where(edges.removed, np.int8(-1), np.int8(1))
    names = _header(list(columns), edges.columns)
    return pa.table({name: pa.array(column) for name, column in zip(names, columns.values(), strict=True)})


def _header(roles: list[str], called: Mapping[str, str]) -> list[str]:
    """Return the names that columns had in the file they came from, where a reader knows by them what they are."""
    names = list(roles)
    for place, role in enumerate(roles):
        tried = [*names[:place], called.get(role, role), *names[place + 1 :]]
        if roles_of_names(tried) == tuple(roles):
            names = tried
    return names


def _write_csv(edges: EdgeList, sink: IO[bytes]) -> None:
    csv.write_csv(_table(edges), sink, csv.WriteOptions(quoting_style="needed"))


def _write_text(edges: EdgeList, sink: IO[bytes]) -> None:
    table = _table(edges)
    kind = "Directed" if edges.directed else "Undirected"
    sink.write(f"# {kind} graph: {edges.origin}\n# Nodes: {edges.vertices} Edges: {len(edges)}\n".encode())
    sink.write(f"# {chr(9).join(table.column_names)}\n".encode())
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    csv.write_csv(table, sink, options)


def _write_npz(edges: EdgeList, sink: IO[bytes]) -> None:
    columns = _columns(edges)
    if edges.removed is not None:
        columns["removed"] = edges.removed
    if edges.labels is not None and edges.labels.names.dtype == object:
        # Text of fixed width: arrays of Python objects would have to be unpickled.
        columns |= {name: columns[name].astype(np.str_) for name in ("source", "target")}
    if edges.labels is None:
        columns["vertices"] = np.array(edges.vertices)
    np.savez(sink, allow_pickle=False, directed=np.array(edges.directed), **columns)


def _write_parquet(edges: EdgeList, sink: IO[bytes]) -> None:
    parquet.write_table(_table(edges), sink, compression="zstd")


_WRITERS: dict[str, Callable[[EdgeList, IO[bytes]], None]] = {
    ".txt": _write_text,
    ".csv": _write_csv,
    ".npz": _write_npz,
    ".parquet": _write_parquet,
}
