"""`Arena`: the memory of a graph in pages, and the launches that change it.

One array holds vertex records and pages; how many of each there may be is checked before a batch is launched, so that
pages can meet neither records nor what a batch brings. When memory is short, a larger arena takes its place: records
are copied to its front, pages to its end, where each keeps its number.

A batch crosses the link as one array of columns; what became of its rows stays on the device until somebody asks.
"""

from functools import cache as once
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.device import open_device
from grapin.errors import InvalidArgument, InvalidBatch
from grapin.graph.page_store import WORD, PageLayout, PageStore
from grapin.kernels.cuda.backend import THREADS, Backend, Shape, bind
from grapin.kernels.cuda.pages import bulk, lists, updates, vertices
from grapin.kernels.cuda.pages.lists import (
    CONTROL_SIZE,
    EDGES,
    FRESH,
    FRONT,
    QUEUED,
    Pages,
)
from grapin.kernels.cuda.pages.updates import NO_LIST, Rows
from grapin.units import format_bytes

_MODULES = (lists, updates, bulk, vertices)
_FUNCTIONS = (*lists.FUNCTIONS, *updates.FUNCTIONS, *bulk.FUNCTIONS, *vertices.FUNCTIONS)
_KERNELS = tuple(kernel for module in _MODULES for kernel in module.KERNELS)
ROWS_PER_LIST = 2.0
"""Updates a list must have in a batch, on average, for one reading of it to pay for sorting the batch."""
LEAST_PAGES = 16
"""Pages of room that even a small arena has."""
GROWTH = 1.25
"""Room in an arena that has to grow, as a multiple of what is needed."""

Launch = tuple[str, tuple[Any, ...]]
"""A kernel's name and its arguments after the pages."""
_SETTLE: Launch = ("settle", ())


class Columns(NamedTuple):
    """Arcs read out of lists, on the device."""

    owners: Any
    neighbours: Any
    weights: Any


