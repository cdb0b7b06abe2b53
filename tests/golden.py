"""What runs and predictions give today, quantity by quantity: whoever moves code holds the new against the file.

`python -m tests.golden` compares, `--write` rewrites `golden.json` and prints what changed; a part of a workload's name
selects. Arrays are kept as digests, numbers as themselves, so that a difference in a number shows how large it is. Only
names that users import are used here, as everything below them may move. Nothing depends on hash seeds or on how many
cores there are; what is computed in floating point is rounded far above what rounding does to it.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import grapin
from grapin import BFS, SSSP, SSWP, Batch, ConnectedComponents, EdgeList, Engine, PageRank, sim
from grapin.stream import Stream, from_iterator, sliding, temporal, workload

FILE = Path(__file__).with_name("golden.json")
MEASURED = {"update_seconds", "compute_seconds", "seconds", "when", "grapin"}
"""What no two runs, or no two versions, have in common."""
Quantities = dict[str, str | int | float]
"""What a workload gives: digests of arrays, and numbers and words as they are, by name."""
Golden = dict[str, Quantities]
WORKLOADS: dict[str, Callable[[], Quantities]] = {}
"""By name, in the order in which they are defined."""


def digest(*arrays: Any) -> str:
    """Return a short name for the content of arrays: type, shape and elements."""
    seen = hashlib.sha256()
    for one in arrays:
        array = np.asarray(one)
        if array.dtype.kind == "f":  # of float32 all digits count: it holds sums of few weights
            array = np.round(array.astype(np.float64), 10) + 0.0
        if array.dtype == object:
            array = array.astype(np.str_)
        seen.update(f"{array.dtype.str} {array.shape} ".encode())
        seen.update(np.ascontiguousarray(array).tobytes())
    return f"#{seen.hexdigest()[:12]}"


def flat(record: Any, name: str = "") -> Quantities:
    """Return what a nested record holds by dotted name, without measured times; lists are one digest a column."""
    if isinstance(record, Mapping):
        found: Quantities = {}
        for key, value in record.items():
            if key not in MEASURED:
                found |= flat(value, f"{name}.{key}" if name else str(key))
        return found
    if isinstance(record, list) and record and isinstance(record[0], Mapping):
        rows = [flat(row) for row in record]
        names = {key: None for row in rows for key in row}
        return {f"{name}[].{key}": digest([str(row.get(key)) for row in rows]) for key in names}
    if isinstance(record, float):
        return {name: float(f"{record:.10g}")}
    return {name: record if isinstance(record, (int, str)) else json.dumps(record)}


def predicted(prediction: sim.Prediction) -> Quantities:
    """Return all that a prediction says, in all and phase by phase; here times are no measurements."""
    record = json.loads(json.dumps(prediction.record()), object_pairs_hook=_predicted_seconds)
    return flat(record) | {"dominant": prediction.dominant}


def _predicted_seconds(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"predicted_seconds" if key == "seconds" else key: value for key, value in pairs}


# What is run


def edges_of(spec: str, *, weights: str = "int", directed: bool | None = None) -> EdgeList:
    """Return a generated graph with whole weights, with weights of an eighth of them, or without."""
    edges = grapin.generate(spec, seed=3, weights=weights != "none")
    if directed is not None:
        edges = replace(edges, directed=directed)
    if weights == "float":
        assert edges.weight is not None
        edges = replace(edges, weight=edges.weight.astype(np.float32) / np.float32(8))
    return edges


def mutations(spec: str, size: int = 60, insertions: float = 0.5, batches: int = 4, **kind: Any) -> Stream:
    """Return a graph and batches that insert and delete some of its edges."""
    return workload(edges_of(spec, **kind), batches=batches, size=size, insertions=insertions, seed=5)


def events(vertices: int = 120, count: int = 900) -> EdgeList:
    """Return edges with times, weights and deletions, between vertices that have names."""
    places = np.arange(count, dtype=np.int64)
    source, target = (places * 37 + places**2 // 11) % vertices, (places * 53 + 7) % vertices
    return EdgeList(
        source.astype(np.int32),
        target.astype(np.int32),
        vertices,
        weight=(1 + places % 9).astype(np.int32),
        time=places // 3,
        removed=places % 7 == 6,
    )


def growing_and_shrinking() -> Stream:
    """Return batches that insert and delete vertices, re-weight edges, and mutate what is not there."""
    batches = [
        Batch(insert=[(0, 300, 2), (300, 301, 1)], insert_vertices=[300, 301]),
        Batch(reweight=[(0, 300, 9), (300, 301, 4)], delete=[(299, 298)]),
        Batch(delete_vertices=[0, 5, 17]),
        Batch(insert=[(1, 2, 3), (1, 2, 3), (4, 4, 1)], delete=[(300, 301)]),
    ]
    edges = edges_of("er:300:1500")
    return Stream(lambda: iter(from_iterator(batches)), length=len(batches), start=edges)


@dataclass(frozen=True)
class Run:
    """One engine over one stream: what it is made of, as a user would write it."""

    program: Any
    stream: Callable[[], Stream]
    system: str = "bounded"
    device: str = "cpu"
    cache: str | None = None
    graph: Mapping[str, Any] | None = None
    """How the graph is laid out, where not as usual."""


RMAT, TINY = "rmat:10:8", "rmat:4:3"
"""What most workloads run on; what the reference and the simulator of a GPU can."""
HUB, LARGE_HUB = 900, 23354
"""The vertex with most out-edges of the former, and of rmat:15:16."""

RUNS = {
    "bfs": Run(BFS(source=HUB), lambda: mutations(RMAT, weights="none")),
    "bfs, undirected, three sources": Run(BFS([1, 2, 3]), lambda: mutations(RMAT, directed=False)),
    "sssp": Run(SSSP(source=HUB), lambda: mutations(RMAT)),
    "sssp, undirected, float": Run(
        SSSP(source=HUB), lambda: mutations(RMAT, weights="float", directed=False)
    ),
    "sssp, large batches": Run(SSSP(source=0), lambda: mutations("rmat:12:8", 6000, batches=2)),
    "sssp, insertions": Run(SSSP(source=0), lambda: mutations("grid:40:40", 200, 1.0)),
    "sssp, deletions": Run(SSSP(source=0), lambda: mutations("grid:40:40", 200, 0.0)),
    "sssp, vertices come and go": Run(SSSP(source=1), growing_and_shrinking),
    "sssp, lists not aligned": Run(
        SSSP(source=HUB), lambda: mutations(RMAT), "grapin-zc", graph={"aligned": False}
    ),
    "sssp, adaptive cache": Run(SSSP(source=HUB), lambda: mutations(RMAT), cache="adaptive:20%"),
    "sswp": Run(SSWP(source=HUB), lambda: mutations(RMAT)),
    "sswp, float": Run(SSWP(source=HUB), lambda: mutations(RMAT, weights="float")),
    "cc": Run(ConnectedComponents(), lambda: mutations("er:1200:1400", directed=False)),
    "cc, directed": Run(ConnectedComponents(), lambda: mutations("er:1200:1400")),
    "cc, from empty": Run(ConnectedComponents(), lambda: temporal(events(), size=200)),
    "sssp, from empty": Run(SSSP(source=0), lambda: temporal(events(), size=200, vertices="all")),
    "bfs, sliding window": Run(BFS(source=0), lambda: sliding(events(), span=90, step=40, vertices="all")),
    "pagerank": Run(PageRank(tolerance=1e-6), lambda: mutations(RMAT)),
    "pagerank, undirected, adaptive cache": Run(
        PageRank(tolerance=1e-5), lambda: mutations(RMAT, directed=False), cache="adaptive:20%"
    ),
    "several programs": Run(
        [BFS(source=0), SSSP(source=0), PageRank(tolerance=1e-4)], lambda: mutations("rmat:9:6", 40)
    ),
    "grapin, sssp": Run(SSSP(source=HUB), lambda: mutations(RMAT), "grapin", cache="20%"),
    "grapin, pagerank": Run(PageRank(tolerance=1e-6), lambda: mutations(RMAT), "grapin", cache="20%"),
    "grapin-zc, bfs": Run(BFS(source=HUB), lambda: mutations(RMAT, weights="none"), "grapin-zc"),
    "grapin-zc, sswp, float": Run(
        SSWP(source=HUB), lambda: mutations(RMAT, weights="float", directed=False), "grapin-zc"
    ),
    "grapin-page, sssp": Run(
        SSSP(source=LARGE_HUB), lambda: mutations("rmat:15:16", 500, batches=2), "grapin-page"
    ),
    "grapin-recomp, sssp": Run(
        SSSP(source=LARGE_HUB), lambda: mutations("rmat:15:16", 500, batches=2), "grapin-recomp"
    ),
    "grapin-recomp, bfs": Run(BFS(source=HUB), lambda: mutations(RMAT, weights="none"), "grapin-recomp"),
    "grapin-recomp, pagerank": Run(PageRank(tolerance=1e-6), lambda: mutations(RMAT), "grapin-recomp"),
    **{
        f"{device}, {system}, {name}": Run(
            program, partial(mutations, TINY, 4, batches=2, **kind), system, device, cache
        )
        for device, system, (name, program, kind), cache in (
            ("reference", "bounded", ("sssp", SSSP(source=0), {}), None),
            ("reference", "grapin-zc", ("sswp, float", SSWP(source=0), {"weights": "float"}), None),
            ("reference", "grapin-recomp", ("cc", ConnectedComponents(), {"directed": False}), None),
            ("reference", "bounded", ("pagerank", PageRank(tolerance=1e-4), {}), None),
            ("cudasim", "bounded", ("sssp", SSSP(source=0), {}), None),
            ("cudasim", "bounded", ("bfs", BFS(source=0), {"weights": "none"}), None),
            ("cudasim", "grapin", ("sssp, float", SSSP(source=0), {"weights": "float"}), "40%"),
            ("cudasim", "grapin-recomp", ("cc", ConnectedComponents(), {"directed": False}), None),
        )
    },
}


@cache
def trace_of(name: str) -> grapin.Trace:
    """Return the trace of one of the runs."""
    engine, _ = executed(name)
    return engine.trace


@cache
def executed(name: str) -> tuple[Engine, Quantities]:
    """Run it; return its engine, and values, parents, reports and counters after the start and after each batch."""
    run = RUNS[name]
    stream = run.stream()
    engine = Engine(
        stream.graph(**(run.graph or {})),
        run.program,
        device=run.device,
        system=run.system,
        cache=run.cache,
        trace=run.device != "reference",  # which reads no list by itself
        threads=1,
    )
    reports, kept = [engine.started], [_answers(engine)]
    for batch in stream:
        reports.append(engine.apply(batch))
        kept.append(_answers(engine))
    found: Quantities = {"batches": len(reports) - 1}
    found |= {key: digest(*(one[key] for one in kept)) for key in kept[0]}
    found |= _columns("report", [flat(report.to_dict()) for report in reports])
    counters = [report.counters for report in reports]
    found |= _columns(
        "counters", [{one.name: getattr(row, one.name) for one in fields(row)} for row in counters]
    )
    return engine, found


def _answers(engine: Engine) -> dict[str, Any]:
    found = {}
    for place, answer in enumerate(engine.answers):
        suffix = f"[{place}]" if len(engine.answers) > 1 else ""
        found[f"values{suffix}"] = answer.values
        if isinstance(answer.program, grapin.Monotone):
            found[f"parents{suffix}"] = answer.parents
    return found


def _columns(prefix: str, rows: Sequence[Mapping[str, Any]]) -> Quantities:
    return {f"{prefix}.{name}": digest([row[name] for row in rows]) for name in rows[0]}


def run_quantities(name: str) -> Quantities:
    """Return everything deterministic that a run shows."""
    engine, found = executed(name)
    graph = engine.graph
    found = dict(found) | (trace_quantities(engine.trace) if engine.tracing else {})
    found |= {"graph.arcs": digest(*(part for part in graph.edge_arrays() if part is not None))}
    return found | flat(graph.memory(), "graph.memory") | flat(graph.statistics(), "graph.statistics")


def trace_quantities(trace: grapin.Trace) -> Quantities:
    """Return every column of a trace, and what it counts to."""
    found: Quantities = {"trace.lists": len(trace)}
    for table in ("reads", "phases", "changes"):
        found |= {f"trace.{table}.{key}": digest(column) for key, column in getattr(trace, table).items()}
    for aligned in (True, False):
        counted = trace.counters(aligned=aligned)
        found[f"trace.counters, aligned {aligned}"] = digest(
            [getattr(counted, one.name) for one in fields(counted)]
        )
    return found | flat(trace.about, "trace.about")


for _name in RUNS:
    WORKLOADS[f"run: {_name}"] = partial(run_quantities, _name)


# What is predicted

_SMALL = {"gpu.memory": 2**21}
"""Room for a part of the graph, so that pages have to go."""
PREDICTIONS: list[tuple[str, str, str, dict[str, Any], str | None]] = [
    *(
        (run, "bounded", machine, {}, None)
        for run, machine in product(("sssp", "pagerank", "cc"), ("a5000", "gh200"))
    ),
    ("sssp", "bounded", "h100", {"link.generation": 4}, "adaptive:10%"),
    ("sssp, undirected, float", "bounded", "a5000", {}, None),
    ("sssp, from empty", "bounded", "a5000", {}, "5%"),
    ("grapin, sssp", "grapin", "a5000", {}, "published:20%"),
    ("grapin-zc, bfs", "grapin-zc", "a5000", {}, None),
    ("grapin-zc, bfs", "grapin-zc", "rtx-5090", {}, None),
    ("grapin-zc, bfs", "grapin", "h100", {}, "10%"),
    ("grapin-page, sssp", "grapin-page", "a5000", {}, None),
    ("grapin-page, sssp", "grapin-page", "a5000", _SMALL, None),
    ("grapin-page, sssp", "grapin-page", "gh200", _SMALL, None),
    *(
        ("grapin-recomp, sssp", system, machine, {}, cached)
        for system, cached in (
            ("grapin-recomp", None),
            ("emogi", None),
            ("emogi-merged", None),
            ("emogi-naive", None),
            ("hytgraph", "10%"),
            ("hytgraph-icde", None),
            ("hytgraph-released", None),
            ("subway-sync", None),
            ("subway-async", None),
            ("exptm-filter", None),
        )
        for machine in ("a5000", "2080ti")
    ),
    ("grapin-recomp, sssp", "imptm-um", "a5000", {}, None),
    ("grapin-recomp, sssp", "imptm-um", "2080ti", _SMALL, None),
    ("grapin-recomp, pagerank", "hytgraph", "a5000", {}, None),
]


def _machine(name: str, settings: Mapping[str, Any]) -> sim.Machine:
    return sim.find_machine(name).with_settings(settings) if settings else sim.find_machine(name)


def _title(run: str, system: str, machine: str, settings: Mapping[str, Any], cached: str | None) -> str:
    changed = "".join(f", {name}={value}" for name, value in settings.items())
    return f"predict: {run} under {system} on {machine}{changed}{f', cache {cached}' if cached else ''}"


def predicted_again(
    run: str, system: str, machine: str, settings: Mapping[str, Any], cached: str | None
) -> Quantities:
    """Return what the compiled model predicts from the trace of one of the runs."""
    return predicted(sim.replay(trace_of(run), system, _machine(machine, settings), cache=cached))


for _run, _system, _on, _set, _cached in PREDICTIONS:
    WORKLOADS[_title(_run, _system, _on, _set, _cached)] = partial(
        predicted_again, _run, _system, _on, _set, _cached
    )


def followed(run: str, system: str, settings: Mapping[str, Any]) -> Quantities:
    """Return what the event model says, request by request, and the timeline it draws."""
    from grapin.sim.timeline import Timeline

    timeline = Timeline()
    found = predicted(sim.replay(trace_of(run), system, _machine("a5000", settings), timeline=timeline))
    drawn = json.loads(json.dumps(timeline.events()), parse_float=lambda text: float(f"{float(text):.8g}"))
    return found | {"timeline.events": len(drawn), "timeline": digest(json.dumps(drawn, sort_keys=True))}


WORKLOADS["events: requests"] = lambda: followed("sssp, from empty", "bounded", {})
WORKLOADS["events: pages"] = lambda: followed("grapin-page, sssp", "grapin-page", _SMALL)


# What everything stands on


def machines() -> Quantities:
    """Return every number of every machine, and what requests and copies cost on it."""
    found: Quantities = {}
    for name, machine in sim.MACHINES.items():
        figures = [
            (str(part), [(one.name, getattr(value, one.name)) for one in fields(value)])
            for part, value in machine.parts.items()
        ]
        found[f"{name}.figures"] = digest(json.dumps(figures, sort_keys=True, default=dict))
        for what, transfer in (
            ("reads", sim.read_requests(machine, {32: 1000, 96: 500, 128: 20000})),
            ("copy to device", sim.copy_to_device(machine, 10**8)),
            ("copy to host", sim.copy_to_host(machine, 10**8)),
        ):
            found[f"{name}.{what}.seconds_"] = float(f"{transfer.seconds:.10g}")
            found[f"{name}.{what}.limit"] = transfer.limit
            found |= flat(dict(sim.hardware_counters(transfer, machine.link)), f"{name}.{what}")
    return found


WORKLOADS["machines"] = machines


def generated() -> Quantities:
    """Return every generator's edges and weights."""
    specs = ("rmat:10:8", "er:500:2500", "grid:20:30", "star:50", "path:50")
    graphs = {spec: grapin.generate(spec, seed=7, weights=True) for spec in specs}
    return {spec: digest(edges.source, edges.target, edges.weight) for spec, edges in graphs.items()}


WORKLOADS["generators"] = generated

_TEXT = {
    "plain.txt": "# a comment\n10 20\n20 30\n30 10\n10 20\n",
    "named.csv": "source,target,weight,time\nann,bob,1.5,3\nbob,cid,0.25,1\nann,bob,2.5,2\n",
    "matrix.mtx": "%%MatrixMarket matrix coordinate integer symmetric\n4 4 3\n2 1 5\n3 2 6\n4 4 7\n",
    "road.gr": "c roads\np sp 4 3\na 1 2 7\na 2 3 8\na 4 1 9\n",
    "out.events": "% asym dynamic\n1 2 1 10\n2 3 1 11\n1 2 -1 12\n3 4 1 13\n",
}
_WRITTEN = ("again.csv", "again.txt.gz", "again.npz", "again.parquet", "again.txt.zst")


def read_files() -> Quantities:
    """Return the rows of a file of every format, and of what the command line writes and reads again."""
    found: Quantities = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in _TEXT.items():
            (folder / name).write_text(text)
        for name in _WRITTEN:
            command("generate", "rmat:6:4", str(folder / name), "--seed", "2")
        for name in (*_TEXT, *_WRITTEN):
            edges = grapin.load_edges(folder / name)
            for column in ("source", "target", "weight", "time", "removed"):
                values = getattr(edges, column)
                found[f"{name}.{column}"] = "none" if values is None else digest(values)
            found[f"{name}.directed"] = edges.directed
            found[f"{name}.labels"] = "none" if edges.labels is None else digest(edges.labels.names)
            graph = grapin.load(folder / name)
            found[f"{name}.graph"] = digest(*(part for part in graph.edge_arrays() if part is not None))
    return found


