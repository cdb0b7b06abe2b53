"""Tables of what other systems' released programs read, counted while they were executed without a GPU.

A table is a CSV file, perhaps compressed by gzip, with one row a run, a launch or a batch. Its rows name program,
variant, schedule and graph; here stands which system of ours each of them is, and how far our counts may be from it.
"""

import csv
import gzip
import io
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from grapin.counters import REQUEST_SIZES, Counters, count_reads
from grapin.errors import InvalidFile
from grapin.system import Access, Layout, Rounds, System, ZeroCopy, find_system
from grapin.trace import Trace
from grapin.validation import nearest

COUNTS = ("iterations", "edges_read", *(f"requests_{size}" for size in REQUEST_SIZES))
"""What is compared of a run from scratch; `iterations` are launches of the kernel that reads edges."""
_OF_BATCHES = {"edges_read": "edges_host", **{name: name for name in COUNTS[2:]}, "h2d_index": "h2d_index"}
"""What is compared of a run that follows batches, and the column it stands in."""


@dataclass(frozen=True)
class _Kind:
    """One kind of table: the columns that name a run, what is counted, and the other columns there are."""

    run: tuple[str, ...]
    counts: Mapping[str, str]
    """Our name of a count, and the column it stands in."""
    others: frozenset[str]


_SCRATCH = _Kind(
    ("program", "variant", "memory", "schedule", "graph"),
    {name: name for name in COUNTS[1:]},
    frozenset(
        (
            *("vertices", "edges", "source", "iteration", "iterations", "active_vertices", "answer"),
            *("answer_detail", "weights_read", "request_bytes", "filtered_bytes", "weight_request_bytes"),
            *("weight_filtered_bytes", "distinct_sectors", "distinct_lines", "pages_4k", "pages_4k_new"),
            *("blocks_64k", "weight_pages_4k", "weight_pages_4k_new", "bytes_h2d_memcpy", "bytes_d2h_memcpy"),
            *("bytes_h2d_setup", "edge_array_bytes", "lane_instructions", "kernel_seconds"),
            *(
                f"{kind}_{size}"
                for kind in ("filtered", "weight_requests", "weight_filtered")
                for size in REQUEST_SIZES
            ),
        )
    ),
)
_STREAM = _Kind(
    ("program", "variant", "cache_fraction", "segments", "schedule", "graph", "mutations"),
    _OF_BATCHES,
    frozenset(
        (
            *("vertices", "edges", "source", "batch", "cache_edges", "wrong", "detail", "request_bytes"),
            *("edges_from_cache", "filtered_bytes", "cache_load_bytes", "update_list_bytes", "h2d_scalars"),
            *("d2h_scalars", "d2h_values", "memcpy_h2d", "memcpy_d2h", "launches", "empty_launches"),
            *("pages_4k", "pages_4k_new", "blocks_64k", "distinct_sectors", "distinct_lines"),
            *(f"filtered_{size}" for size in REQUEST_SIZES),
            *(f"iterations_{phase}" for phase in ("static", "invalidate", "converge")),
            *(
                f"{kind}_{phase}"
                for kind in ("edges", "active")
                for phase in (
                    *("static", "invalidate", "all_vertices", "cancel", "compensate", "converge"),
                    "cache_load",
                )
            ),
        )
    ),
)


@dataclass(frozen=True)
class Release:
    """One released program: which program of ours it is, by which preset, and how near ours must come."""

    program: str
    system: str
    edge: int
    """Bytes of an edge."""
    early: bool = False
    """Whether it loads from the line a list begins in."""
    tolerances: Mapping[str, float] | None = None
    """By count, as a part of theirs, or in rounds for `iterations`; `requests` stands for all sizes.

    None: exact, launch by launch.
    """


