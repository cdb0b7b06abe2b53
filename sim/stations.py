"""`Stations`: the times of the event model, without its events; `Replayed`: what reads take at them, by iteration.

Everything passes the stations of a `Path` in the order in which it was sent. So a request's times follow from those of
a few requests before it: it leaves when the wire is free and when the request that had its tag, as many places before
as there are tags, is answered; it waits for host memory behind the one before it, and so does its answer for the wire
down. That is a handful of maxima and sums a request, in whole ticks, and gives what the event model gives, exactly;
filling the pipeline, being bound by tags or by the link, and draining need no formulas of their own. A copy that has
the link to itself passes the same stations.

Lists walked by single threads and lists loaded into a cache have no order on the link that would mean anything: of
their requests only the number of each size is known, and they pass as evenly mixed as these numbers allow.

How threads walk a list decides its requests. Three ways are known, each better than the last (EMOGI, PVLDB 14(2),
section 4):

- **naive**: a thread walks a list, 32 lists side by side in a warp. In one step each thread reads one element; what
  falls into one 128-byte line is one request of that line's 32-byte sectors. Threads are far apart in memory, so
  nearly every request is one sector.
- **merged**: a warp walks a list, 128 bytes per step from where the list starts, so that a step mostly straddles two
  lines.
- **aligned**: a warp begins at the line in which the list starts, and leaves out what lies before it.

The last two are `grapin.counters.count_reads` with `aligned=False` and `aligned=True`; the first is counted here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled, kernel
from grapin.counters import REQUEST_SIZES, Counters
from grapin.sim.path import KINDS, TICKS_PER_SECOND, Cost, Path, request_bytes, to_seconds
from grapin.sim.prediction import Iterations
from grapin.trace import Trace
from grapin.units import SECTOR, WARP
from grapin.validation import check_integer

_BLOCK = 1 << 22
"""So many elements are expanded at a time, whatever the trace's length."""

BARRIER = KINDS
"""In a stream of codes, follows the last request of an iteration."""
CAPACITY = 1 << 16
"""So many rows or codes are looked at at a time, whatever the trace's length."""

Numbers = NDArray[np.int64]


