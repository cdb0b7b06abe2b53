"""What concurrent threads may see of each other's writes: memory that is read in turn, and memory that lags.

`Interleaved` is one memory on which threads take turns: sequential consistency. `Weak` is closer to a GPU: the
values of a word have an order, and a plain read may return any of them that its thread does not know to be
replaced. An atomic step always works on the newest value of *its* word and orders nothing else, as CUDA's atomics do;
`fence` is `__threadfence()`. It follows the view semantics of relaxed atomics and sequentially consistent fences:
Kang et al., "A Promising Semantics for Relaxed-Memory Concurrency", POPL 2017, without promises. So a read never
sees a write that is yet to come, and a plain write is the newest of its word as soon as it is made; hardware may
do both. What `Weak` finds wrong is wrong; what it finds right needs those two to be harmless.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Word = str
Value = Any
"""Anything immutable: a number, a name, a tuple."""


@dataclass(frozen=True)
class Access:
    """One step of a thread, indivisible: what it does to which word, and how to print it."""

    text: str
    word: Word | None
    """None for a fence."""
    change: Callable[[Value], Value] | None = None
    """The new value, from the old one; None leaves the word alone."""
    atomic: bool = False
    """Reads and changes the newest value in one step; what is not atomic reads or writes, never both."""


class Outcome(NamedTuple):
    """One way in which an access may end."""

    answer: Value
    memory: Any
    stale: bool
    """The word has a newer value than the one that was read."""


class MemoryModel(Protocol):
    """What the explorer asks of memory; its states are immutable and compare by value."""

    def begin(self, words: Mapping[Word, Value], threads: int) -> Any:
        """Return the state before the first step."""

    def outcomes(self, memory: Any, thread: int, access: Access) -> Iterator[Outcome]:
        """Yield every way in which an access of a thread may end."""

    def newest(self, memory: Any) -> dict[Word, Value]:
        """Return the value each word would have if all threads stopped."""


class Interleaved:
    """One memory, one access after another: sequential consistency."""

    def begin(self, words: Mapping[Word, Value], threads: int) -> Any:  # noqa: ARG002 - all see the same
        """Return the words as pairs, in a fixed order."""
        return tuple(words.items())

    def outcomes(self, memory: Any, thread: int, access: Access) -> Iterator[Outcome]:  # noqa: ARG002 - as above
        """Yield the one way there is."""
        if access.word is None:
            yield Outcome(None, memory, stale=False)
            return
        words = dict(memory)
        old = words[access.word]
        if access.change is not None:
            words[access.word] = access.change(old)
        yield Outcome(old, tuple(words.items()), stale=False)

    def newest(self, memory: Any) -> dict[Word, Value]:
        """Return the words."""
        return dict(memory)


View = tuple[int, ...]
"""For each word, the place in its order of values up to which something is known."""


class _State(NamedTuple):
    names: tuple[Word, ...]
    orders: tuple[tuple[Value, ...], ...]
    """Every value a word has had."""
    seen: tuple[View, ...]
    """For each thread, what it knows: it never reads an older value."""
    fenced: View
    """What all threads together knew at their fences, which happen in one order; a fence learns it."""


class Weak:
    """Memory that lags: reads may be stale until a fence, atomics order only their own word."""

    def begin(self, words: Mapping[Word, Value], threads: int) -> _State:
        """Return one value a word, known to all: a kernel's launch orders what was before it."""
        start = (0,) * len(words)
        return _State(tuple(words), tuple((value,) for value in words.values()), (start,) * threads, start)

    def outcomes(self, memory: _State, thread: int, access: Access) -> Iterator[Outcome]:
        """Yield one outcome for each value that may be read."""
        mine = memory.seen[thread]
        if access.word is None:
            known = tuple(map(max, mine, memory.fenced))
            after = memory._replace(seen=_replaced(memory.seen, thread, known), fenced=known)
            yield Outcome(None, after, stale=False)
            return
        word = memory.names.index(access.word)
        values = memory.orders[word]
        newest = len(values) - 1
        if access.change is not None:
            orders = _replaced(memory.orders, word, (*values, access.change(values[newest])))
            seen = _replaced(memory.seen, thread, _replaced(mine, word, newest + 1))
            yield Outcome(values[newest], memory._replace(orders=orders, seen=seen), stale=False)
            return
        for place in range(mine[word], newest + 1):
            seen = _replaced(memory.seen, thread, _replaced(mine, word, place))
            yield Outcome(values[place], memory._replace(seen=seen), stale=place < newest)

    def newest(self, memory: _State) -> dict[Word, Value]:
        """Return the last value of each word's order."""
        return {name: order[-1] for name, order in zip(memory.names, memory.orders, strict=True)}


def _replaced(items: tuple[Any, ...], place: int, item: Any) -> tuple[Any, ...]:
    return (*items[:place], item, *items[place + 1 :])
