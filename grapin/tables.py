"""Tables of other libraries, through the Arrow PyCapsule interface: Polars, pandas, DuckDB, PyArrow, Arrow Flight ...

Whatever has `__arrow_c_stream__` or `__arrow_c_array__` is a table here, and none of those libraries is needed for it.
Columns are shared, not copied, as far as their types allow. What the columns of a table of edges mean is told by their
names; in a table of mutations, a column `op` (insert, delete, reweight) or `change` (1 or -1) says what a row does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from grapin.errors import GrapinError, InvalidArgument, InvalidBatch

if TYPE_CHECKING:
    import pyarrow as pa

_SYNONYMS = {
    "source": "source src from fromnode fromnodeid fromid sourceid sourcenode u tail start node1 i",
    "target": "target tgt to tonode tonodeid toid targetid targetnode dst destination v head end node2 j",
    "weight": "weight weights w rating value cost distance length capacity score sign",
    "time": "time times timestamp timestamps t ts date datetime day year unixtime unixts unix epoch seconds",
    "change": "change",
}
_ROLES = {name: role for role, names in _SYNONYMS.items() for name in names.split()}
_OPERATIONS = ("insert", "delete", "reweight")


def role_of(name: str) -> str:
    """Tell what a column of this name means; `-` where the name says nothing."""
    return _ROLES.get(re.sub(r"[^a-z0-9]", "", name.lower()), "-")


def roles_of_names(names: Sequence[str]) -> tuple[str, ...] | None:
    """Tell the columns' roles from their names; None when source or target are not among them."""
    roles: list[str] = []
    for name in names:
        role = role_of(name)
        roles.append("-" if role in roles else role)
    return tuple(roles) if {"source", "target"} <= set(roles) else None


def is_table(given: object) -> bool:
    """Tell whether something gives its columns away as Arrow has them."""
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")


def as_table(name: str, given: Any) -> "pa.Table":
    """Return all of a table, without a copy; `name` is what messages call it."""
    import pyarrow as pa

    if not is_table(given):
        raise InvalidArgument(
            f"{name}={given!r:.60} must be a table with the Arrow interface (__arrow_c_stream__), such as one of "
            "Polars, pandas, DuckDB or PyArrow"
        )
    try:
        return pa.table(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a table that Arrow can read, but: {error}") from None


def record_batches(name: str, given: Any) -> Iterator["pa.Table"]:
    """Yield the parts of a stream of record batches as they come."""
    import pyarrow as pa

    if not hasattr(given, "__arrow_c_stream__"):
        if isinstance(given, Iterator):
            for part in given:
                yield as_table(name, part)
            return
        yield as_table(name, given)
        return
    for part in pa.RecordBatchReader.from_stream(given):
        yield pa.Table.from_batches([part])


@dataclass(frozen=True, eq=False)
class Mutations:
    """Rows of a table that change a graph, in their order."""

    source: NDArray[Any]
    """Ids, or an object array of names; so is `target`."""
    target: NDArray[Any]
    weight: NDArray[Any] | None
    operation: NDArray[np.int8]
    """0 for an insertion, 1 for a deletion, 2 for a new weight."""
    time: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.operation)

    @property
    def named(self) -> bool:
        """Whether vertices are called by name."""
        return self.source.dtype == object

    def rows(self, chosen: Any) -> "Mutations":
        """Return the chosen rows (a slice, a mask or row numbers)."""
        chosen_of: dict[str, Any] = {}
        for one in fields(self):
            column = getattr(self, one.name)
            chosen_of[one.name] = None if column is None else column[chosen]
        return Mutations(**chosen_of)

    def before(self, later: "Mutations") -> "Mutations":
        """Return these rows, and others behind them."""
        joined: dict[str, Any] = {}
        for one in fields(self):
            columns = getattr(self, one.name), getattr(later, one.name)
            if (columns[0] is None) != (columns[1] is None):
                raise InvalidBatch(f"record batches must have the same columns: some have no {one.name}")
            joined[one.name] = None if columns[0] is None else np.concatenate(columns)
        return Mutations(**joined)

    def last_of_each(self, *, directed: bool = True) -> "Mutations":
        """Return what counts where order has a meaning: the last row of each edge."""
        source, target = self.source, self.target
        if self.named:
            pairs = zip(source.tolist(), target.tolist(), strict=True)
            edges: Any = pairs if directed else (tuple(sorted(pair)) for pair in pairs)
            last = np.fromiter({edge: row for row, edge in enumerate(edges)}.values(), np.int64)
        else:
            if not directed:
                source, target = np.minimum(source, target), np.maximum(source, target)
            order = np.lexsort((target, source))
            source, target = source[order], target[order]
            ends = np.ones(len(order), np.bool_)
            ends[:-1] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
            last = order[ends]
        return self if len(last) == len(self) else self.rows(np.sort(last))

    def parts(self) -> dict[str, tuple[Any, ...]]:
        """Return the arguments of a batch: columns of edges to insert, to delete and to re-weight."""
        found: dict[str, tuple[Any, ...]] = {}
        for number, name in enumerate(_OPERATIONS):
            chosen = self.rows(self.operation == number)
            if len(chosen):
                weighted = chosen.weight is not None and name != "delete"
                found[name] = (chosen.source, chosen.target, *([chosen.weight] if weighted else []))
        return found


