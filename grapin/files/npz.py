"""NumPy archives: arrays `source`, `target`; `weight`, `time`, `removed`, `vertices`, `directed` if wanted.

What `scipy.sparse.save_npz` writes (csr, csc and coo) is read as an adjacency matrix, without SciPy. Arrays
of Python objects are refused unread: unpickling could run anything.
"""

import io
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grapin.errors import InvalidFile
from grapin.files.rows import Request, Rows, as_column, row_place

Arrays = dict[str, NDArray[Any]]


def read_npz(request: Request) -> Rows:
    """Read an archive of columns, or of a sparse matrix."""
    arrays = _arrays(request)
    if "reads.start" in arrays:
        raise InvalidFile(
            f"{request.path} is the trace of a run, not a graph: give it to grapin whatif or compare"
        )
    if {"format", "shape", "data"} <= set(arrays):
        arrays = _columns_of_matrix(request, arrays)
    lengths = {
        name: arrays[name].shape
        for name in ("source", "target", "weight", "time", "removed")
        if name in arrays
    }
    if not {"source", "target"} <= set(lengths):
        request.refuse("the list of arrays", f"source and target must be among {sorted(arrays)}")
    if len(set(lengths.values())) > 1 or len(lengths["source"]) != 1:
        request.refuse("the arrays", f"all columns must have one dimension and one length, not {lengths}")
    declared = _scalar(request, arrays, "vertices")
    directed = _scalar(request, arrays, "directed")
    return Rows(
        source=_ids(request, "source", arrays["source"]),
        target=_ids(request, "target", arrays["target"]),
        weight=_numbers(request, "weight", arrays.get("weight")),
        time=_numbers(request, "time", arrays.get("time")),
        removed=arrays["removed"].astype(np.bool_) if "removed" in arrays else None,
        locate=row_place,
        declared=declared,
        numbered=declared is not None,
        directed=None if directed is None else bool(directed),
    )


def _arrays(request: Request) -> Arrays:
    with request.open() as source:
        data = source.read()
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # noqa: BLE001  # a damaged archive makes zipfile and numpy raise anything
        raise InvalidFile(f"{request.path} must be a readable .npz archive, but: {error}") from None


def _columns_of_matrix(request: Request, arrays: Arrays) -> Arrays:
    shape = arrays["shape"].tolist()
    if arrays["shape"].shape != (2,) or shape[0] != shape[1]:
        request.refuse("the array shape", f"a graph must be a square matrix, not {shape}")
    kind = arrays["format"].astype(str).tolist()
    try:
        row, column = _coordinates(kind, arrays)
    except (KeyError, TypeError, ValueError):
        request.refuse("the arrays", f"they must be a sparse matrix in csr, csc or coo, not {kind!r}")
    found = {"source": row, "target": column, "vertices": np.array(shape[0])}
    return found if arrays["data"].dtype == np.bool_ else {**found, "weight": arrays["data"]}


def _coordinates(kind: str, arrays: Arrays) -> tuple[NDArray[Any], NDArray[Any]]:
    if kind == "coo":
        return arrays["row"], arrays["col"]
    lists = np.diff(arrays["indptr"])
    major, minor = np.repeat(np.arange(len(lists)), lists), arrays["indices"]
    return {"csr": (major, minor), "csc": (minor, major)}[kind]


def _scalar(request: Request, arrays: Arrays, name: str) -> int | None:
    if name not in arrays:
        return None
    if arrays[name].size != 1 or arrays[name].dtype.kind not in "iub":
        request.refuse(f"the array {name}", "it must hold one whole number")
    return int(arrays[name].item())


def _ids(request: Request, name: str, array: NDArray[Any]) -> pa.ChunkedArray:
    if array.dtype.kind == "U":
        return as_column(array.astype(object)).cast(pa.string())
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.size and array.max() >= 2**63):
        request.refuse(f"the array {name}", f"it must hold 64-bit integers or text, not {array.dtype}")
    return as_column(array.astype(np.int64))


def _numbers(request: Request, name: str, array: NDArray[Any] | None) -> pa.ChunkedArray | None:
    if array is None:
        return None
    if array.dtype.kind not in "iuf" or (array.dtype == np.uint64 and array.size and array.max() >= 2**63):
        request.refuse(f"the array {name}", f"it must hold real numbers, not {array.dtype}")
    return as_column(array.astype(np.float64 if array.dtype.kind == "f" else np.int64))
