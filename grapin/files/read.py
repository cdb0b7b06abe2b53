"""`load_edges`: a file of any known format, or a table in memory, as one `EdgeList`; or one sentence that says why not.

Which format a file has: its content decides where it can, its name where it must.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grapin.edges import EdgeList
from grapin.errors import InvalidArgument, InvalidFile
from grapin.files.delimited import read_csv, read_snap
from grapin.files.dimacs import read_dimacs
from grapin.files.ids import IDS, number_vertices
from grapin.files.konect import read_konect
from grapin.files.layout import UNNAMED
from grapin.files.market import read_matrix_market
from grapin.files.npz import read_npz
from grapin.files.rows import Request, Rows
from grapin.files.source import plain_name
from grapin.files.table import read_parquet, read_table
from grapin.files.weights import (
    DUPLICATES,
    SELF_LOOPS,
    WEIGHTS,
    merge_repeats,
    normalise_times,
    normalise_weights,
)
from grapin.generators import suggestion
from grapin.progress import progress
from grapin.spool import readable, shown_name
from grapin.tables import as_table, is_table
from grapin.validation import check_choice


class Format(NamedTuple):
    """A format of graph files: who reads it, and by what it is known."""

    read: Callable[[Request], Rows]
    name: str = ""
    """A pattern of names of such files, compression aside."""
    signature: bytes = b""
    """A pattern of how such a file begins."""
    always_signed: bool = False
    """Without the signature a file of that name is something else."""


FORMATS = {
    "snap": Format(read_snap),
    "csv": Format(read_csv, r"(?!out\.).*\.csv"),
    "matrix-market": Format(read_matrix_market, r".*\.mtx", rb"(?i:%%MatrixMarket)", always_signed=True),
    "dimacs": Format(read_dimacs, r".*\.gr", rb"(?:c(?:[ \t][^\n]*)?\r?\n|\s*\n)*p[ \t]+[a-z]+[ \t]+\d"),
    "parquet": Format(read_parquet, r".*\.(?:parquet|pq)", rb"PAR1", always_signed=True),
    "npz": Format(read_npz, r".*\.npz", rb"PK(?:\x03\x04|\x05\x06)", always_signed=True),
    "konect": Format(read_konect, r"out\..*", rb"%\s*(?:sym|asym|bip)\b"),
}
"""In the order in which names are looked at: `out.parquet` is no file of KONECT's."""
_FIRST_ROW = re.compile(rb"(?:[ \t]*(?:[#%][^\n]*)?\r?\n)*([^\n]*)")


def recognise(path: object, name: str, head: bytes) -> str:
    """Return the format of a file with this (uncompressed) name and these first bytes."""
    for kind, form in FORMATS.items():
        if form.signature and re.match(form.signature, head):
            return kind
    named = next(
        (kind for kind, form in FORMATS.items() if form.name and re.fullmatch(form.name, name)), None
    )
    if named is not None and FORMATS[named].always_signed:
        raise InvalidFile(f"{path} must hold {named} data, as its name says, but does not")
    return named or _delimited_kind(head)


def _delimited_kind(head: bytes) -> str:
    row = _FIRST_ROW.match(head)
    return "csv" if row is not None and re.search(rb"[,;]", row[1]) else "snap"


Origin = str | os.PathLike[str] | Any
"""A path, - for standard input, or a table with the Arrow interface (`grapin.tables`)."""
_HEAD = 2**16


