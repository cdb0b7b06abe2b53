"""Tables of what other systems' released programs read, counted while they were executed without a GPU.

A table is a CSV file, perhaps compressed by gzip, with one row a run or one row a launch. Its rows name program,
variant, where the edges lie, schedule and graph; here stands which system of ours each of them is, and how far our
counts may be from its own.
"""

import csv
import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.counters import REQUEST_SIZES, Counters, count_reads
from grapin.errors import InvalidFile
from grapin.system import Access, Layout, Rounds, System, ZeroCopy, find_system
from grapin.trace import Trace
from grapin.validation import nearest

RUN = ("program", "variant", "memory", "schedule", "graph")
"""Columns that name a run."""
COUNTS = ("iterations", "edges_read", *(f"requests_{size}" for size in REQUEST_SIZES))
"""What is compared; `iterations` are launches of the kernel that reads edges."""
KNOWN = {
    *RUN,
    *COUNTS,
    *(
        "vertices",
        "edges",
        "source",
        "iteration",
        "active_vertices",
        "answer",
        "answer_detail",
        "weights_read",
    ),
    *("request_bytes", "filtered_bytes", "weight_request_bytes", "weight_filtered_bytes", "distinct_sectors"),
    *("distinct_lines", "pages_4k", "pages_4k_new", "blocks_64k", "weight_pages_4k", "weight_pages_4k_new"),
    *("bytes_h2d_memcpy", "bytes_d2h_memcpy", "bytes_h2d_setup", "edge_array_bytes", "lane_instructions"),
    "kernel_seconds",
    *(
        f"{kind}_{size}"
        for kind in ("filtered", "weight_requests", "weight_filtered")
        for size in REQUEST_SIZES
    ),
}
"""Columns that such tables have; a word that is none of them is mistaken for one."""


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
_LISTS = {"baseline (-t 0)": 1, "coalesce (-t 1)": 1, "coalesce_chunk (-t 2)": 8}
"""EMOGI's variants, and for how many vertices a warp is there."""
_NO_SCHEDULE = "our schedules have no warps in random order, nor an unrecorded number of them in flight"


@dataclass(frozen=True, eq=False)
class Executed:
    """One run of a table."""

    name: tuple[str, ...]
    """Program, variant, memory, schedule and graph."""
    launches: Mapping[str, Sequence[int]]
    """Each count, by launch; of a run that is one row, a single number."""

    @property
    def program(self) -> str:
        """The program, as the table calls it."""
        return self.name[0]

    @property
    def graph(self) -> str:
        """The graph, as the table calls it."""
        return self.name[-1]

    def unrunnable(self) -> str | None:
        """Say why no system of ours is this run."""
        _, variant, _, schedule, _ = self.name
        if self.program not in RELEASES:
            return f"no system of ours is {self.program}"
        if variant not in _LISTS:
            return f"no system of ours is variant {variant}"
        return None if schedule in ("rr", "seq") else _NO_SCHEDULE

    def system(self) -> System:
        """Return the system that this run is one of."""
        _, variant, _, schedule, _ = self.name
        release = RELEASES[self.program]
        found = find_system(release.system)
        assert isinstance(found.schedule, Rounds)
        rounds = replace(found.schedule, lists=_LISTS[variant])
        if schedule == "seq":
            rounds = replace(rounds, blocks=1, warps=1)
        if release.program == "bfs":  # all orders read the same
            rounds = Rounds()
        assert isinstance(found.transfer, ZeroCopy)
        access: Access = "naive" if variant.startswith("baseline") else "aligned"
        transfer = replace(found.transfer, access=access, early=release.early)
        layout = replace(found.layout, edge=release.edge)
        return replace(found, schedule=rounds, transfer=transfer, layout=layout)

    @property
    def resident(self) -> bool:
        """Whether its edges lay in the GPU's memory, so that none of its requests crossed a link."""
        return self.name[2].startswith("GPUMEM")


def read_table(path: str | Path) -> list[Executed]:
    """Read the runs of a table, in their order."""
    try:
        content = Path(path).read_bytes()
        text = (gzip.decompress(content) if str(path).endswith(".gz") else content).decode()
        rows = list(csv.DictReader(text.splitlines()))
    except (OSError, UnicodeDecodeError, EOFError, zlib.error, csv.Error) as error:
        raise InvalidFile(f"{path}: is not a table of executed runs that can be read: {error}") from None
    columns = set(rows[0]) if rows else set()
    missing = {*RUN, *COUNTS[1:]} - columns
    if missing:
        raise InvalidFile(f"{path}: a table of executed runs must have a column {min(missing)}")
    unknown = columns - KNOWN
    if unknown:
        word = min(unknown, key=str)
        raise InvalidFile(
            f"{path}: no such table has a column {word!r}{nearest(str(word), KNOWN)}: leave it out"
        )
    runs: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        runs.setdefault(tuple(row[name] for name in RUN), []).append(row)
    return [Executed(name, _counts(path, found)) for name, found in runs.items()]


def _counts(path: str | Path, rows: list[dict[str, str]]) -> dict[str, list[int]]:
    try:
        counts = {name: [int(row[name]) for row in rows] for name in COUNTS[1:]}
        total = [int(rows[0]["iterations"])] if "iterations" in rows[0] else [len(rows)]
    except (TypeError, ValueError):
        raise InvalidFile(f"{path}: the counts of {rows[0]['program']} must be whole numbers") from None
    return {"iterations": total, **counts}


def counted(trace: Trace, system: System, degrees: NDArray[Any]) -> dict[str, list[int]]:
    """Count what each iteration of a run from scratch reads, with lists where the system's layout puts them."""
    reads, starts = trace.reads, system.layout.starts(degrees)
    iterations = reads["iteration"] - reads["iteration"].min(initial=2**31 - 1)
    ends = np.searchsorted(iterations, np.arange(1 + iterations.max(initial=-1)), side="right")
    launches = np.split(np.arange(len(iterations)), ends[:-1]) if len(ends) else []
    found = [
        _requests(reads["vertex"][rows], starts[reads["vertex"][rows]], reads["length"][rows], system)
        for rows in launches
    ]
    return {
        "iterations": [len(found)],
        "edges_read": [one.edges for one in found],
        **{f"requests_{size}": [one.requests[size] for one in found] for size in REQUEST_SIZES},
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
    return count_reads(starts, lengths, element=layout.edge, base=layout.base)


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
    """Lay our counts beside a run's."""
    tolerances = RELEASES[run.program].tolerances
    compared = []
    for name in COUNTS:
        theirs, mine = list(run.launches[name]), list(ours[name])
        kind = "requests" if name.startswith("requests") else name
        if run.resident and kind == "requests":
            mine = [0] * len(mine)
        allowed = 0.0 if tolerances is None else tolerances[kind]
        if name == "iterations":
            error: float = mine[0] - theirs[0]
            within = abs(error) <= allowed
        else:
            error = _error(theirs, mine, exactly=tolerances is None)
            within = abs(error) <= allowed
        compared.append(Compared(name, sum(theirs), sum(mine), error, within))
    return compared


def _error(theirs: list[int], ours: list[int], *, exactly: bool) -> float:
    total = max(sum(theirs), 1)
    if len(theirs) == 1 or not exactly:
        return (sum(ours) - sum(theirs)) / total
    longest = max(len(theirs), len(ours))
    theirs, ours = (one + [0] * (longest - len(one)) for one in (theirs, ours))
    return sum(abs(one - other) for one, other in zip(theirs, ours, strict=True)) / total
