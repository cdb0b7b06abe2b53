"""`Adjacency`: one direction of the graph, and when its arrays grow or shrink.

Compiled code changes lists inside the arrays; this class owns the arrays. Everything that can fail for want
of memory happens in the `reserve_...` methods, before a batch changes anything.
"""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.graph import index
from grapin.graph import packed as arrays
from grapin.graph.lists import want_all
from grapin.graph.migration import Migration, first_difference
from grapin.graph.packed import (
    Allocate,
    Column,
    PackedLists,
    Positions,
    Wants,
    columns,
    copy_lists,
    lay_out,
    lines_of_newcomers,
    new_wants,
    place,
    place_newcomers,
    tail_lines,
    used_lines,
)
from grapin.graph.snapshot import Lists

_ROOM_PER_LINE = 1.15
"""Lines of capacity for each line in use, when the arrays are first laid out and when they shrink."""
_ROOM_WHEN_GROWN = 1.5
"""The same when they grow: what has grown will grow, and each growth copies every list."""
_LEAST_SLACK = 1.2
"""Lines for each line in use among the lists that are there, however much of the growth came with new ones."""
_LEAST_TAIL = 1 / 64
"""Lines behind the last list for each line in use, however little of the growth came with new ones."""
_FILLED = 0.95
"""Growing begins when this part of the room is used; lists go to the larger arrays while the rest is."""
_MANY = 64
"""New lists that have no tail may be one in so many lines; for more of them the arrays are laid out at once."""
_NEWCOMERS_PART = 8
"""New lists without arcs get a line each unless that takes more than one in so many lines of the tail."""
_ROOM_FOR_SLOTS = 1.25
"""Slots of indices for each slot in use, when there are too few; what is not written takes no memory."""
_SPARSEST = 0.4
"""The arrays shrink when less than this part of their lines is in use."""
_LEAST_LINES = 64
_ALIGNED_SHIFT = 5  # 32 elements of 4 bytes are 128 bytes
_WORD = np.dtype(np.int32)
_LEAST_HEADS = 3
"""A column of a single entry counts as contiguous whatever its strides, and all would be compiled again for it."""


