"""`PagedGraph`: a `Graph` that lives in pages in a device's memory and is changed there.

It means what `Graph` means. What differs is where work is done: a batch is checked on the host, crosses the link once,
as columns, and is looked up, inserted and deleted on the device. What became of it comes back only when `Applied` is
read. Nothing else crosses the link, unless lists are asked for.
"""

from importlib import import_module
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Edges, edge_keys
from grapin.edges import Labels, VertexArray, WeightArray
from grapin.errors import InvalidArgument, InvalidBatch
from grapin.graph.change import Applied, Arcs, Asked
from grapin.graph.check_pages import check_pages
from grapin.graph.graph import Graph
from grapin.graph.packed import Patterns
from grapin.graph.page_store import PageStore
from grapin.graph.snapshot import Lists, Snapshot, VertexChange, VertexSet

INSERTED, DELETED, REWEIGHTED, UNCHANGED, IGNORED = range(5)
"""What the kernels say became of a row (`kernels/cuda/pages/updates.py`)."""
_ARENA = "grapin.kernels.cuda.pages.arena"
"""Where arenas come from: found by name, as devices are, because what executes imports what stores."""
_NO_WEIGHTS = np.empty(0, np.int32)
_NO_MOVES = np.empty((0, 2), np.int64)


class PagedGraph(Graph):
    """A graph in pages; `Graph.from_edges(..., store="pages")` makes one."""

    def __init__(
        self,
        store: PageStore,
        *,
        vertices: VertexSet,
        directed: bool,
        in_direction: bool,
        weight_dtype: np.dtype[Any] | None,
        labels: Labels | None,
        strict: bool,
    ) -> None:
        """Make a graph without edges."""
        self.store = store
        self._vertices = vertices
        self._directed, self._in_direction = directed, in_direction or not directed
        self._weight_dtype = weight_dtype
        self.version = 0
        self.labels = labels
        self.strict = strict
        self._lent = WeakSet()
        self._arena = self._new_arena()

    @classmethod
    def of(cls, graph: Graph, store: PageStore) -> "PagedGraph":
        """Return a copy of a graph in pages."""
        snapshot = graph.snapshot()
        paged = cls(
            store,
            vertices=graph._vertices.copy(),  # noqa: SLF001 - its own kind
            directed=graph.directed,
            in_direction=graph.in_direction,
            weight_dtype=graph.weight_dtype,
            labels=None if graph.labels is None else graph.labels.copy(),
            strict=graph.strict,
        )
        paged.version = graph.version
        directions = [snapshot.out, *([snapshot.in_] if paged._lists == 2 else [])]
        paged._fill([_packed(lists) for lists in directions if lists is not None], snapshot.alive)
        return paged

    def _new_arena(self) -> Any:
        sides = 2 if self._in_direction else 1
        return import_module(_ARENA).open_arena(
            self.store, weighted=self.weight_dtype is not None, lists_per_vertex=self._lists, sides=sides
        )

    @property
    def _lists(self) -> int:
        """How many lists a vertex has."""
        return 2 if self._directed and self._in_direction else 1

    def _fill(
        self, directions: list[tuple[NDArray[np.int32], VertexArray, Patterns]], alive: NDArray[np.bool_]
    ) -> None:
        """Lay lists out, given as degrees, neighbours and weights."""
        arena = self._arena
        records = len(alive) * self._lists
        pages = sum(int(arena.layout.pages(degrees).sum()) for degrees, _, _ in directions)
        arena.reserve(records, pages, refusal=InvalidArgument)
        arena.extend(records)
        for side, (degrees, neighbours, weights) in enumerate(directions):
            arena.load(side, degrees, neighbours, weights)

    @property
    def edges(self) -> int:
        """How many arcs are stored: an undirected edge counts twice, an undirected self loop once."""
        return int(self._arena.edges)

    @property
    def directed(self) -> bool:
        """False when each edge is stored as two arcs with one weight."""
        return self._directed

    @property
    def in_direction(self) -> bool:
        """Whether in-neighbours can be read."""
        return self._in_direction

    @property
    def aligned(self) -> bool:
        """Whether each list starts on a 128-byte boundary: pages do not."""
        return False

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """int32, float32, or None when edges have no weights."""
        return self._weight_dtype

    @property
    def host_to_device(self) -> int:
        """Bytes that went to the device since the graph was made."""
        return int(self._arena.host_to_device)

    @property
    def device_to_host(self) -> int:
        """Bytes that came from the device since the graph was made."""
        return int(self._arena.device_to_host)

    def has_edge(self, source: int, target: int) -> bool:
        """Is there an edge from `source` to `target`? False when either vertex does not exist."""
        if not (self.has_vertex(source) and self.has_vertex(target)):
            return False
        return self._look_up(source, target)[0]

    def weight(self, source: int, target: int) -> int | float:
        """Return the weight of an edge that exists."""
        if self.weight_dtype is None:
            raise InvalidArgument("weight must be asked of a graph with weights: this one has none")
        there, pattern = (False, _NO_WEIGHTS)
        if self.has_vertex(source) and self.has_vertex(target):
            there, pattern = self._look_up(source, target)
        if not there:
            raise InvalidArgument(f"edge ({source}, {target}) must exist to have a weight")
        found: int | float = pattern.view(self.weight_dtype)[0].item()
        return found

    def _look_up(self, source: int, target: int) -> tuple[bool, Patterns]:
        arena = self._arena
        columns = arena.upload(np.array([source, target], np.int32))
        rows = arena.rows(columns, 0, 1, weights=False)
        arena.launch(arena.look_ups(rows, changes=False))
        outcomes, before = arena.outcomes(rows)
        return bool(outcomes[0] != IGNORED), before

    def out_degree(self, vertex: int) -> int:
        """How many edges start at this vertex?"""
        return len(self.out_neighbours(vertex))

    def in_degree(self, vertex: int) -> int:
        """How many edges end at this vertex?"""
        return len(self.in_neighbours(vertex))

    def out_neighbours(self, vertex: int) -> VertexArray:
        """Return where the edges of this vertex end, in no order; a read-only copy, which lasts."""
        return self._list(vertex, 0)[0]

    def in_neighbours(self, vertex: int) -> VertexArray:
        """Return where the edges to this vertex start, in no order; a read-only copy, which lasts."""
        return self._list(vertex, self._in_side())[0]

    def out_weights(self, vertex: int) -> WeightArray:
        """Return the weights beside `out_neighbours`."""
        return self._weights_of(vertex, 0)

    def in_weights(self, vertex: int) -> WeightArray:
        """Return the weights beside `in_neighbours`."""
        return self._weights_of(vertex, self._in_side())

    def _in_side(self) -> int:
        if not self._in_direction:
            raise InvalidArgument("in_direction=False must be True for in-neighbours to be kept")
        return self._lists - 1

    def _weights_of(self, vertex: int, side: int) -> WeightArray:
        if self.weight_dtype is None:
            raise InvalidArgument("weights must be asked of a graph with weights: this one has none")
        return self._list(vertex, side)[1].view(self.weight_dtype)

    def _list(self, vertex: int, side: int) -> tuple[VertexArray, Patterns]:
        arena = self._arena
        chosen = arena.upload(np.array([self._known(vertex)], np.int32))
        _, columns = arena.gather(side, chosen, 1, owners=False)
        found = arena.download(columns.neighbours), arena.download(columns.weights)
        for column in found:
            column.flags.writeable = False
        return found

    def snapshot(self) -> Snapshot:
        """Return a copy of all lists on the host, which lasts; it costs as much as there are edges."""
        out = self._copied(0)
        in_ = out if not self._directed else self._copied(1) if self._in_direction else None
        alive = self._vertices.alive.copy()
        alive.flags.writeable = False
        return Snapshot(self.version, self.bound, self.edges, alive, out, in_)

    def _copied(self, side: int) -> Lists:
        arena = self._arena
        ends, columns = arena.gather(side, arena.upload(_NO_WEIGHTS), self.bound, owners=False)
        last = arena.download(ends)
        starts = np.concatenate((np.zeros(1, np.int64), last[:-1])) if len(last) else last
        weights = arena.download(columns.weights)
        if self.weight_dtype is not None:
            weights = weights.view(self.weight_dtype)
        arrays = (
            starts,
            (last - starts).astype(np.int32),
            arena.download(columns.neighbours),
            weights,
            _NO_MOVES.copy(),
        )
        for array in arrays:
            array.flags.writeable = False
        return Lists(*arrays)

    def edge_arrays(self) -> tuple[VertexArray, VertexArray, WeightArray | None]:
        """Return copies of all arcs as columns, sorted by source."""
        arena = self._arena
        _, columns = arena.gather(0, arena.upload(_NO_WEIGHTS), self.bound, owners=True)
        source, target, weights = (arena.download(column) for column in columns)
        return source, target, self._as_weights(weights)

    def _change(self, asked: Asked, vertices: VertexChange, unknown: int, *, strict: bool) -> Applied:
        insert, delete, reweight = asked if self.directed else tuple(map(_once, asked))
        update = _Update(self, insert, delete, reweight, vertices, unknown)
        if strict:
            update.refuse_ignored()
        update.reserve()
        launches = update.launches()
        self._vertices.reserve(vertices.bound)
        self._arena.extend(vertices.bound * self._lists)
        self._arena.own_pages(update.opened)
        self._arena.launch(launches)
        self._arena.synchronise()
        self._vertices.commit(vertices)
        self.version += 1
        return LateApplied(self.version, update)

    def copy(self) -> "PagedGraph":
        """Return an independent copy, in an arena of its own."""
        return PagedGraph.of(self, self.store)

    def __getstate__(self) -> dict[str, Any]:
        """Return the graph as lists on the host; the device's memory stays where it is."""
        state = {name: value for name, value in self.__dict__.items() if name not in {"_lent", "_arena"}}
        lists = self.snapshot()
        directions = [lists.out, *([lists.in_] if self._lists == 2 else [])]
        return state | {"directions": [_packed(one) for one in directions if one is not None]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        directions = state.pop("directions")
        self.__dict__.update(state)
        self._lent = WeakSet()
        self._arena = self._new_arena()
        self._fill(directions, self._vertices.alive)

    def memory(self) -> dict[str, int]:
        """Return the bytes of each part: records, pages in lists and the rest of the arena."""
        return {"vertices": self._vertices.nbytes, **self._arena.memory()}

    def statistics(self) -> dict[str, int]:
        """Return where pages are, and how often the arena was replaced by a larger one."""
        arena = self._arena
        return {
            "pages in lists": arena.pages_in_lists,
            "pages queued": arena.pages_queued,
            "pages free": arena.free_pages,
            "growths": arena.growths,
        }

    def check(self) -> None:
        """Verify every invariant of the store; raise `CorruptGraph` at the first broken one."""
        self._vertices.check()
        check_pages(
            self._arena, self._vertices.alive, directed=self.directed, lists=self._lists, edges=self.edges
        )


def _packed(lists: Lists) -> tuple[NDArray[np.int32], VertexArray, Patterns]:
    """Return lists without gaps: degrees, neighbours, and weights as patterns."""
    degrees = np.array(lists.degrees)
    ends = np.cumsum(degrees, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    if len(lists.neighbours) == total:
        return degrees, lists.neighbours, lists.weights.view(np.int32)
    places = np.repeat(lists.starts - (ends - degrees), degrees) + np.arange(total)
    weights = lists.weights.view(np.int32)
    return degrees, lists.neighbours[places], weights[places] if len(weights) else weights


def _once(arcs: Arcs) -> Arcs:
    """Return each edge of an undirected graph once, from arcs in both directions."""
    return arcs.chosen(arcs.owner <= arcs.neighbour) if len(arcs) else arcs


class _Update:
    """One batch on its way through the device."""

    def __init__(
        self,
        graph: PagedGraph,
        insert: Arcs,
        delete: Arcs,
        reweight: Arcs,
        vertices: VertexChange,
        unknown: int,
    ) -> None:
        self.graph, self.vertices, self.unknown = graph, vertices, unknown
        self.insert, self.delete, self.reweight = insert, delete, reweight
        arena = graph._arena  # noqa: SLF001 - a part of it
        parts = []
        for arcs in (insert, delete, reweight):
            parts += [arcs.owner, arcs.neighbour, arcs.weights]
        columns = arena.upload(np.concatenate([*parts, vertices.inserted, vertices.deleted]))
        place, rows = 0, []
        for arcs in (insert, delete, reweight):
            rows.append(arena.rows(columns, place, len(arcs), weights=len(arcs.weights) > 0))
            place += 2 * len(arcs) + len(arcs.weights)
        self.inserts, self.deletes, self.reweights = rows
        cut = arena.backend.part
        self.opened = cut(columns, place, place + len(vertices.inserted))
        place += len(vertices.inserted)
        self.doomed = cut(columns, place, place + len(vertices.deleted))
        self.found: list[Any] = []
        """The arcs at vertices that go, on the device."""

    @property
    def arena(self) -> Any:
        """Where the graph is."""
        return self.graph._arena  # noqa: SLF001 - a part of it

    def refuse_ignored(self) -> None:
        """Raise `InvalidBatch` if a part of the batch would be ignored."""
        for arcs, rows in ((self.delete, self.deletes), (self.reweight, self.reweights)):
            # A vertex that comes with the batch may have no record yet, and there is nothing to look up.
            absent = np.flatnonzero(np.maximum(arcs.owner, arcs.neighbour) >= self.graph.bound)
            if not len(absent):
                self.arena.launch(self.arena.look_ups(rows, changes=False))
                absent = np.flatnonzero(self.arena.outcomes(rows)[0] == IGNORED)
            if len(absent):
                edge = f"({arcs.owner[absent[0]]}, {arcs.neighbour[absent[0]]})"
                raise InvalidBatch(
                    f"edge {edge} must exist to be deleted or re-weighted: the graph is strict"
                )
        if len(self.vertices.ignored):
            raise InvalidBatch(
                f"vertex {self.vertices.ignored[0]} must not exist to be inserted and exist to be deleted: "
                "the graph is strict"
            )

    def reserve(self) -> None:
        """Make room for what the batch can need at most; look up what it does need only where there is no more room."""
        arena, lists = self.arena, self.graph._lists  # noqa: SLF001 - a part of it
        records = self.vertices.bound * lists
        owned = len(self.vertices.inserted) * lists if arena.layout.owns else 0
        if arena.has_room(records, owned + len(self.insert) * arena.sides):
            return
        ends = [self.insert.owner, self.insert.neighbour][: arena.sides]
        if lists == 1 and len(ends) == 2:
            ends = [np.concatenate(ends)]
        slots = arena.layout.slots
        most = owned + sum(int((-(-np.unique(end, return_counts=True)[1] // slots)).sum()) for end in ends)
        try:
            arena.reserve(records, most)
        except InvalidBatch:
            arena.reserve(records, owned + self._pages_needed())

    def _pages_needed(self) -> int:
        """Return how many pages more lists will have after the batch, those of vertices that go not considered."""
        arena, bound = self.arena, self.graph.bound
        here = [
            arcs.chosen((arcs.owner < bound) & (arcs.neighbour < bound))
            for arcs in (self.insert, self.delete)
        ]
        changes = []
        for arcs, sign in zip(here, (1, -1), strict=True):
            columns = arena.upload(np.concatenate((arcs.owner, arcs.neighbour)))
            rows = arena.rows(columns, 0, len(arcs), weights=False)
            arena.launch(arena.look_ups(rows, changes=False))
            absent = arena.outcomes(rows)[0] == IGNORED
            changes.append((arcs.chosen(absent if sign > 0 else ~absent), sign))
        fresh = (self.insert.owner >= bound) | (self.insert.neighbour >= bound)
        changes.append((self.insert.chosen(fresh), 1))
        pages = arena.layout.pages
        total = 0
        for side in range(arena.lists_per_vertex):
            degrees = np.zeros(self.vertices.bound, np.int64)
            known = arena.degrees(side, arena.upload(_NO_WEIGHTS), bound)
            degrees[:bound] = arena.download(known)
            after = degrees.copy()
            for arcs, sign in changes:
                ends = [arcs.owner, arcs.neighbour] if side == 0 else [arcs.neighbour, arcs.owner]
                np.add.at(after, ends[0], sign)
                if arena.sides == 2 and arena.lists_per_vertex == 1:
                    np.add.at(after, ends[1][ends[0] != ends[1]], sign)
            total += int((pages(after) - pages(degrees)).sum())
        return max(total, 0)

    def launches(self) -> list[Any]:
        """Return all that is to be launched; memory for it is there."""
        arena = self.arena
        launches: list[Any] = arena.updates("delete", self.deletes, _owners(self.delete) * arena.sides)
        launches += arena.look_ups(self.reweights, changes=True)
        if len(self.vertices.deleted):
            self.found, deletions = arena.deletions(self.doomed, self.graph.bound)
            launches += deletions
        launches += arena.updates("insert", self.inserts, _owners(self.insert) * arena.sides)
        return launches

    def came_to(self) -> dict[str, Any]:
        """Download what became of the batch, and return the fields of `Applied`."""
        arena, arcs_of = self.arena, self._arcs
        (new, new_before), (gone, gone_before), (same, same_before) = (
            arena.outcomes(rows) for rows in (self.inserts, self.deletes, self.reweights)
        )
        deleted = [(self.delete.owner, self.delete.neighbour, gone_before, gone == DELETED)]
        for side, columns in enumerate(self.found):
            owner, neighbour, weights = (arena.download(column) for column in columns)
            ends = (neighbour, owner) if side == 1 and self._turned(side) else (owner, neighbour)
            deleted.append((*ends, weights, np.ones(len(owner), np.bool_)))
        both = ((self.insert, new, new_before), (self.reweight, same, same_before))
        changed = [(arcs.owner, arcs.neighbour, arcs.weights, what == REWEIGHTED) for arcs, what, _ in both]
        former = [(arcs.owner, arcs.neighbour, before, what == REWEIGHTED) for arcs, what, before in both]
        inserted = [(self.insert.owner, self.insert.neighbour, self.insert.weights, new == INSERTED)]
        ignored = self._count(self.delete, gone == IGNORED) + self._count(self.reweight, same == IGNORED)
        old = arcs_of(former).weight
        return {
            "inserted": arcs_of(inserted),
            "deleted": arcs_of(deleted),
            "reweighted": arcs_of(changed),
            "old_weights": _NO_WEIGHTS if old is None else old,
            "inserted_vertices": self.vertices.inserted,
            "deleted_vertices": self.vertices.deleted,
            "ignored": ignored + len(self.vertices.ignored) + self.unknown,
            "unchanged": self._count(self.insert, new == UNCHANGED)
            + self._count(self.reweight, same == UNCHANGED),
        }

    def _turned(self, side: int) -> bool:
        """Tell whether what was found in this place are in-lists."""
        return self.arena.lists_per_vertex == 2 and side == 1

    def _count(self, arcs: Arcs, chosen: NDArray[np.bool_]) -> int:
        """Count arcs as they are stored: an undirected edge is two."""
        count = int(np.count_nonzero(chosen))
        if self.graph.directed or not count:
            return count
        return 2 * count - int(np.count_nonzero(chosen & (arcs.owner == arcs.neighbour)))

    def _arcs(self, parts: list[tuple[Any, Any, Any, NDArray[np.bool_]]]) -> Edges:
        """Return the chosen rows of columns as arcs, each once and sorted."""
        owner, neighbour = (np.concatenate([part[end][part[3]] for part in parts]) for end in (0, 1))
        weighted = self.graph.weight_dtype is not None
        weights = np.concatenate([part[2][part[3]] for part in parts]) if weighted else _NO_WEIGHTS
        if not self.graph.directed:
            owner, neighbour = np.concatenate((owner, neighbour)), np.concatenate((neighbour, owner))
            weights = np.concatenate((weights, weights))
        keys, rows = np.unique(edge_keys(owner, neighbour), return_index=True)
        columns = (keys >> 32).astype(np.int32), keys.astype(np.int32), weights[rows] if weighted else weights
        for column in columns:
            column.flags.writeable = False
        return Edges(columns[0], columns[1], self.graph._as_weights(columns[2]))  # noqa: SLF001 - a part of it


def _owners(arcs: Arcs) -> int:
    """Return how many different sources arcs have that are sorted by source."""
    return int(np.count_nonzero(arcs.owner[1:] != arcs.owner[:-1])) + (len(arcs) > 0)


class LateApplied(Applied):
    """What a batch did, brought from the device when it is first read."""

    def __init__(self, version: int, update: _Update) -> None:
        self.__dict__.update(version=version, _update=update)

    def __getattr__(self, name: str) -> Any:
        if name not in Applied.__dataclass_fields__ or "_update" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__.update(self.__dict__.pop("_update").came_to())
        return self.__dict__[name]

    def __reduce__(self) -> tuple[Any, ...]:
        """Become a plain `Applied` on the way to another process."""
        return Applied, tuple(getattr(self, name) for name in Applied.__dataclass_fields__)
