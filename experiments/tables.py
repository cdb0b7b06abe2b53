"""How long tables of other libraries take to become a graph, beside Arrow arrays of the same rows.

Columns come through the Arrow PyCapsule interface, so what a library adds is handing them over: DuckDB runs its query,
Polars shares what it has. Each table is loaded in turn, in several rounds; times are processor time of all threads.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from statistics import median
from time import process_time
from typing import Any

import pyarrow as pa

from experiments.lib.bars import Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.errors import MissingDependency
from grapin.generators import generate
from grapin.loading import load

GENERATED, QUICK = "rmat:20:15", "rmat:10:8"
ROUNDS = 3
LIMIT = 1.3
"""A table should take at most this many times as long as Arrow arrays."""
ARROW = "arrow arrays"


def _polars(table: pa.Table) -> Any:
    return import_module("polars").from_arrow(table)


def _duckdb(table: pa.Table) -> Any:
    connection = import_module("duckdb").connect()
    connection.register("rows", table)
    connection.execute("create table edges as select * from rows")
    return connection.sql("select source, target, weight from edges")


def _pandas(table: pa.Table) -> Any:
    return table.to_pandas()


LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {"polars": _polars, "duckdb": _duckdb, "pandas": _pandas}


def bars(*, quick: bool) -> Iterator[Bar]:
    """Load the same rows from every library, in turns."""
    edges = generate(QUICK if quick else GENERATED, seed=1)
    table = pa.table({"source": edges.source, "target": edges.target, "weight": edges.weight})
    try:
        tables = {ARROW: table} | {name: make(table) for name, make in LIBRARIES.items()}
    except ImportError as error:
        raise MissingDependency(f"tables needs {error.name}: pip install 'grapin[tables]'") from None
    del edges
    seconds: dict[str, list[float]] = {name: [] for name in tables}
    found = None
    for _ in range(ROUNDS):
        for name, one in tables.items():
            begin = process_time()
            graph = load(one, ids="keep")
            seconds[name].append(process_time() - begin)
            if found is None:
                found = graph.edges
            if graph.edges != found:
                raise AssertionError(f"{name}: {graph.edges} edges, not {found}")
            del graph
    arrow = median(seconds[ARROW])
    for name in LIBRARIES:
        rows = f"{table.num_rows:,} rows"
        yield Bar(f"{name} over {ARROW}", median(seconds[name]) / arrow, "x", LIMIT, rows)
    for name, times in seconds.items():
        yield Bar(f"{name}: loading", median(times), "s")


def _answer(bars: Sequence[Bar]) -> str:
    part = told("tables take {} times as long as arrays", span(figures(bars, f" over {ARROW}")))
    return sentence(part + told(", which take {}", span(figures(bars, f"{ARROW}: loading"), "s")), kept(bars))


EXPERIMENT = Experiment(
    name="tables",
    question="How long do tables of Polars, DuckDB and pandas take to become a graph, beside Arrow arrays?",
    measure=bars,
    answer=_answer,
    configuration={"graph": GENERATED, "rounds": ROUNDS},
)