_IN_PLACE = {"iterations": 1, "edges_read": 0.03, "requests": 0.06}
"""Values are updated in place, so that what is read depends on which warp comes first."""
UNROLLED = 4
"""How many elements of a list nvcc 13 has a thread read in one turn of the loop, after those that are left over."""
RELEASES = {
    "EMOGI bfs": Release("bfs", "emogi-released", 8),
    "EMOGI bfs_32": Release("bfs", "emogi-released", 4),
    "EMOGI sssp": Release("sssp", "emogi-released", 8, True, _IN_PLACE),
    "EMOGI sssp_32": Release("sssp", "emogi-released", 4, True, _IN_PLACE),
    "EMOGI cc": Release("cc", "emogi-released", 8, False, _IN_PLACE),
    "EMOGI cc_32": Release("cc", "emogi-released", 4, False, _IN_PLACE),
}
"""By the name that tables have for the program."""
_FOLLOWS = {"edges_read": 0.02, "requests": 0.03, "h2d_index": 0.0}
RELEASES |= {
    "Grapin sssp": Release("sssp", "grapin-released", 4, tolerances=_FOLLOWS),
    "Grapin cc": Release("cc", "grapin-released", 4, tolerances=_FOLLOWS),
}
VERTEX_RECORD = 16
"""Bytes of a vertex in the index that the released Grapin copies with every batch; one more record stands behind it."""
_LISTS = {"baseline (-t 0)": 1, "coalesce (-t 1)": 1, "coalesce_chunk (-t 2)": 8}
"""EMOGI's variants, and for how many vertices a warp is there."""
_NO_SCHEDULE = "our schedules have no warps in random order, nor an unrecorded number of them in flight"


@dataclass(frozen=True, eq=False)
class Executed:
    """One run of a table."""

    columns: Mapping[str, str]
    """What names it: program, variant, schedule, graph, and the rest by the kind of table."""
    launches: Mapping[str, Sequence[int]]
    """Each count, by launch; of a run that is one row, a single number; of one that follows batches, by batch."""

    @property
    def title(self) -> str:
        """What names it, in one line."""
        return " ".join(self.columns.values())

    @property
    def program(self) -> str:
        """The program, as the table calls it."""
        return self.columns["program"]

    @property
    def graph(self) -> str:
        """The graph, as the table calls it."""
        return self.columns["graph"]

    @property
    def mutations(self) -> int | None:
        """How many mutations a batch has; None for a run from scratch."""
        return int(self.columns["mutations"]) if "mutations" in self.columns else None

    @property
    def resident(self) -> bool:
        """Whether its edges lay in the GPU's memory, so that none of its requests crossed a link."""
        return self.columns.get("memory", "").startswith("GPUMEM")

    def unrunnable(self) -> str | None:
        """Say why no system of ours is this run."""
        variant, schedule = self.columns["variant"], self.columns["schedule"]
        if self.program not in RELEASES:
            return f"no system of ours is {self.program}"
        if self.mutations is None:
            if variant not in _LISTS:
                return f"no system of ours is variant {variant}"
            return None if schedule in ("rr", "seq") else _NO_SCHEDULE
        if variant != "deletion mended":
            return f"{variant}: its invalidation stops after one step, and its answers are wrong"
        if float(self.columns["cache_fraction"]) or self.columns["segments"] != "1":
            return "its cache and its segments are not ours"
        return None if schedule == "rr" else _NO_SCHEDULE

    def system(self) -> System:
        """Return the system that this run is one of."""
        release = RELEASES[self.program]
        found = find_system(release.system)
        if self.mutations is not None:
            return found
        variant, rounds = self.columns["variant"], found.schedule
        assert isinstance(rounds, Rounds)
        assert isinstance(found.transfer, ZeroCopy)
        rounds = replace(rounds, lists=_LISTS[variant])
        if self.columns["schedule"] == "seq":
            rounds = replace(rounds, blocks=1, warps=1)
        if release.program == "bfs":  # all orders read the same
            rounds = Rounds()
        access: Access = "naive" if variant.startswith("baseline") else "aligned"
        transfer = replace(found.transfer, access=access, early=release.early)
        layout = replace(found.layout, edge=release.edge)
        return replace(found, schedule=rounds, transfer=transfer, layout=layout)


