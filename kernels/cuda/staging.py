"""`Staging`: lists copied into memory of the device before they are read, partitions whole or gathered one by one.

What is to be read is known before a walk begins. The host cuts it into tasks as the system's transfer says, copies what
a task needs into a buffer of the device, and writes one word a list that tells kernels where it is: the word by which
they find cached lists (`lists.py`), so that no kernel knows of tasks. What has no word is read over the link.

Buffers take turns: while lists are read from one, the copy engine fills the next, on a stream of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.counters import TASK
from grapin.errors import DeviceUnavailable
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cuda.backend import Backend, bind
from grapin.kernels.cuda.lists import ARRAY_BITS, NOT_HELD, DeviceLists
from grapin.partitions import CHOICES, Choice, check_room, cut, partition_bytes, sum_up
from grapin.system import Compaction, Filter, Hybrid, HybridReleased, Staged
from grapin.units import ELEMENT, format_bytes

Numbers = NDArray[np.int64]


def place_whole(items: Any, shift: Any, arrays: Any, lists: DeviceLists) -> None:
    """Write where these lists are, which lie as they do in the store."""
    for entry in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        vertex = items[entry]
        lists.held[vertex] = (lists.starts[vertex] + shift) << ARRAY_BITS | arrays


def place_gathered(items: Any, words: Any, lists: DeviceLists) -> None:
    """Write where these lists are, which were gathered."""
    for entry in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        lists.held[items[entry]] = words[entry]


def forget(items: Any, lists: DeviceLists) -> None:
    """Take the words of these lists back."""
    for entry in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        lists.held[items[entry]] = NOT_HELD


KERNELS = (place_whole, place_gathered, forget)


@compiled
def gather(source: Any, starts: Any, lengths: Any, target: Any) -> None:
    """Copy lists together."""
    at = 0
    for entry in range(starts.size):
        for index in range(lengths[entry]):
            target[at + index] = source[starts[entry] + index]
        at += lengths[entry]


@dataclass(frozen=True, eq=False)
class Task:
    """Lists that are read by one launch, and how they reach the device."""

    way: Choice
    inward: int
    vertices: NDArray[np.int32]
    """Whose lists it is made to read, in ascending order."""
    staged: NDArray[np.int32]
    """Whose lists can be read while it is loaded: with partitions come lists that nobody asked for."""
    begin: int = 0
    end: int = 0
    """The stretch of the edge arrays that is copied, or of the lists that the host gathers, end to end."""

    @property
    def copied(self) -> int:
        """Elements of each array that are copied."""
        return self.end - self.begin

    @property
    def gathered(self) -> int:
        """Of these, elements that the host gathers first."""
        return self.copied if self.way == Choice.COMPACTION else 0


_LISTS, _EDGES, _ROWS = (list(TASK.names or ()).index(name) for name in ("lists", "edges", "rows"))


@dataclass(eq=False)
class _Buffer:
    """A part of the staging memory, and what it must wait for before it is filled again."""

    at: int
    host: tuple[Any, ...] = ()
    """Where lists are gathered that go here, pinned where that makes copies asynchronous."""
    filled: Any = None
    read: Any = None


class Staging:
    """The staging memory of one query."""

    def __init__(self, backend: Backend, transfer: Staged, *, weights: bool, weight_dtype: Any) -> None:
        self._backend = backend
        self.transfer = transfer
        self._arrays = 2 if weights else 1
        self._weight_dtype = weight_dtype
        self._kernels = bind(backend, "staging", functions=(), kernels=KERNELS)
        self.held = [backend.full(1, NOT_HELD, np.int64) for _ in range(2)]
        """By direction, out and in, and by vertex: what kernels know of each list (`lists.py`)."""
        self.neighbours = backend.empty(0, np.int32)
        self.weights = backend.empty(0, weight_dtype)
        self._snapshot: Snapshot | None = None
        self.active = [np.zeros(1, np.bool_) for _ in range(2)]
        """By direction and vertex: whether the list is still to be read; all False between runs."""
        self._cuts: list[tuple[Numbers, Numbers]] = []
        """By direction: where partitions begin and end."""
        self._room = 0
        """Elements of a buffer."""
        self._buffers: list[_Buffer] = []
        self._turn = 0
        self._records: list[list[int]] = []
        """One for each task since the version began, in the order of `grapin.counters.TASK`."""
        self._rows = 0
        """Rows of the trace that they read."""

    @property
    def nbytes(self) -> int:
        """Bytes of device memory."""
        arrays = (self.neighbours, self.weights, *self.held)
        return sum(int(array.nbytes) for array in arrays)

    @property
    def tasks(self) -> NDArray[Any]:
        """What was done for the present version, in the order in which it was done."""
        return np.array([tuple(record) for record in self._records], TASK)

    def follow(self, snapshot: Snapshot) -> None:
        """Follow the graph to this version: cut its edge arrays, and have room for what a task copies."""
        self._snapshot, self._records, self._rows = snapshot, [], 0
        for inward, held in enumerate(self.held):
            if snapshot.bound > len(held):
                room = max(snapshot.bound, 2 * len(held))
                self.held[inward] = self._backend.full(room, NOT_HELD, np.int64)
                self.active[inward] = np.zeros(room, np.bool_)
        two = snapshot.in_ is not None and snapshot.in_ is not snapshot.out
        self._cuts = [self._cut(self._lists(inward)) for inward in range(1 + two)]
        self._make_room()

    def plan(self, vertices: NDArray[np.int32], inward: int, *, entire: bool = False) -> list[Task]:
        """Return the tasks that read the lists of these vertices, which are in ascending order.

        With `entire` all lists of partitions that are copied whole can be read.
        """
        lists = self._lists(inward)
        vertices = vertices[lists.degrees[vertices] > 0]
        lengths = lists.degrees[vertices].astype(np.int64)
        if not len(vertices):
            return []
        begins, ends = self._cuts_of(inward)
        starts = lists.starts[vertices]
        partitions = np.searchsorted(begins, starts, "right") - 1
        if isinstance(self.transfer, Compaction):
            assert self._snapshot is not None
            few = int(lengths.sum()) <= self.transfer.threshold * self._snapshot.edges
            choices = np.full(len(begins), Choice.COMPACTION if few else Choice.FILTER)
        else:
            activity = sum_up(starts, lengths, partitions, ends - begins, arrays=self._arrays)
            choices = CHOICES[type(self.transfer)](activity, self.transfer)
        tasks = list(self._copying(vertices, inward, partitions, choices))
        if entire:
            tasks = [replace(task, staged=self._between(task)) for task in tasks]
        chosen = choices[partitions]
        asked, gathered = chosen == Choice.ZERO_COPY, chosen == Choice.COMPACTION
        if asked.any():
            tasks.append(Task(Choice.ZERO_COPY, inward, vertices[asked], vertices[asked]))
        return [*tasks, *self._gathering(vertices[gathered], lengths[gathered], inward)]

    @contextmanager
    def loaded(self, task: Task, lists: DeviceLists, iteration: int) -> Iterator[None]:
        """Have the lists of a task in the device's memory as long as this lasts."""
        backend, size = self._backend, ELEMENT * self._arrays
        index = self.transfer.index_bytes * len(task.vertices) if task.way == Choice.COMPACTION else 0
        moved = task.copied * size + index, task.gathered * size
        self._records.append([iteration, int(task.way), 0, 0, *moved, 0])
        if task.way == Choice.ZERO_COPY:
            yield
            return
        items, buffer = backend.upload(task.staged), self._buffers[self._turn]
        self._turn = (self._turn + 1) % len(self._buffers)
        if task.way == Choice.FILTER:
            self._send_stretch(task, buffer)
            shift = np.int64(buffer.at - task.begin)
            backend.launch(self._kernels.place_whole, items, shift, np.int64(self._arrays), lists)
        else:
            words = self._send_gathered(task, buffer) << ARRAY_BITS | self._arrays
            backend.launch(self._kernels.place_gathered, items, backend.upload(words), lists)
        yield
        backend.launch(self._kernels.forget, items, lists)
        buffer.read = backend.mark()

    def degrees(self, inward: int) -> NDArray[np.int32]:
        """Return how long the lists of one direction are."""
        return self._lists(inward).degrees

    def count(self, vertices: NDArray[np.int32], inward: int, traced: int | None) -> None:
        """Count lists that the last task has read; `traced` is how many rows the trace has now, if there is one."""
        record = self._records[-1]
        record[_LISTS] += len(vertices)
        record[_EDGES] += int(self.degrees(inward)[vertices].sum(dtype=np.int64))
        if traced is not None:
            record[_ROWS] += traced - self._rows
            self._rows = traced

    def _lists(self, inward: int) -> Lists:
        assert self._snapshot is not None
        own = self._snapshot.in_
        return own if inward and own is not None else self._snapshot.out

    def _cut(self, lists: Lists) -> tuple[Numbers, Numbers]:
        size = ELEMENT * self._arrays
        longest = int(lists.degrees.max(initial=0))
        if isinstance(self.transfer, Compaction):
            check_room("transfer.memory", self.transfer.memory, longest, size)
            return cut(lists, self.transfer.memory // size)
        wanted = partition_bytes(self.transfer, len(lists.neighbours) * size)
        if isinstance(self.transfer, HybridReleased):
            return cut(lists, -(-wanted // size), at_least=True)
        check_room("transfer.partition", wanted, longest, size)
        return cut(lists, wanted // size)

    def _cuts_of(self, inward: int) -> tuple[Numbers, Numbers]:
        return self._cuts[min(inward, len(self._cuts) - 1)]

    def _make_room(self) -> None:
        """Have buffers for what one task copies at most."""
        transfer = self.transfer
        if isinstance(transfer, Compaction):
            slots = max(len(self._lists(inward).neighbours) for inward in range(2))
            count, room = 1, min(transfer.memory // (ELEMENT * self._arrays), slots)
        else:
            assert isinstance(transfer, (Filter, Hybrid, HybridReleased))
            longest = max(int((ends - begins).max(initial=0)) for begins, ends in self._cuts)
            count, room = transfer.streams, longest * self._combine
        if room <= self._room:
            return
        backend, size = self._backend, count * room
        try:
            self.neighbours = backend.empty(size, np.int32)
            self.weights = backend.empty(size if self._arrays > 1 else 0, self._weight_dtype)
        except DeviceUnavailable as error:
            wanted = format_bytes(size * ELEMENT * self._arrays)
            raise DeviceUnavailable(
                f"there is no room for {wanted} of staged lists, set smaller partitions or less memory: {error}"
            ) from error
        self._room = room
        self._buffers = [_Buffer(place * room) for place in range(count)]

    @property
    def _combine(self) -> int:
        return self.transfer.combine if isinstance(self.transfer, (Filter, Hybrid)) else 1

    def _between(self, task: Task) -> NDArray[np.int32]:
        """Return the vertices whose lists lie in the stretch that a task copies."""
        lists = self._lists(task.inward)
        first, last = np.searchsorted(lists.starts, (task.begin, task.end))
        vertices = np.arange(first, last, dtype=np.int32)
        return vertices[lists.degrees[first:last] > 0]

    def _copying(
        self,
        vertices: NDArray[np.int32],
        inward: int,
        partitions: Numbers,
        choices: Numbers,
    ) -> Iterator[Task]:
        """Yield tasks of partitions that are copied whole, consecutive ones in one copy, up to `combine`."""
        begins, ends = self._cuts_of(inward)
        copied = np.unique(partitions[choices[partitions] == Choice.FILTER])
        place = 0
        while place < len(copied):
            first = last = int(copied[place])
            while place < len(copied) and copied[place] - first < self._combine:
                # The room between two partitions is copied with them, if they fit into a buffer with it.
                if copied[place] > last + 1 or ends[copied[place]] - begins[first] > self._room:
                    break
                last = int(copied[place])
                place += 1
            low, high = np.searchsorted(partitions, (first, last + 1))
            mine = vertices[low:high]
            yield Task(Choice.FILTER, inward, mine, mine, int(begins[first]), int(ends[last]))

    def _gathering(self, vertices: NDArray[np.int32], lengths: Numbers, inward: int) -> Iterator[Task]:
        """Yield tasks of lists that are gathered, as many in one as a buffer holds."""
        ends, begin = np.cumsum(lengths), 0
        while begin < len(vertices):
            done = int(ends[begin - 1]) if begin else 0
            end = int(np.searchsorted(ends, done + self._room, "right"))
            mine = vertices[begin:end]
            yield Task(Choice.COMPACTION, inward, mine, mine, end=int(ends[end - 1]) - done)
            begin = end

    def _send_stretch(self, task: Task, buffer: _Buffer) -> None:
        lists = self._lists(task.inward)
        for target, source in zip((self.neighbours, self.weights), self._stored(lists), strict=False):
            part = self._backend.part(target, buffer.at, buffer.at + task.copied)
            buffer.filled = self._backend.send(part, source[task.begin : task.end], buffer.read)

    def _send_gathered(self, task: Task, buffer: _Buffer) -> Numbers:
        """Gather lists and send them; return where each of them is."""
        lists, backend = self._lists(task.inward), self._backend
        starts = lists.starts[task.vertices]
        lengths = lists.degrees[task.vertices].astype(np.int64)
        backend.wait(buffer.filled)  # what is gathered next must not overwrite what is still on its way
        if not buffer.host:
            types = (np.dtype(np.int32), np.dtype(self._weight_dtype))[: self._arrays]
            buffer.host = tuple(backend.host_memory(self._room, dtype) for dtype in types)
        for target, host, source in zip(
            (self.neighbours, self.weights), buffer.host, self._stored(lists), strict=False
        ):
            gather(source, starts, lengths, host)
            part = backend.part(target, buffer.at, buffer.at + task.copied)
            buffer.filled = backend.send(part, host[: task.copied], buffer.read)
        return buffer.at + np.cumsum(lengths) - lengths

    def _stored(self, lists: Lists) -> tuple[NDArray[Any], ...]:
        return (lists.neighbours, lists.weights)[: self._arrays]