class Adjacency:
    """The lists of one direction for the vertices below `bound`."""

    def __init__(
        self,
        degrees: NDArray[np.int32],
        *,
        weight_dtype: np.dtype[Any] | None,
        aligned: bool,
        allocate: Allocate | None,
    ) -> None:
        """Lay out lists of these degrees; their content is for the caller to fill in."""
        self.bound = len(degrees)
        self.weight_dtype = weight_dtype
        self.aligned = aligned
        self.allocate = allocate
        self.growths = 0
        self.shrinks = 0
        nowhere = np.empty(0, np.int32)
        # One more, whose start is where the last list's room ends.
        heads = np.zeros(max(self.bound + 1, _LEAST_HEADS), arrays.HEAD)
        heads["degree"][: self.bound] = degrees
        heads["index"] = index.UNINDEXED
        self.heads = heads
        """Start, degree and index of each list; `lists` has them as columns."""
        self.lists = PackedLists(
            **columns(heads),
            neighbours=nowhere,
            weights=nowhere,
            line_shift=_ALIGNED_SHIFT if aligned else 0,
            slots=np.empty(0, np.uint32),
            free_blocks=np.full(index.SIZE_CLASSES, -1, np.int64),
            counters=np.zeros(arrays.COUNTERS, np.int64),
            windows=np.empty(0, np.int64),
        )
        self.lists.counters[arrays.USED_LINES] = used_lines(self.lists, 0, self.bound)
        self.arcs = int(degrees.sum(dtype=np.int64))
        """How many there are in all lists."""
        self._migration: Migration | None = None
        """The larger arrays, while lists are going there."""
        self._pressure = 0.0
        """Which part of the room left the batch being applied takes."""
        self._tail_laid_out = self._tail_before = 0
        """Lines of the tail when lists came into these arrays, and before the last batch."""
        self._lines_laid_out = self._bound_laid_out = 0
        """Lines in use, and lists, when they came into these arrays."""
        self._placed = self.bound
        """Lists below this have their place; those above came with the batch that is being reserved for."""
        self._lay_out(int(self.used_lines * _ROOM_PER_LINE))

    @property
    def used_lines(self) -> int:
        """How many lines hold at least one arc."""
        return int(self.lists.counters[arrays.USED_LINES])

    @property
    def lines(self) -> int:
        """How many lines there are in all."""
        return len(self.lists.neighbours) >> self.lists.line_shift

    def view(self, bound: int) -> Lists:
        """Return the lists of the first `bound` vertices, read-only and without a copy."""
        lists = self.lists
        weights = lists.weights if self.weight_dtype is None else lists.weights.view(self.weight_dtype)
        # A refused batch may have left lists beyond the bound, which no one else knows of.
        moved = np.minimum(lists.windows[: 2 * lists.counters[arrays.WINDOWS]].reshape(-1, 2), bound)
        shown = (lists.starts[:bound], lists.degrees[:bound], lists.neighbours[:], weights[:], moved)
        for array in shown:
            array.flags.writeable = False
        return Lists(*shown)

    def neighbours(self, vertex: int) -> NDArray[np.int32]:
        """Return a copy of one list, read-only."""
        return self._row(self.lists.neighbours, vertex)

    def weights(self, vertex: int) -> NDArray[Any]:
        """Return a copy of the weights of one list, read-only."""
        if self.weight_dtype is None:
            raise InvalidArgument("weights must be asked of a graph with weights: this one has none")
        return self._row(self.lists.weights.view(self.weight_dtype), vertex)

    def weight(self, vertex: int, position: int) -> Any:
        """Return the weight at a position of one list, as a Python number."""
        assert self.weight_dtype is not None
        return self.lists.weights.view(self.weight_dtype)[self.lists.starts[vertex] + position].item()

    def _row(self, array: NDArray[Any], vertex: int) -> NDArray[Any]:
        start = int(self.lists.starts[vertex])
        row = array[start : start + int(self.lists.degrees[vertex])].copy()
        row.flags.writeable = False
        return row

    def memory(self) -> dict[str, int]:
        """Return the bytes of each array, slack included, and of the larger ones while lists are on their way there."""
        lists, coming = self.lists, self._migration
        return {
            "neighbours": lists.neighbours.nbytes + (0 if coming is None else coming.lists.neighbours.nbytes),
            "weights": lists.weights.nbytes + (0 if coming is None else coming.lists.weights.nbytes),
            "heads": self.heads.nbytes + (0 if coming is None else coming.heads.nbytes),
            "index": lists.slots.nbytes + lists.free_blocks.nbytes,
        }

    def statistics(self) -> dict[str, int]:
        """Return what upkeep was done since the graph was made."""
        counters = self.lists.counters
        return {
            "rebalances": int(counters[arrays.REBALANCES]),
            "lists moved": int(counters[arrays.LISTS_MOVED]),
            "elements moved": int(counters[arrays.ELEMENTS_MOVED]),
            "growths": self.growths,
            "shrinks": self.shrinks,
        }

    def copy(self) -> "Adjacency":
        """Return an independent copy, its edge arrays placed by the same allocator."""
        other = Adjacency.__new__(Adjacency)
        other.__dict__.update(self.__dict__)
        other.heads = self.heads.copy()
        other._migration = None  # noqa: SLF001 - its own kind
        copies = columns(other.heads)
        for name in ("slots", "free_blocks", "counters", "windows"):
            copies[name] = getattr(self.lists, name).copy()
        for name in ("neighbours", "weights"):
            original = getattr(self.lists, name)
            if len(original):
                copies[name] = self._place(len(original), name)
                copies[name][:] = original
        other.lists = self.lists._replace(**copies)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: no slack, whose memory was never written, but how much there is of it."""
        lists, bound = self.lists, self.bound
        heads = self.heads[: bound + 1].copy()
        heads["unused"] = 0
        heads["degree"][bound], heads["index"][bound] = 0, index.UNINDEXED
        ends = _ends(heads, bound)
        packed = lists._replace(
            starts=ends,
            neighbours=np.empty(ends[bound], np.int32),
            weights=np.empty(ends[bound] if len(lists.weights) else 0, np.int32),
        )
        copy_lists(lists, packed, bound)
        parts = packed._replace(slots=lists.slots[: lists.counters[arrays.SLOTS_TAKEN]].copy())._asdict()
        return self.__dict__ | {
            "heads": heads,
            "lists": {name: part for name, part in parts.items() if name not in columns(heads)},
            "room": (len(self.heads), len(lists.neighbours), len(lists.slots)),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        heads, (head_room, capacity, slot_room) = state["heads"], state.pop("room")
        self.__dict__.update(state)
        self.heads = np.zeros(head_room, arrays.HEAD)
        self.heads[: self.bound + 1] = heads
        # Arrays that came from another process may be read-only, for which all would be compiled again.
        parts = {name: _own(part) for name, part in state["lists"].items()}
        together = self.heads.copy()
        together["start"][: self.bound + 1] = _ends(heads, self.bound)
        places = self.heads["start"].copy()
        parts["slots"] = _longer(parts["slots"], len(parts["slots"]), slot_room)
        packed = PackedLists(**columns(together), **parts)
        placed = packed._replace(starts=places, neighbours=self._place(capacity, "neighbours"))
        if self.weight_dtype is not None:
            placed = placed._replace(weights=self._place(capacity, "weights"))
        copy_lists(packed, placed, self.bound)
        self.lists = placed._replace(**columns(self.heads))

    def reserve_vertices(self, bound: int) -> None:
        """Make room for vertices below `bound`, with empty lists at the end of the array."""
        lists = self.lists
        if bound > len(lists.degrees):
            size = max(bound, 2 * len(lists.degrees))
            self.heads = _longer(self.heads, self.bound + 1, size + 1)
            self.lists = lists = lists._replace(**columns(self.heads))
            if self._migration is not None:
                self._migration.reserve(size + 1)
        if bound > self.bound:
            lists.starts[self.bound + 1 : bound + 1] = lists.starts[self.bound]
            lists.degrees[self.bound : bound] = 0
            lists.indices[self.bound : bound] = index.UNINDEXED
            self.bound = bound

    def reserve(
        self, wants: Wants, inserted: Column, deleted: Column, reweighted: Column, *, searching: bool
    ) -> None:
        """Make the room that a look-up found wanting; `searching` if that was for arcs to be inserted too."""
        searched = (deleted, wants[arrays.DELETED]), (reweighted, wants[arrays.REWEIGHTED])
        for owner, slots in searched:
            if slots:
                self._reserve_slots(int(slots))
                index.prepare_indices(self.lists, owner, True, False)
        if wants[arrays.DELETED] or wants[arrays.REWEIGHTED]:
            # An index made just now for a search may be too small for what is to be put into it.
            again = new_wants()
            want_all(self.lists, inserted, searching, arrays.INSERTED, again)
            wants[arrays.INSERTED] = again[arrays.INSERTED]
        if wants[arrays.INSERTED]:
            self._reserve_slots(int(wants[arrays.INSERTED]))
            index.prepare_indices(self.lists, inserted, searching, True)
        if 2 * len(inserted) > len(self.lists.windows):  # each owner may need room, once
            self.lists = self.lists._replace(windows=np.zeros(3 * len(inserted), np.int64))
        if self._migration is not None and wants[: arrays.LINES_WANTED].any():
            self._migration.follow_indices(self.lists, inserted, deleted, reweighted)
        self._reserve_lines(int(wants[arrays.LINES_WANTED]), inserted)

    def _reserve_lines(self, wanted: int, inserted: Column) -> None:
        """Make room for so many lines more, and place the lists of new vertices."""
        newcomers = int(lines_of_newcomers(self.lists, self._placed, inserted))
        arriving = newcomers + newcomers // arrays.SPACING
        staying = self.used_lines + wanted - newcomers
        tail = self._tail()
        left = arrays.DENSEST_ROOT * (self.lines - tail + min(tail, wanted)) - self.used_lines
        taken = arriving + max(
            self._tail_before - tail, 0
        )  # also by lists that got longer, and those without arcs
        if wanted > max(left, 0) or arriving > max(tail, self.used_lines // _MANY):
            self._grow(staying, arriving)
            tail = self._tail()
        elif wanted > 0 and self._migration is None:
            scarce = taken and (tail - arriving) * 2 < self._tail_laid_out
            if scarce or wanted > left - (1 - _FILLED) * (self.lines - tail):
                with suppress(MemoryError):  # when there is no other way, growing at once says so
                    self._start_migration(staying, arriving)
        self._pressure = max(wanted / (max(left, 0) + 1), taken / max(tail, self.lines // _MANY, 1))
        self._tail_before = tail
        if self.bound > self._placed:
            count = self.bound - self._placed
            least = 1 if 2 * (arriving + count) <= tail and count * _NEWCOMERS_PART <= tail else 0
            # Without a tail new lists get no room before they ask for it.
            owner = inserted if arriving <= tail else inserted[:0]
            place_newcomers(self.lists, self._placed, self.bound, owner, least)
            self._placed = self.bound

    def _tail(self) -> int:
        return int(tail_lines(self.lists, self.bound))

    def _grow(self, lines: int, arriving: int) -> None:
        """Lay the lists out at once, with room to grow.

        `lines` is what the lists that have their place will fill, `arriving` what new ones will.
        """
        among, behind = self._room_to_grow(lines, arriving)
        self._lay_out(among, behind)
        self.growths += 1

    def _room_to_grow(self, lines: int, arriving: int) -> tuple[int, int]:
        """Return lines for the lists that are there and lines behind them: room where there has been growth."""
        newer = int(used_lines(self.lists, self._bound_laid_out, self._placed)) + arriving
        filled = lines + arriving * arrays.SPACING // (
            arrays.SPACING + 1
        )  # what is between new lists is room
        gained = max(filled - self._lines_laid_out, newer, 1)
        room = (_ROOM_WHEN_GROWN - 1) * filled
        among = room * (1 - newer / gained)
        return int(max(lines + among, lines * _LEAST_SLACK)), arriving + int(room - among)

    def _start_migration(self, lines: int, arriving: int) -> None:
        """Get the arrays that lists will go to, batch by batch."""
        among, behind = self._room_to_grow(lines, arriving)
        # What is inserted until all are there finds room in the tail, which lists that are copied take theirs from too.
        capacity = max(among + behind, _LEAST_LINES) << self.lists.line_shift
        heads = np.empty(len(self.heads), arrays.HEAD)
        heads["start"][0] = 0
        lists = self.lists._replace(
            **columns(heads),
            **self._placed_edges(capacity),
            counters=np.zeros(arrays.COUNTERS, np.int64),
            windows=np.zeros(2, np.int64),
        )
        self._migration = Migration(heads, lists, among - lines, self.arcs + self.bound)

    def follow(
        self, inserted: Column, deleted: tuple[Column, Positions], reweighted: tuple[Column, Positions]
    ) -> None:
        """Bring the larger arrays up to date with a batch, and some more lists into them, if there are any."""
        migration = self._migration
        self.arcs += len(inserted) - len(deleted[0])
        if migration is None:
            return
        followed = migration.follow(self.lists, inserted, deleted, reweighted)
        if not followed or not migration.advance(self.lists, self.bound, self._pressure):
            self._migration = None
        elif migration.done == self.bound:
            self._move_over(migration)

    def lost_in_migration(self) -> int:
        """Return the first list that is not in the larger arrays as it is here though it was copied; -1 if none."""
        coming = self._migration
        return -1 if coming is None else int(first_difference(self.lists, coming.lists, coming.done))

    def _move_over(self, migration: Migration) -> None:
        """Let the larger arrays take the place of the ones there are."""
        upkeep = self.lists.counters
        upkeep[[arrays.REBALANCES, arrays.LISTS_MOVED, arrays.ELEMENTS_MOVED]] += migration.lists.counters[
            [arrays.REBALANCES, arrays.LISTS_MOVED, arrays.ELEMENTS_MOVED]
        ]
        self.heads = migration.heads
        self.lists = self.lists._replace(
            **columns(self.heads), neighbours=migration.lists.neighbours, weights=migration.lists.weights
        )
        self._laid_out()
        self.growths += 1

    def _reserve_slots(self, wanted: int) -> None:
        taken = int(self.lists.counters[arrays.SLOTS_TAKEN])
        if taken + wanted > len(self.lists.slots):
            slots = _longer(self.lists.slots, taken, int((taken + wanted) * _ROOM_FOR_SLOTS))
            self.lists = self.lists._replace(slots=slots)

    def index_hubs(self) -> None:
        """Index all long lists, so that not even the first batches have to scan them."""
        hubs = np.flatnonzero(self.lists.degrees[: self.bound] > index.LONGEST_SCAN).astype(np.int32)
        hubs.flags.writeable = (
            False  # as the columns of batches are, so that one compiled version serves both
        )
        wants = new_wants()
        want_all(self.lists, hubs, True, arrays.DELETED, wants)
        self._reserve_slots(int(wants[arrays.DELETED]))
        index.prepare_indices(self.lists, hubs, True, False)

    def shrink(self) -> None:
        """Give memory back when most of it is unused; the indices go as well and come back when needed."""
        lines = int(self.used_lines * _ROOM_PER_LINE)
        if self.used_lines >= _SPARSEST * self.lines or sum(self._parts(lines)) >= self.lines:
            return
        self._lay_out(lines)
        self.lists.indices[: self.bound] = index.UNINDEXED
        self.lists.free_blocks[:] = -1
        self.lists.counters[arrays.SLOTS_TAKEN] = 0
        self.lists = self.lists._replace(slots=np.empty(0, np.uint32))
        self.shrinks += 1

    def _place(self, count: int, name: str) -> NDArray[Any]:
        dtype = _WORD if name == "neighbours" or self.weight_dtype is None else self.weight_dtype
        return place(self.allocate, count, dtype, aligned=self.aligned).view(np.int32)

    def _placed_edges(self, capacity: int) -> dict[str, Any]:
        """Return fresh arrays for edges and, where there are any, their weights."""
        neighbours = self._place(capacity, "neighbours")
        weights = np.empty(0, np.int32) if self.weight_dtype is None else self._place(capacity, "weights")
        return {"neighbours": neighbours, "weights": weights}

    def _lay_out(self, lines: int, tail: int = 0) -> None:
        """Copy the lists into fresh arrays: `lines` lines for them and, behind them, a tail of at least so many."""
        lines, tail = self._parts(lines, tail)
        assert lines >= self.used_lines  # or lists would lie over each other
        shift = self.lists.line_shift
        edges = self._placed_edges((lines + tail) << shift)
        starts = np.empty(len(self.heads), np.int64)
        lay_out(self.lists, self._placed, lines, starts)
        starts[self._placed : self.bound + 1] = lines << shift
        fresh = self.lists._replace(starts=starts, **edges)
        if len(self.lists.neighbours):
            copy_lists(self.lists, fresh, self._placed)
        self.heads["start"] = starts
        self.lists = fresh._replace(starts=self.heads["start"])
        self._laid_out()

    def _parts(self, lines: int, tail: int = 0) -> tuple[int, int]:
        """Return how many lines are laid out where so many are wanted for the lists and for the tail behind them."""
        lines = max(lines, _LEAST_LINES) if self._placed else 0
        return lines, max(tail, int(lines * _LEAST_TAIL), _LEAST_LINES - lines)

    def _laid_out(self) -> None:
        """Note how lists lie when they have come into other arrays, to tell by the next time where they grew."""
        self._migration = None
        self._lines_laid_out, self._bound_laid_out = self.used_lines, self._placed
        self._tail_laid_out = self._tail_before = self._tail()


def _own(part: Any) -> Any:
    """Return a part of the lists; an array only if it can be written to, else a copy of it."""
    return np.require(part, requirements="W") if isinstance(part, np.ndarray) else part


def _ends(heads: NDArray[Any], bound: int) -> NDArray[np.int64]:
    """Return where lists would start with no room between them, and where the last one would end."""
    ends = np.zeros(bound + 1, np.int64)
    np.cumsum(heads["degree"][:bound], out=ends[1:])
    return ends


def _longer(array: NDArray[Any], used: int, size: int) -> NDArray[Any]:
    longer = np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer
