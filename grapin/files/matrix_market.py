"""Matrix Market files, read by SciPy: entry (i, j) is an edge from i to j.

A symmetric matrix is an undirected graph.
"""

import re
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidFile, MissingDependency
from grapin.files.rows import Request, Rows, as_column, row_place

_HEADER = 2**16


def read_matrix_market(request: Request) -> Rows:
    """Read a square sparse matrix; ids start at 1, and an undirected edge is kept once."""
    field, symmetry = _kind(request)
    matrix = _matrix(request)
    row, column = matrix.coords
    weight: NDArray[Any] | None = None if field == "pattern" else matrix.data
    if symmetry == "symmetric":
        lower = row >= column
        row, column = row[lower], column[lower]
        weight = None if weight is None else weight[lower]
    return Rows(
        source=as_column(row.astype(np.int64) + 1),
        target=as_column(column.astype(np.int64) + 1),
        weight=None if weight is None else as_column(weight),
        time=None,
        locate=row_place,
        directed=symmetry != "symmetric",
        first=1,
        declared=matrix.shape[0],
        numbered=True,
    )


def _kind(request: Request) -> tuple[str, str]:
    with request.open() as source:
        words = source.read(_HEADER).split(b"\n", 1)[0].decode(errors="replace").lower().split()
    if (
        len(words) != 5
        or words[2] != "coordinate"
        or words[3] not in {"real", "integer", "pattern", "double"}
    ):
        wanted = "%%MatrixMarket matrix coordinate real|integer|pattern SYMMETRY"
        request.refuse("line 1", f"the header must be '{wanted}', not {' '.join(words)!r:.80}")
    return words[3], words[4]


def _matrix(request: Request) -> Any:
    try:
        from scipy.io import mmread
    except ImportError:
        raise MissingDependency("Matrix Market files need SciPy: pip install 'grapin[scipy]'") from None
    try:
        with request.open() as source:
            matrix = mmread(source, spmatrix=False)
    except InvalidFile:
        raise
    except (ValueError, OverflowError, TypeError) as error:
        _refuse(request, str(error))
    if matrix.shape[0] != matrix.shape[1]:
        request.refuse("the size line", f"a graph must be a square matrix, not one of {matrix.shape}")
    return matrix


def _refuse(request: Request, reason: str) -> NoReturn:
    """Word SciPy's `Line 3: Invalid integer value` as every other refusal."""
    placed = re.fullmatch(r"Line (\d+): (.*)", reason, re.DOTALL)
    if placed is not None:
        request.refuse(f"line {placed[1]}", f"{placed[2]}")
    raise InvalidFile(f"{request.path} must be a readable matrix, but: {reason}")