def read_mutations(name: str, given: Any, operation: str = "insert", *, time: str | None = None) -> Mutations:
    """Read a table of mutations; rows of one without a column `op` or `change` are all of one `operation`."""
    table = as_table(name, given)
    names = table.column_names
    if time is not None and time not in names:
        raise InvalidBatch(
            f"time={time!r} must be a column of {name}, which has {', '.join(names) or 'none'}"
        )
    roles = roles_of_names(names)
    if roles is None:
        raise InvalidBatch(f"{name} must have columns source and target, not {', '.join(names) or 'none'}")
    column = {role: table.column(place) for place, role in enumerate(roles) if role != "-"}
    done = _operations(name, table, column, operation)
    source, target = _ends(name, column)
    return Mutations(
        source,
        target,
        _weights(name, column["weight"], done) if "weight" in column else None,
        done,
        None if time is None else _numbers(name, "time", table.column(time)),
    )


def arrow_parts(table: Any, kinds: Mapping[str, Any], *, named: bool) -> dict[str, tuple[Any, ...]]:
    """Return the arguments of a batch from one table, or from one for each kind of mutation."""
    given = {name: kind for name, kind in kinds.items() if kind is not None}
    if (table is None) == (not given):
        raise InvalidBatch(
            f"from_arrow must be given one table with a column op, or some of {', '.join(kinds)}"
        )
    if table is not None:
        found = read_mutations("table", table)
        _check_names(found, named=named)
        return found.parts()
    parts: dict[str, tuple[Any, ...]] = {}
    for name, kind in given.items():
        found = read_mutations(name, kind, name)
        _check_names(found, named=named)
        if set(found.parts()) - {name}:
            raise InvalidBatch(
                f"{name} must be a table of one kind of mutations: leave out its column op or change"
            )
        parts |= found.parts()
    return parts


def _check_names(found: Mutations, *, named: bool) -> None:
    if found.named and not named:
        raise InvalidBatch(
            "source and target must be ids, not text: NamedBatch.from_arrow takes vertices by name"
        )


def _operations(name: str, table: "pa.Table", column: dict[str, Any], operation: str) -> NDArray[np.int8]:
    said = next(
        (place for place, one in enumerate(table.column_names) if one.lower() in {"op", "operation"}), None
    )
    if said is not None:
        words = table.column(said).to_pylist()
        bad = next((row for row, word in enumerate(words) if word not in _OPERATIONS), None)
        if bad is not None:
            _refuse(name, bad, f"op must be one of {', '.join(_OPERATIONS)}, not {words[bad]!r:.40}")
        return np.array([_OPERATIONS.index(word) for word in words], np.int8)
    if "change" in column:
        changes = _numbers(name, "change", column["change"])
        if not (np.abs(changes) == 1).all():
            row = int(np.argmax(np.abs(changes) != 1))
            _refuse(name, row, f"change must be 1 (insertion) or -1 (deletion), not {changes[row]}")
        return (changes < 0).astype(np.int8)
    return np.full(table.num_rows, _OPERATIONS.index(operation), np.int8)


