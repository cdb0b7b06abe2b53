"""The memory of a cache beside a dictionary: what lies where, through any sequence of arrivals, leavings, reclaims."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from grapin.cache.chunks import NOWHERE, Chunks

PLACES = 30


class ChunksMachine(RuleBasedStateMachine):
    """Slots never overlap, never cross a chunk, and keep their size when they move."""

    chunks: Chunks
    rooms: dict[int, int]

    @initialize(capacity=st.integers(0, 60), chunk=st.integers(1, 25))
    def make(self, capacity: int, chunk: int) -> None:
        self.chunks = Chunks(capacity, chunk)
        self.chunks.grow(PLACES)
        self.rooms = {}

    @rule(wanted=st.dictionaries(st.integers(0, PLACES - 1), st.integers(1, 30), max_size=8))
    def reserve(self, wanted: dict[int, int]) -> None:
        new = {place: room for place, room in wanted.items() if place not in self.rooms}
        ready = self.chunks.ready
        given = self.chunks.reserve(np.array(list(new), np.int64), np.array(list(new.values()), np.int64))
        served = {place: room for (place, room), got in zip(new.items(), given, strict=True) if got}
        self.rooms |= served
        assert self.chunks.ready == ready - sum(served.values())
        tails = self.chunks._ends - self.chunks._tails
        assert all(room > tails.max(initial=0) for place, room in new.items() if place not in served)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        leaving = data.draw(st.lists(st.sampled_from(sorted(self.rooms)), unique=True)) if self.rooms else []
        self.chunks.release(np.array(leaving, np.int64))
        for place in leaving:
            del self.rooms[place]

    @rule()
    def reclaim(self) -> None:
        before = self.chunks.positions.copy()
        untouched = self.chunks._tails - self.chunks._begins == self.chunks._live
        moved, sources = self.chunks.reclaim()
        assert (before[moved] == sources).all()
        changed = np.flatnonzero(before != self.chunks.positions)
        assert set(changed) <= set(moved)
        assert not untouched[before[changed] // max(1, self.chunks.chunk)].any()
        assert self.chunks.ready == self.chunks.free

    @invariant()
    def slots_are_in_order(self) -> None:
        if not hasattr(self, "chunks"):
            return
        positions, rooms = self.chunks.positions, self.chunks.rooms
        assert {place: int(rooms[place]) for place in self.rooms} == self.rooms
        assert set(np.flatnonzero(positions != NOWHERE)) == set(self.rooms)
        cells = [
            cell
            for place, room in self.rooms.items()
            for cell in range(positions[place], positions[place] + room)
        ]
        assert len(cells) == len(set(cells)) == self.chunks.used == sum(self.rooms.values())
        assert all(0 <= cell < self.chunks.capacity for cell in cells)
        for place, room in self.rooms.items():
            assert positions[place] // self.chunks.chunk == (positions[place] + room - 1) // self.chunks.chunk
        assert self.chunks.used + self.chunks.free == self.chunks.capacity
        assert sorted(self.chunks.held(), key=lambda place: positions[place]) == self.chunks.held().tolist()


TestChunks = ChunksMachine.TestCase


def test_lists_of_the_emptiest_chunk_move_behind_those_of_the_fullest() -> None:
    chunks = Chunks(20, 10)
    chunks.grow(6)
    assert chunks.reserve(np.arange(4), np.array([5, 5, 3, 7])).all()
    chunks.release(np.array([1, 3]))
    chunks.reclaim()
    # 0 has 5 elements in the first chunk, 2 has 3 in the second: 2 moves behind 0, and the second chunk is free.
    assert chunks.positions[:4].tolist() == [0, -1, 5, -1]
    assert chunks.reserve(np.array([4]), np.array([10])).all()
    assert chunks.positions[4] == 10