def read_table(path: str | Path) -> list[Executed]:
    """Read the runs of a table, in their order."""
    try:
        content = Path(path).read_bytes()
        text = (gzip.decompress(content) if str(path).endswith(".gz") else content).decode()
        rows = list(csv.DictReader(text.splitlines()))
    except (OSError, UnicodeDecodeError, EOFError, zlib.error, csv.Error) as error:
        raise InvalidFile(f"{path}: is not a table of executed runs that can be read: {error}") from None
    columns = set(rows[0]) if rows else set()
    kind = _STREAM if "cache_fraction" in columns else _SCRATCH
    needed = {*kind.run, *kind.counts.values()} | ({"batch"} if kind is _STREAM else set())
    missing = needed - columns
    if missing:
        raise InvalidFile(f"{path}: a table of executed runs must have a column {min(missing)}")
    known = needed | kind.others
    unknown = columns - known
    if unknown:
        word = min(unknown, key=str)
        raise InvalidFile(
            f"{path}: no such table has a column {word!r}{nearest(str(word), known)}: leave it out"
        )
    runs: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        runs.setdefault(tuple(row[name] for name in kind.run), []).append(row)
    return [
        Executed(dict(zip(kind.run, name, strict=True)), _counts(path, found, kind))
        for name, found in runs.items()
    ]


def _counts(path: str | Path, rows: list[dict[str, str]], kind: _Kind) -> dict[str, list[int]]:
    try:
        counts = {name: [int(row[column]) for row in rows] for name, column in kind.counts.items()}
        if kind is _SCRATCH:
            counts["iterations"] = [int(rows[0]["iterations"]) if "iterations" in rows[0] else len(rows)]
    except (TypeError, ValueError):
        raise InvalidFile(f"{path}: the counts of {rows[0]['program']} must be whole numbers") from None
    return counts