def _ends(name: str, column: Mapping[str, "pa.ChunkedArray"]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both ends: ids where both columns hold whole numbers, names otherwise."""
    import pyarrow as pa

    ends = []
    for role in ("source", "target"):
        typed = _typed(name, role, column[role])
        ids = pa.types.is_integer(typed.type)
        ends.append(typed.to_numpy() if ids else np.array([*typed.to_pylist(), None], object)[:-1])
    source, target = ends
    if (source.dtype == object) != (target.dtype == object):
        source, target = (np.array([*map(str, end.tolist()), None], object)[:-1] for end in ends)
    return source, target


def _weights(name: str, column: "pa.ChunkedArray", done: NDArray[np.int8]) -> NDArray[Any]:
    """Return weights; only deletions may be without one."""
    import pyarrow as pa

    if column.null_count:
        missing = column.is_null().to_numpy() & (done != _OPERATIONS.index("delete"))
        if missing.any():
            _refuse(name, int(np.argmax(missing)), "the weight must not be missing")
        column = (column.cast(pa.int32()) if pa.types.is_null(column.type) else column).fill_null(0)
    return _numbers(name, "weight", column)


def _numbers(name: str, role: str, column: "pa.ChunkedArray") -> NDArray[Any]:
    numbers: NDArray[Any] = _typed(name, role, column).to_numpy()
    return numbers


def _typed(name: str, role: str, column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    return typed_column(role, column, partial(_refuse, name), InvalidBatch, name)


def _refuse(name: str, row: int, problem: str) -> NoReturn:
    raise InvalidBatch(f"{name}, row {row + 1}: {problem}")


def typed_column(
    role: str, column: "pa.ChunkedArray", refuse: Any, error: type[GrapinError], where: str
) -> "pa.ChunkedArray":
    """Return a column in the type that is read of its role, or refuse it: by `refuse(row, problem)`, or by `error`."""
    import pyarrow as pa

    if column.null_count:
        refuse(column.is_null().index(True).as_py(), f"the {role} must not be missing")
    wanted = _type(role, column.type)
    if wanted is None:
        must = "whole numbers or text" if role in {"source", "target"} else "numbers"
        raise error(f"{where}, column {role}: it must hold {must}, not {column.type}")
    try:
        if pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        if pa.types.is_dictionary(column.type) and wanted == pa.string():
            column = pa.chunked_array(
                [
                    pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(wanted))
                    for chunk in column.chunks
                ],
                pa.dictionary(column.type.index_type, wanted),
            )
        return column if column.type == wanted else column.cast(wanted)
    except pa.ArrowException as problem:
        raise error(f"{where}, column {role}: {problem}") from None


def _type(role: str, given: Any) -> Any:
    """Return what a column of this role and type is read as; None where there is nothing."""
    import pyarrow as pa

    types = pa.types
    whole = types.is_integer(given)
    if role in {"source", "target"}:
        if types.is_int32(given):
            return given
        text = types.is_dictionary(given) and not types.is_integer(given.value_type)
        views = types.is_string_view(given) if hasattr(types, "is_string_view") else False
        if text or views or types.is_string(given) or types.is_large_string(given):
            return pa.string()
        return pa.int64() if whole or types.is_dictionary(given) else None
    if role == "weight" and (types.is_int32(given) or types.is_float32(given)):
        return given
    if types.is_floating(given) or (types.is_decimal(given) and given.scale > 0):
        return pa.float64()
    dated = types.is_timestamp(given) or types.is_date(given) or types.is_time(given)
    return pa.int64() if whole or types.is_decimal(given) or (role == "time" and dated) else None