WORKLOADS["files"] = read_files


def command(*arguments: str) -> str:
    """Run a command of the command line and return what it prints."""
    from grapin.cli.main import main

    printed = StringIO()
    with redirect_stdout(printed):
        code = main(list(arguments))
    assert not code, f"grapin {' '.join(arguments)} ended with {code}"
    return printed.getvalue()


def commands() -> Quantities:
    """Return what `run` and `whatif` write for other programs, on a file with times and on a generated graph."""
    with tempfile.TemporaryDirectory() as place:
        file, trace = Path(place) / "events.csv", Path(place) / "run.trace"
        rows = zip(*(column.tolist() for column in _event_columns()), strict=True)
        text = "\n".join(",".join(map(str, row)) for row in rows)
        file.write_text(f"source,target,weight,time,change\n{text}\n")
        streamed = command(
            "run", "empty", "--updates", str(file), "--batch-size", "300", "--threads", "1", "--json", "-"
        )
        options = ("--batches", "3", "--batch-size", "50", "--seed", "4")
        sampled = command(
            "run", "rmat:9:6", *options, "--program", "pagerank", "--trace", str(trace), "--json", "-"
        )
        replayed = command(
            "whatif", str(trace), "--machine", "a5000,h100", "--system", "bounded", "--json", "-"
        )
    found: Quantities = {}
    for name, printed in (("streamed", streamed), ("sampled", sampled), ("whatif", replayed)):
        record = json.loads(printed.replace(place, "FOLDER"))
        found |= {key: value for key, value in flat(record, name).items() if not key.endswith("when")}
    return found