class Arena:
    """The lists of a graph in pages on one device."""

    def __init__(
        self, backend: Backend, store: PageStore, *, weighted: bool, lists_per_vertex: int, sides: int
    ) -> None:
        """Make an arena with nothing in it; `sides` is in how many lists an edge is kept."""
        self.backend, self.store, self.weighted = backend, store, weighted
        self.layout: PageLayout = store.layout(weighted=weighted)
        self.lists_per_vertex, self.sides = lists_per_vertex, sides
        self.records = 0
        """Records in use, one for each list."""
        self.growths = 0
        self.host_to_device = self.device_to_host = 0
        """Bytes that crossed the link since they were last set to 0."""
        layout = self.layout
        self.kernels: SimpleNamespace = bind(
            backend,
            "pages",
            functions=_FUNCTIONS,
            kernels=_KERNELS,
            PAGE_WORDS=layout.page_words,
            SLOTS=layout.slots,
            RECORD=layout.record_words,
            INLINE=layout.inline,
            STEP=layout.step,
            WEIGHT_STEP=layout.weight_step,
            OWNS=layout.owns,
            WEIGHTED=weighted,
            LISTS=lists_per_vertex,
        )
        self.pages = Pages(
            backend.empty(0, np.int32), backend.empty(0, np.int32), backend.full(CONTROL_SIZE, 0, np.int64)
        )
        self._state = np.zeros(CONTROL_SIZE, np.int64)

    @property
    def edges(self) -> int:
        """Arcs in the lists of one direction."""
        return int(self._state[EDGES])

    @property
    def pages_in_lists(self) -> int:
        """How many pages belong to a list."""
        return int(self._state[FRESH] - self._state[QUEUED])

    @property
    def pages_queued(self) -> int:
        """How many pages were given back and wait to be used again."""
        return int(self._state[QUEUED])

    @property
    def free_pages(self) -> int:
        """How many pages lists can still take before the arena must grow."""
        return self._most_pages(self.records) - self.pages_in_lists

    @property
    def nbytes(self) -> int:
        """Bytes of the arena and its queue."""
        return int(self.pages.words.size + self.pages.queue.size) * WORD + CONTROL_SIZE * 8

    @property
    def footprint(self) -> int:
        """Bytes of vertex records and of pages in lists, as the paper counts memory."""
        return WORD * (self.records * self.layout.record_words + self.pages_in_lists * self.layout.page_words)

    def _most_pages(self, records: int) -> int:
        room = int(self.pages.words.size) - records * self.layout.record_words
        return min(max(room, 0) // self.layout.page_words, int(self.pages.queue.size))

    def upload(self, array: NDArray[Any]) -> Any:
        """Return a copy on the device, which is counted."""
        self.host_to_device += array.nbytes
        return self.backend.upload(array)

    def download(self, array: Any) -> NDArray[Any]:
        """Return a copy on the host, which is counted."""
        copy = self.backend.download(array)
        self.device_to_host += copy.nbytes
        return copy

    def run(self, name: str, *arguments: Any) -> None:
        """Launch a kernel on the pages."""
        self.backend.launch(getattr(self.kernels, name), self.pages, *arguments)

    def settle(self) -> None:
        """Make what launches took or gave back the state of the next ones."""
        self.run("settle")

    def synchronise(self) -> None:
        """Learn how many arcs and pages there are now; all that was launched is done then."""
        self._state = self.download(self.pages.control)

    def memory(self) -> dict[str, int]:
        """Return the bytes of records, of pages in lists, of what is free, and of the queue."""
        records = WORD * self.records * self.layout.record_words
        pages = WORD * self.pages_in_lists * self.layout.page_words
        return {
            "arena.records": records,
            "arena.pages": pages,
            "arena.free": WORD * int(self.pages.words.size) - records - pages,
            "arena.queue": WORD * int(self.pages.queue.size) + CONTROL_SIZE * 8,
        }

    def has_room(self, records: int, pages: int) -> bool:
        """Tell whether there is room for so many records in all and so many more pages."""
        fits = records * self.layout.record_words <= self.pages.words.size
        return fits and self._most_pages(records) - self.pages_in_lists >= pages

    def reserve(self, records: int, pages: int, *, refusal: type[Exception] = InvalidBatch) -> None:
        """Make sure that there is room for so many records in all and so many more pages, or refuse.

        An arena without room is replaced by a larger one, once.
        """
        in_use = self.pages_in_lists
        if records >= NO_LIST:
            raise InvalidArgument(f"a graph in pages must have fewer than {NO_LIST} lists, not {records}")
        if self.has_room(records, pages):
            return
        page, for_records = self.layout.page_words, records * self.layout.record_words
        least = for_records + max(in_use + pages, int(self._state[FRESH])) * page
        factor = max(self.store.slack, GROWTH) if self.records else self.store.slack
        words = max(int(least * factor), least + LEAST_PAGES * page)
        most = self.store.most_bytes
        if most is not None:
            ring = page + 1  # words that a page and its place in the queue take
            besides = CONTROL_SIZE * 8 + self.store.page_bytes
            room = (most - besides) // WORD - for_records
            wanted = -(-(least - for_records) // page)
            if wanted * ring > room:
                raise refusal(
                    f"{pages} more pages of {self.store.page_bytes} bytes and {records} records must fit into the "
                    f"arena, which has {format_bytes(self.nbytes)} and {self.free_pages} free pages and may not grow "
                    f"beyond most_bytes={most}: {besides + WORD * (for_records + wanted * ring)} would serve"
                )
            words = min(words, for_records + room // ring * page)
        self._grow(words, records)

    def _grow(self, words: int, records: int) -> None:
        """Move everything to an arena of so many words."""
        backend, old, page = self.backend, self.pages, self.layout.page_words
        words = -(-words // page) * page
        fresh, front, queued = (int(self._state[place]) for place in (FRESH, FRONT, QUEUED))
        most = (words - records * self.layout.record_words) // page
        larger = Pages(backend.empty(words, np.int32), backend.empty(max(most, 1), np.int32), old.control)
        used = self.records * self.layout.record_words
        if used:
            backend.copy(backend.part(larger.words, 0, used), backend.part(old.words, 0, used))
        if fresh:
            size = int(old.words.size)
            backend.copy(
                backend.part(larger.words, words - fresh * page, words),
                backend.part(old.words, size - fresh * page, size),
            )
        if queued:
            ring = int(old.queue.size)
            straight = min(queued, ring - front)
            backend.copy(
                backend.part(larger.queue, 0, straight), backend.part(old.queue, front, front + straight)
            )
            if queued > straight:
                backend.copy(
                    backend.part(larger.queue, straight, queued),
                    backend.part(old.queue, 0, queued - straight),
                )
        backend.fill(backend.part(larger.control, FRONT, FRONT + 1), 0)
        self._state[FRONT] = 0
        self.growths += bool(used)
        self.pages = larger

    def extend(self, records: int) -> None:
        """Make empty lists up to so many; their room is reserved."""
        if records > self.records:
            self.run("open_records", self.records, records)
            self.records = records

    def own_pages(self, opened: Any) -> None:
        """Give vertices that came the pages that they have even without edges, where the layout wants that."""
        if self.layout.owns and opened.size:
            self.run("own_pages", opened)
            self.settle()

    def load(self, side: int, degrees: NDArray[np.int32], neighbours: Any, weights: Any) -> None:
        """Lay the lists of one direction out, given as CSR; their records must be empty."""
        if not len(degrees):
            return
        backend = self.backend
        given = self.upload(degrees)
        sizes, counts = backend.empty(len(degrees), np.int64), backend.empty(len(degrees), np.int64)
        backend.launch(self.kernels.measure, given, sizes, counts)
        ends, page_ends = backend.running_sum(sizes), backend.running_sum(counts)
        columns = self.upload(neighbours), self.upload(weights)
        self.run("lay_out", ends, page_ends, *columns, side)
        self.run("laid_out", ends, page_ends, int(side == 0))
        self.synchronise()

    def rows(self, columns: Any, place: int, count: int, *, weights: bool) -> Rows:
        """Return rows whose columns lie one after the other in an array on the device."""
        part, backend = self.backend.part, self.backend
        end = place + 2 * count
        return Rows(
            part(columns, place, place + count),
            part(columns, place + count, end),
            part(columns, end, end + count) if weights else part(columns, end, end),
            backend.empty(count, np.int32),
            backend.empty(count if self.weighted else 0, np.int32),
        )

    def updates(self, name: str, rows: Rows, affected: int) -> list[Launch]:
        """Return the launches that `insert` or `delete` rows, of about `affected` lists; pages are reserved before."""
        tasks = int(rows.source.size) * self.sides
        if not tasks:
            return []
        if not self._grouped(tasks, affected):
            return [(name, (rows, 0, tasks)), _SETTLE]
        keys = self.backend.empty(tasks, np.int64)
        self.backend.launch(self.kernels.key_tasks, rows, keys, 0)
        return [(f"{name}_grouped", (rows, self.backend.sort(keys))), _SETTLE]

    def _grouped(self, tasks: int, affected: int) -> bool:
        if self.store.strategy != "cost":
            return self.store.strategy == "vertex-centric"
        return tasks > ROWS_PER_LIST * affected

    def look_ups(self, rows: Rows, *, changes: bool) -> list[Launch]:
        """Return the launch that looks edges up, and gives them their rows' weights if something is to change."""
        tasks = int(rows.source.size) * (self.sides if changes else 1)
        return [("reweight", (rows, tasks, int(changes)))] if tasks else []

    def launch(self, launches: list[Launch]) -> None:
        """Launch kernels on the pages, one after the other; none of them needs memory."""
        for name, arguments in launches:
            self.run(name, *arguments)

    def outcomes(self, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what became of rows, and the weights before."""
        if not rows.source.size:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        return self.download(rows.outcomes), self.download(rows.weights_before)

    def degrees(self, side: int, chosen: Any, count: int) -> Any:
        """Return the degrees of chosen vertices, or of the first `count` if none are chosen, on the device."""
        degrees = self.backend.empty(count, np.int64)
        if count:
            self.run("degrees_of", chosen, side, degrees)
        return degrees

    def gather(self, side: int, chosen: Any, count: int, *, owners: bool) -> tuple[Any, Columns]:
        """Return where the lists of vertices end in columns, and the columns."""
        backend = self.backend
        degrees = self.degrees(side, chosen, count)
        ends = backend.running_sum(degrees) if count else degrees
        total = int(self.download(backend.part(ends, count - 1, count))[0]) if count else 0
        columns = Columns(
            backend.empty(total if owners else 0, np.int32),
            backend.empty(total, np.int32),
            backend.empty(total if self.weighted else 0, np.int32),
        )
        if total:
            self.run("gather", chosen, side, ends, *columns)
        return ends, columns

    def deletions(self, doomed: Any, bound: int) -> tuple[list[Columns], list[Launch]]:
        """Return the edges at vertices that are to go, as they are, and the launches that delete them."""
        sides = range(self.lists_per_vertex)
        found = [self.gather(side, doomed, int(doomed.size), owners=True)[1] for side in sides]
        backend, launches = self.backend, list[Launch]()
        costs = 0 if self.sides == 1 else self._search_costs(found)
        if self.sides == 1 or costs > self.pages_in_lists + self.records:
            marks = backend.full(bound, 0, np.uint8)
            backend.launch(self.kernels.mark, doomed, marks)
            if self.sides == 1:
                found.append(self._arcs_into(marks))
            launches = [("purge", (marks, side)) for side in sides]
        else:
            for side, columns in enumerate(found):
                if columns.neighbours.size:
                    launches.append(("delete", self._partners(columns, side)))
        return found, [*launches, _SETTLE, ("drop_lists", (doomed,)), _SETTLE]

    def _partners(self, columns: Columns, side: int) -> tuple[Rows, int, int]:
        """Return rows and tasks that delete listed edges from the lists at their other ends."""
        count = int(columns.neighbours.size)
        nothing = self.backend.part(columns.neighbours, 0, 0)
        outcomes = self.backend.empty(count, np.int32)
        before = self.backend.empty(count if self.weighted else 0, np.int32)
        if side == 0:
            return Rows(columns.owners, columns.neighbours, nothing, outcomes, before), count, 2 * count
        return Rows(columns.neighbours, columns.owners, nothing, outcomes, before), 0, count

    def _search_costs(self, found: list[Columns]) -> int:
        """Return how many records and pages a search for listed edges in the lists at their other ends meets."""
        tally = self.backend.full(1, 0, np.int64)
        for side, columns in enumerate(found):
            if columns.neighbours.size:
                self.run("search_cost", *self._partners(columns, side), tally)
        return int(self.download(tally)[0])

    def _arcs_into(self, marks: Any) -> Columns:
        """Return the arcs from vertices without a mark to vertices with one, found by one pass over all lists."""
        backend, tally = self.backend, self.backend.full(1, 0, np.int64)
        nothing = backend.empty(0, np.int32)
        self.run("collect", marks, tally, nothing, nothing, nothing)
        total = int(self.download(tally)[0])
        columns = Columns(
            backend.empty(total, np.int32),
            backend.empty(total, np.int32),
            backend.empty(total if self.weighted else 0, np.int32),
        )
        if total:
            backend.fill(tally, 0)
            self.run("collect", marks, tally, *columns)
        return columns


@once
def _backend(device: str) -> Backend:
    """Return the backend that all arenas on a device share, with the kernels compiled so far."""
    open_device(device)  # which says what is missing
    if device == "cudasim":
        from grapin.kernels.cuda.simulator import Simulator

        return Simulator()
    if device == "vgpu":
        from grapin.kernels.cuda.vgpu.device import backend

        virtual: Backend = backend()
        return virtual
    if device == "cuda":
        from grapin.kernels.cuda.gpu import Gpu

        gpu: Backend = Gpu()
        return gpu
    from grapin.kernels.cuda.one_lane import OneLane

    return OneLane(Shape(1, THREADS))


def open_arena(store: PageStore, *, weighted: bool, lists_per_vertex: int, sides: int) -> Arena:
    """Return an empty arena on the store's device."""
    return Arena(
        _backend(store.device), store, weighted=weighted, lists_per_vertex=lists_per_vertex, sides=sides
    )