def count_thread_reads(
    warps: Numbers, starts: Numbers, lengths: Numbers, *, element: int = 4, kept: bool = True
) -> Counters:
    """Count lists that single threads walk; rows of one warp, which lie together, go step by step.

    Starts and lengths count elements of `element` bytes. A thread asks again when it enters a new sector, if what it
    has read of a sector is `kept` until it is through; else for every element. A GPU's caches are between the two.
    """
    sizes = np.zeros(4, np.int64)
    some = lengths > 0
    warps, starts, lengths = warps[some], starts[some].astype(np.int64), lengths[some].astype(np.int64)
    for rows in _blocks(warps, lengths):
        sizes += _requests(warps[rows], starts[rows], lengths[rows], SECTOR // element, kept=kept)
    ends = (starts + lengths) * element - 1
    pages = int(((ends >> 12) - (starts * element >> 12) + 1).sum())
    return Counters.of(int(lengths.sum()), len(lengths), sizes.tolist(), pages)


def _blocks(warps: Numbers, lengths: Numbers) -> Iterator[slice]:
    """Cut where a warp ends, so that a block has few elements more than it may expand."""
    ends = np.append(np.flatnonzero(np.diff(warps)) + 1, len(warps)) if len(warps) else np.empty(0, np.int64)
    through = np.cumsum(lengths)
    begin = 0
    while begin < len(warps):
        before = int(through[begin - 1]) if begin else 0
        fits = int(np.searchsorted(through, before + _BLOCK, "right"))
        place = int(np.searchsorted(ends, max(fits, begin + 1), "right")) - 1
        end = int(ends[place]) if place >= 0 and ends[place] > begin else int(ends[place + 1])
        yield slice(begin, end)
        begin = end


def _requests(
    warps: Numbers, starts: Numbers, lengths: Numbers, per_sector: int, *, kept: bool
) -> NDArray[np.int64]:
    """Return how many requests of one to four sectors the steps of these warps make."""
    first = starts // per_sector
    times = (starts + lengths - 1) // per_sector - first + 1 if kept else lengths
    row = np.repeat(np.arange(len(starts)), times)
    turn = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    if kept:
        sector = first[row] + turn
        step = np.maximum(0, sector * per_sector - starts[row])
    else:
        step = turn
        sector = (starts[row] + turn) // per_sector
    warp = warps[row]
    order = np.lexsort((sector, step, warp))
    warp, step, sector = warp[order], step[order], sector[order]
    same = (warp[1:] == warp[:-1]) & (step[1:] == step[:-1])
    fresh = np.append(True, ~(same & (sector[1:] == sector[:-1])))
    begins = np.append(True, ~(same & (sector[1:] >> 2 == sector[:-1] >> 2)))
    request = np.cumsum(begins) - 1
    return np.bincount(np.bincount(request[fresh]) - 1, minlength=4)


UP, MEMORY, DOWN, TAG, CREDIT, STATE = range(6)
"""Places in the state: until when each station is taken, and whose tag and credit the next request gets."""


class Stations:
    """Tags, credits, wires and host memory, as one request after the other leaves them."""

    def __init__(self, path: Path, costs: Sequence[Cost], window: int, *, writing: bool = False) -> None:
        """Let codes stand for `costs`, of which at most `window` are under way; writes wait for no answer."""
        self.costs = np.array([(cost.up, cost.memory, cost.down) for cost in costs], np.int64)
        back = (0, 0) if writing else (path.memory_latency, path.flight)
        self.delays = np.array([path.flight, *back], np.int64)
        credits_ = path.write_credits if writing else path.request_credits
        self.answered = np.zeros(window, np.int64)
        """When each tag is free again."""
        self.credited = np.zeros((credits_ or 0) // costs[0].packets, np.int64)
        """When each credit is back; empty where they never run out."""
        self.state = np.zeros(STATE, np.int64)
        self._counts = np.zeros(KINDS, np.int64)

    def serve(self, codes: NDArray[np.uint8], barriers: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Let codes pass in their order; return ticks and counts of each iteration that they end."""
        ticks = np.empty(barriers, np.int64)
        kinds = np.empty((barriers, KINDS), np.int64)
        tables = self.costs, self.delays, self.answered, self.credited, self.state
        _serve(codes, *tables, self._counts, ticks, kinds)
        return ticks, kinds


@kernel
def send(code: Any, ready: Any, costs: Any, delays: Any, answered: Any, credited: Any, state: Any) -> Any:
    """Let one request pass that may leave at `ready`; return when it is answered."""
    flight, latency, back = delays[0], delays[1], delays[2]
    tag = state[TAG]
    up = max(state[UP], ready, answered[tag])
    if credited.size:
        up = max(up, credited[state[CREDIT]])
    up += costs[code, 0]
    taken = max(up + flight, state[MEMORY])
    if credited.size:
        credited[state[CREDIT]] = taken + flight
        state[CREDIT] = (state[CREDIT] + 1) % credited.size
    memory = taken + costs[code, 1]
    down = max(memory + latency, state[DOWN]) + costs[code, 2]
    state[UP], state[MEMORY], state[DOWN] = up, memory, down
    state[TAG] = tag + 1 if tag + 1 < answered.size else 0
    answered[tag] = down + back
    return down + back


@kernel
def begin_again(answered: Any, credited: Any, state: Any) -> None:
    """Start an iteration at time zero, when everything before it is answered."""
    answered[:] = 0
    credited[:] = 0
    state[:] = 0


@compiled
def _serve(
    codes: Any,
    costs: Any,
    delays: Any,
    answered: Any,
    credited: Any,
    state: Any,
    counts: Any,
    ticks: Any,
    kinds: Any,
) -> None:
    ended = 0
    for code in codes:
        if code == BARRIER:
            # Answers come in order, so the last one to come is the one the downstream wire carried last.
            ticks[ended] = state[DOWN] + delays[2] if state[DOWN] else 0
            kinds[ended] = counts
            ended += 1
            begin_again(answered, credited, state)
            counts[:] = 0
        else:
            counts[code] += 1
            send(code, 0, costs, delays, answered, credited, state)


@dataclass(frozen=True, eq=False)
class Replayed:
    """Requests by kind, and time, of each iteration; columns have one entry per iteration, in order."""

    path: Path
    phase: NDArray[np.int32]
    iteration: NDArray[np.int32]
    ticks: NDArray[np.int64]
    """Femtoseconds from the launch to the last data's arrival."""
    kinds: NDArray[np.int64]
    """How many requests of each code (`grapin.sim.path.request_bytes`), one column a code."""

    def __len__(self) -> int:
        return len(self.ticks)

    @property
    def seconds(self) -> float:
        """How long all iterations take, one after the other."""
        seconds, rest = np.divmod(
            self.ticks, TICKS_PER_SECOND
        )  # the ticks of two and a half hours outgrow 63 bits
        return int(seconds.sum()) + to_seconds(int(rest.sum()))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many requests of 32, 64, 96 and 128 bytes each iteration makes."""
        by_size = [request_bytes(code) for code in range(KINDS)]
        return np.stack(
            [self.kinds[:, np.equal(by_size, size)].sum(axis=1) for size in REQUEST_SIZES], axis=1
        )

    @property
    def requests(self) -> Mapping[int, int]:
        """How many requests of each size all iterations make."""
        return dict(zip(REQUEST_SIZES, self.sizes.sum(axis=0).tolist(), strict=True))

    def total(self, part: str) -> int:
        """Return the sum of one field of `Cost` over all requests: `payload`, `down_bytes`, `host_bytes`, ..."""
        return int(self.kinds.sum(axis=0) @ self.path.request_table[:, Cost._fields.index(part)])


SIZES = 4
"""Requests have one to four sectors; their codes, for those that begin with a line, are 0 to 3."""


def replay_threads(trace: Trace, path: Path, iterations: Iterations) -> Replayed:
    """Say what the reads of a trace take when each list is walked by one thread, 32 vertices side by side."""
    reads = trace.reads
    kinds = np.zeros((len(iterations), KINDS), np.int64)
    for place, rows in enumerate(iterations.rows()):
        # Threads of one warp are neighbours by number, in one direction and in one array.
        warps = 2 * (reads["vertex"][rows].astype(np.int64) // WARP) + reads["inward"][rows]
        order = np.argsort(warps, kind="stable")
        starts, lengths, arrays = (reads[name][rows][order] for name in ("start", "length", "arrays"))
        for array in (1, 2):
            some = arrays >= array
            found = count_thread_reads(warps[order][some], starts[some], lengths[some])
            kinds[place, :SIZES] += list(found.requests.values())
    ticks = mix_ticks(path, kinds[:, :SIZES]) + path.launch
    number = reads["iteration"][iterations.begin]
    return Replayed(path, iterations.phase.astype(np.int32), number, ticks, kinds)


def mix_ticks(path: Path, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how long each row of requests takes, of which there are so many of one to four sectors."""
    stations = Stations(path, path.request_costs, path.window)
    ticks = [stations.serve(codes, int(codes[-1] == BARRIER))[0] for row in sizes for codes in _mixture(row)]
    return np.concatenate([np.empty(0, np.int64), *ticks])


def _mixture(counts: NDArray[np.int64]) -> Iterator[NDArray[np.uint8]]:
    """Yield the codes of so many requests of each size, evenly mixed, and a barrier at the end."""
    blocks = max(1, -(-int(counts.sum()) // CAPACITY))
    bounds = np.arange(blocks + 1)[:, None] * counts // blocks
    for block, some in enumerate(np.diff(bounds, axis=0)):
        codes = np.repeat(np.arange(SIZES, dtype=np.uint8), some)
        share = np.concatenate([(np.arange(count) + 0.5) / count for count in some if count] or [np.empty(0)])
        mixed = codes[np.argsort(share, kind="stable")]
        yield np.append(mixed, np.uint8(BARRIER)) if block == blocks - 1 else mixed


_WHOLE, _TAIL = 0, 1
"""Codes of the copy engine's steps."""


def copy_ticks(path: Path, size: int, *, to_host: bool = False) -> int:
    """Return how long `grapin.sim.oracle.zero_copy` takes to copy so many bytes on an idle link."""
    check_integer("size", size, least=0)
    burst, cost = (path.write_burst, path.write_cost) if to_host else (path.read_burst, path.read_cost)
    whole, tail = divmod(size, burst)
    stations = Stations(path, [cost(burst), cost(max(1, tail))], path.bursts, writing=to_host)
    for codes in _codes_in_pieces(whole, tail):
        ticks, _ = stations.serve(codes, int(codes[-1] == BARRIER))
    return int(ticks[0])


def _codes_in_pieces(whole: int, tail: int) -> Iterator[NDArray[np.uint8]]:
    for _ in range(whole // CAPACITY):
        yield np.full(CAPACITY, _WHOLE, np.uint8)
    rest = [_WHOLE] * (whole % CAPACITY) + [_TAIL] * (tail > 0) + [BARRIER]
    yield np.array(rest, np.uint8)


def link_seconds(replayed: Replayed) -> NDArray[np.float64]:
    """Return how long the requests of each iteration take, its launch aside."""
    busy: NDArray[np.float64] = (replayed.ticks - replayed.path.launch) / TICKS_PER_SECOND
    return busy


def wire_bytes(replayed: Replayed) -> NDArray[np.int64]:
    """Return the bytes of each iteration on the wire to the device and on the one to the host."""
    columns = [Cost._fields.index(name) for name in ("down_bytes", "up_bytes")]
    wire: NDArray[np.int64] = replayed.kinds @ replayed.path.request_table[:, columns]
    return wire