def _event_columns() -> tuple[Any, ...]:
    rows = events()
    assert rows.removed is not None
    return rows.source, rows.target, rows.weight, rows.time, np.where(rows.removed, -1, 1)


WORKLOADS["command line"] = commands


def threaded() -> Quantities:
    """Return values, which are the same for any number of threads; what is read on the way is not."""
    stream = workload(edges_of("rmat:14:8"), batches=2, size=5000, seed=5)
    engine = Engine(stream.graph(), [BFS(source=0), SSSP(source=0)], threads=2)
    for batch in stream:
        engine.apply(batch)
    return {f"values[{place}]": digest(answer.values) for place, answer in enumerate(engine.answers)}


WORKLOADS["threads"] = threaded


# Comparing


def differences(name: str, before: Quantities, now: Quantities) -> list[str]:
    """Say what of a workload has changed, quantity by quantity; equal content under another name is a renaming."""
    gone = {key: value for key, value in before.items() if key not in now}
    new = {key: value for key, value in now.items() if key not in before}
    found = [
        f"{name}: {key}: {before[key]} is now {now[key]}"
        for key in before
        if key in now and before[key] != now[key]
    ]
    for key, value in gone.items():
        renamed = next((other for other in new if new[other] == value), None)
        if renamed is None:
            found.append(f"{name}: {key}: {value} is gone")
        else:
            del new[renamed]
            found.append(f"{name}: {key} is called {renamed} now")
    return found + [f"{name}: {key}: {value} is new" for key, value in new.items()]


def kept() -> Golden:
    """Return what the file holds."""
    found: Golden = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def main(arguments: Iterable[str]) -> int:
    """Compare, or with `--write` rewrite the file; say what differs."""
    arguments = list(arguments)
    wanted = [part for part in arguments if part != "--write"]
    names = [name for name in WORKLOADS if not wanted or any(part in name for part in wanted)]
    before = kept()
    changed: list[str] = []
    now = dict(before) if wanted else {}
    for name in names:
        now[name] = WORKLOADS[name]()
        changed += differences(name, before.get(name, {}), now[name])
    if not wanted:
        changed += [f"{name}: is no longer run" for name in before if name not in WORKLOADS]
    print("\n".join(changed) or f"{len(names)} workloads are as they were")
    if "--write" in arguments:
        FILE.write_text(json.dumps({name: now[name] for name in WORKLOADS if name in now}, indent=1) + "\n")
        return 0
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