def read_stream(table: str | Path, run: Executed) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the edges that each batch of a run inserts and deletes, from the archive of streams beside its table."""
    path = Path(table).with_name("grapin_streams.tar.zst")
    name = f"{run.graph.replace(' ', '')}.{run.mutations}"
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as content:
            parts = _members(io.BytesIO(content.read()), name)
        sizes, lines = (parts[f"{name}.{ending}"] for ending in ("sz", "upd"))
        counts = [sum(map(int, line.split())) for line in sizes if line]
        events = [(line[0], *map(int, line[1:].split())) for line in lines if line]
        ends = np.cumsum(counts)
        batches = [events[end - count : end] for end, count in zip(ends, counts, strict=True)]
        return [(_edges(batch, "a"), _edges(batch, "d")) for batch in batches]
    except (OSError, KeyError, ValueError, tarfile.TarError, zstandard.ZstdError) as error:
        raise InvalidFile(f"{path}: must hold the stream {name}.upd and its {name}.sz: {error}") from None


def _members(archive: io.BytesIO, name: str) -> dict[str, list[str]]:
    """Return the lines of each file of an archive that is called so, by its name without folders."""
    found = {}
    with tarfile.open(fileobj=archive) as opened:
        for member in opened:
            content = opened.extractfile(member) if f"{name}." in member.name else None
            if content is not None:
                found[member.name.rpartition("/")[2]] = content.read().decode().splitlines()
    return found


def _edges(batch: list[Any], kind: str) -> NDArray[np.int64]:
    return np.array([event[1:] for event in batch if event[0] == kind], np.int64).reshape(-1, 2)


def counted(trace: Trace, system: System, degrees: NDArray[Any]) -> dict[str, list[int]]:
    """Count what each iteration of a run from scratch reads, or each batch of a run that follows some.

    Lists lie where the system's layout puts them; `degrees` is how long they were when the arrays were laid out.
    """
    reads, starts = trace.reads, system.layout.starts(degrees)
    by_batch = len(trace.phases["version"]) > 1
    parts = reads["phase"] if by_batch else reads["iteration"] - reads["iteration"].min(initial=2**31 - 1)
    count = len(trace.phases["version"]) if by_batch else 1 + int(parts.max(initial=-1))
    ends = np.searchsorted(parts, np.arange(count), side="right")
    places = np.split(np.arange(len(parts)), ends[:-1]) if count else []
    found = [
        _requests(reads["vertex"][rows], starts[reads["vertex"][rows]], reads["length"][rows], system)
        for rows in places
    ]
    index = VERTEX_RECORD * (len(degrees) + 1)
    return {
        "iterations": [len(found)],
        "edges_read": [one.edges for one in found],
        **{f"requests_{size}": [one.requests[size] for one in found] for size in REQUEST_SIZES},
        "h2d_index": [0, *[index] * (len(found) - 1)],
    }


def _requests(
    vertices: NDArray[Any], starts: NDArray[Any], lengths: NDArray[Any], system: System
) -> Counters:
    layout, transfer = system.layout, system.transfer
    assert isinstance(transfer, ZeroCopy)
    if transfer.early:
        before = starts % (128 // layout.edge)
        starts, lengths = starts - before, lengths + before
    if transfer.access == "naive":
        return count_threads(vertices, starts, lengths, layout)
    long = lengths > transfer.alone
    return sum(
        (
            count_reads(
                starts[rows],
                lengths[rows],
                aligned=access == "aligned",
                element=layout.edge,
                base=layout.base,
            )
            for rows, access in ((~long, transfer.access), (long, transfer.shared))
        ),
        Counters(),
    )


def count_threads(
    vertices: NDArray[Any], starts: NDArray[Any], lengths: NDArray[Any], layout: Layout
) -> Counters:
    """Count the requests of threads that walk a list each, the thread of every vertex beside that of the next one.

    In a step a warp asks for every contiguous run of sectors in a line that its threads read, whoever read them before.
    The compiler unrolls the loop over a list: threads first go through what is left over by fours, then on together.
    """
    lengths = np.asarray(lengths, np.int64)
    total = int(lengths.sum())
    place = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    over = np.repeat(lengths % UNROLLED, lengths)
    step = np.where(place < over, place - total, place - over)
    sector = ((np.repeat(starts, lengths) + place) * layout.edge + layout.base) >> 5
    warp = np.repeat(np.asarray(vertices, np.int64) // 32, lengths)
    order = np.lexsort((sector, step, warp))
    warp, step, sector = warp[order], step[order], sector[order]
    together = (np.diff(warp) == 0) & (np.diff(step) == 0)
    first = np.concatenate([[True], ~(together & (np.diff(sector) == 0))])[:total]
    warp, step, sector = warp[first], step[first], sector[first]
    follows = (np.diff(warp) == 0) & (np.diff(step) == 0) & (np.diff(sector) == 1) & (sector[1:] % 4 > 0)
    begins = np.flatnonzero(np.concatenate([[True], ~follows])[: len(sector)])
    runs = np.diff(np.append(begins, len(sector)))
    return Counters.of(total, len(lengths), np.bincount(runs, minlength=5)[1:5].tolist(), 0)


@dataclass(frozen=True)
class Compared:
    """One count of a run beside ours."""

    count: str
    theirs: int
    ours: int
    error: float
    """As a part of theirs, over all launches; of a count that is to be exact, of each launch by itself."""
    within: bool

    def record(self) -> dict[str, Any]:
        """Return this as plain values."""
        return {name: getattr(self, name) for name in ("theirs", "ours", "error", "within")}


def compare_counts(run: Executed, ours: Mapping[str, Sequence[int]]) -> list[Compared]:
    """Lay our counts beside a run's; of one that follows batches, those of its start apart."""
    tolerances = RELEASES[run.program].tolerances
    compared = []
    for name in _OF_BATCHES if run.mutations is not None else COUNTS:
        theirs, mine = list(run.launches[name]), list(ours[name])
        kind = "requests" if name.startswith("requests") else name
        allowed = 0.0 if tolerances is None else tolerances[kind]
        if run.resident and kind == "requests":
            mine = [0] * len(mine)
        if name == "iterations":
            difference = mine[0] - theirs[0]
            compared.append(Compared(name, theirs[0], mine[0], difference, abs(difference) <= allowed))
            continue
        if run.mutations is not None:
            compared.append(_compared(f"start.{name}", theirs[:1], mine[:1], allowed))
            theirs, mine = theirs[1:], mine[1:]
        compared.append(_compared(name, theirs, mine, allowed))
    return compared


def _compared(name: str, theirs: list[int], ours: list[int], allowed: float) -> Compared:
    error = _error(theirs, ours, exactly=not allowed)
    return Compared(name, sum(theirs), sum(ours), error, abs(error) <= allowed)


def _error(theirs: list[int], ours: list[int], *, exactly: bool) -> float:
    total = max(sum(theirs), 1)
    if len(theirs) == 1 or not exactly:
        return (sum(ours) - sum(theirs)) / total
    longest = max(len(theirs), len(ours))
    theirs, ours = (one + [0] * (longest - len(one)) for one in (theirs, ours))
    return sum(abs(one - other) for one, other in zip(theirs, ours, strict=True)) / total