def load_edges(
    path: Origin,
    *,
    format: str | None = None,  # noqa: A002  # the word every reader knows for it
    directed: bool | None = None,
    columns: Sequence[str] | str | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    ids: str = "auto",
    weights: str = "keep",
    self_loops: str = "keep",
    duplicates: str = "keep",
) -> EdgeList:
    """Read a graph file, compressed or not, or a table in memory into arrays; rows keep their order.

    A file of nothing but comments is an empty graph; one of zero bytes is an error, as is anything that does
    not fit: `InvalidFile` names the file and the line, and nothing is returned.

    Args:
        path: The file, a pipe, or - for standard input; gzip, bzip2, xz and zstd data are recognised and decompressed
            on the way. Or a table with the Arrow interface, such as one of Polars, pandas, DuckDB or PyArrow, with
            columns as in a Parquet file; `format`, `delimiter` and `comment` are for files.
        format: snap, csv, matrix-market, dimacs, konect, parquet or npz; told from name and content if None.
        directed: Whether edges run one way; by default what the file says, and True if it says nothing.
        columns: What the columns mean, in order: source, target, weight, time, change (+1 or -1), or - to
            ignore one, in a sequence or between commas; by default told from a header, or from their number (see
            `grapin.files.layout`).
        delimiter: The character between columns; by default told from the first row.
        comment: What comment lines begin with; by default # or %, and '' for files without comments.
        ids: auto, keep, dense or text (see `grapin.files.ids`).
        weights: keep, ignore, absolute, shift, float32 or round (see `grapin.files.weights`).
        self_loops: keep or drop.
        duplicates: keep every row, or one row per edge: first, last, min, max or sum.
    """
    check_choice("ids", ids, IDS)
    check_choice("weights", weights, WEIGHTS)
    check_choice("self_loops", self_loops, SELF_LOOPS)
    check_choice("duplicates", duplicates, DUPLICATES)
    if is_table(path):
        if not format is delimiter is comment is None:
            raise InvalidArgument(
                "format, delimiter and comment must be left out: a table in memory has none"
            )
        return merge_repeats(_table_edges(path, columns, ids, weights, directed), self_loops, duplicates)
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgument(f"path={path!r:.60} must be a file, or a table with the Arrow interface")
    if format is not None:
        check_choice("format", format, FORMATS)
    name = Path(shown_name(path))
    with (
        readable(path) as content,
        progress(f"Loading {name.name}", _existing(content, name).stat().st_size) as advance,
    ):
        request = Request(name, advance, columns, delimiter, comment, text_ids=ids == "text", content=content)
        rows = FORMATS[format or _recognised(request)].read(request)
        edges = _edge_list(request, rows, ids, weights, directed)
    return merge_repeats(edges, self_loops, duplicates)


def _table_edges(
    given: Any, columns: Sequence[str] | str | None, ids: str, weights: str, directed: bool | None
) -> EdgeList:
    """Read a table in memory; what is wrong with it is wrong with the argument, as there is no file."""
    request = Request(Path(TABLE), lambda _: None, columns, text_ids=ids == "text")
    try:
        return _edge_list(request, read_table(request, as_table(TABLE, given)), ids, weights, directed)
    except InvalidFile as error:
        raise InvalidArgument(str(error).replace("accept the file", "accept the table")) from None


TABLE = "table"
"""What messages call a table in memory."""


def _existing(file: Path, name: Path) -> Path:
    """Return a file that can be read and is not empty, or refuse it by its name."""
    try:
        with file.open("rb") as opened:
            begin = opened.read(1)
    except FileNotFoundError:
        raise InvalidFile(f"{name} must exist, but there is no such file{suggestion(str(name))}") from None
    except IsADirectoryError:
        raise InvalidFile(f"{name} must be a file, not a directory") from None
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{name} must be readable, but: {error}") from None
    if not begin:
        raise InvalidFile(f"{name} must hold a graph, but is empty")
    return file


def _recognised(request: Request) -> str:
    with request.open() as source:
        head = source.read(_HEAD)
    if not head:
        raise InvalidFile(f"{request.path} must hold a graph, but is empty inside its compression")
    return recognise(request.path, plain_name(request.path), head)


def _edge_list(request: Request, rows: Rows, ids: str, weights: str, directed: bool | None) -> EdgeList:
    weight, notes = normalise_weights(request, rows, weights)
    time = normalise_times(request, rows)
    numbering = number_vertices(request, rows, ids)
    if rows.names and numbering.vertices > len(rows.names):
        short = f"{len(rows.names):,} names lie beside the file, which has {numbering.vertices:,} vertices"
        notes.append(f"{UNNAMED} {short}.")
    if numbering.labels is not None:
        named = f"from {numbering.labels.name(0)} on" if rows.numbered else "in ascending order"
        notes.insert(0, f"Vertices renumbered: {numbering.vertices:,}; the file names them {named}.")
    return EdgeList(
        source=numbering.source,
        target=numbering.target,
        vertices=numbering.vertices,
        weight=weight,
        time=time,
        removed=rows.removed,
        directed=directed if directed is not None else rows.directed is not False,
        labels=numbering.labels,
        origin=str(request.path),
        notes=(*rows.notes, *notes),
        columns=dict(rows.columns),
    )
