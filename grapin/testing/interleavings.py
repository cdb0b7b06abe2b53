"""Every interleaving of a small protocol: is it right in all of them, and if not, by which schedule does it fail?

A thread is a generator that yields its next access to memory and is sent the answer. `explore` tries every
order in which the threads may take their steps, and every value a read may return under the chosen memory model:

>>> def increment():
...     value = yield read("counter")
...     yield write("counter", value + 1)
>>> def adds_up(memory):
...     return None if memory["counter"] == 2 else "an increment was lost"
>>> print(explore({"A": increment, "B": increment}, {"counter": 0}, at_end=adds_up).counterexample)
an increment was lost
  A  read(counter)      -> 0
  B  read(counter)      -> 0
  A  write(counter, 1)
  B  write(counter, 1)
in the end: counter=1

States are met once: a thread is where its answers so far have brought it, because it must be deterministic. The
search goes breadth first, so a counterexample is one of the shortest. Threads that wait for each other in a loop have
no end of answers; `most_states` stops them.

What concurrent threads may see of each other's writes: memory that is read in turn, and memory that lags.

`Interleaved` is one memory on which threads take turns: sequential consistency. `Weak` is closer to a GPU: the
values of a word have an order, and a plain read may return any of them that its thread does not know to be
replaced. An atomic step always works on the newest value of *its* word and orders nothing else, as CUDA's atomics do;
`fence` is `__threadfence()`. It follows the view semantics of relaxed atomics and sequentially consistent fences:
Kang et al., "A Promising Semantics for Relaxed-Memory Concurrency", POPL 2017, without promises. So a read never
sees a write that is yet to come, and a plain write is the newest of its word as soon as it is made; hardware may
do both. What `Weak` finds wrong is wrong; what it finds right needs those two to be harmless.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from grapin.errors import InvalidArgument

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


Thread = Callable[[], Generator[Access, Any, None]]
Verdict = str | None
"""What is wrong, as a sentence; None when nothing is."""


def read(word: Word) -> Access:
    """Return the value of a word."""
    return Access(f"read({word})", word)


def write(word: Word, value: Value) -> Access:
    """Set a word, whatever it was."""
    return Access(f"write({word}, {value})", word, lambda _old: value)


def atomic(text: str, word: Word, change: Callable[[Value], Value]) -> Access:
    """Change a word by a function of its newest value, and return what it was."""
    return Access(text, word, change, atomic=True)


def minimum(word: Word, value: Value) -> Access:
    """Lower a word to a value unless it is smaller already, and return what it was: `atomicMin`."""
    return atomic(f"minimum({word}, {value})", word, lambda old: min(old, value))


def compare_and_swap(word: Word, expected: Value, value: Value) -> Access:
    """Set a word if it is as expected, and return what it was: `atomicCAS`."""
    text = f"compare_and_swap({word}, {expected}, {value})"
    return atomic(text, word, lambda old: value if old == expected else old)


def fence() -> Access:
    """Order everything before it and after it, in all threads that have one: `__threadfence`."""
    return Access("fence()", None)


class Taken(NamedTuple):
    """A step that was taken: by whom, what, and how it ended."""

    thread: str
    access: Access
    answer: Value
    stale: bool


@dataclass(frozen=True)
class Counterexample:
    """A schedule that leads to something wrong; printed, it reads from top to bottom."""

    wrong: str
    schedule: tuple[Taken, ...]
    memory: dict[Word, Value]

    def __str__(self) -> str:
        name = max((len(step.thread) for step in self.schedule), default=0)
        text = max((len(step.access.text) for step in self.schedule), default=0)
        lines = [
            f"  {step.thread:{name}}  {step.access.text:{text}}{_answer(step)}".rstrip()
            for step in self.schedule
        ]
        end = ", ".join(f"{word}={value}" for word, value in self.memory.items())
        return "\n".join([self.wrong, *lines, f"in the end: {end}"])


@dataclass(frozen=True)
class Exploration:
    """What all interleavings came to."""

    states: int
    """Different states met; fewer than there are when a counterexample ended the search."""
    endings: tuple[dict[Word, Value], ...]
    """The different memories that all threads together may leave behind."""
    counterexample: Counterexample | None


def explore(
    threads: Mapping[str, Thread],
    words: Mapping[Word, Value],
    *,
    at_end: Callable[[dict[Word, Value]], Verdict] | None = None,
    at_step: Callable[[dict[Word, Value], dict[Word, Value]], Verdict] | None = None,
    model: MemoryModel | None = None,
    most_states: int = 1_000_000,
) -> Exploration:
    """Run threads, by name, on memory with these words in every way there is.

    `at_end(memory)` judges what all threads leave behind, `at_step(before, after)` each step; both return what is
    wrong, or None. The memory model is `Interleaved()` unless another is given.
    """
    model = model or Interleaved()
    names = tuple(threads)
    start = (model.begin(words, len(names)), ((),) * len(names))
    origins: dict[Any, tuple[Any, Taken] | None] = {start: None}
    endings: dict[tuple[Any, ...], dict[Word, Value]] = {}

    @cache
    def next_access(name: str, answers: tuple[Value, ...]) -> Access | None:
        """Return what a thread does after these answers; None when it is done."""
        running = threads[name]()
        try:
            access = next(running)
            for answer in answers:
                access = running.send(answer)
        except StopIteration:
            return None
        return _checked(access, name, words)

    def found(wrong: str, schedule: tuple[Taken, ...], memory: Any) -> Exploration:
        example = Counterexample(wrong, schedule, model.newest(memory))
        return Exploration(len(origins), tuple(endings.values()), example)

    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        memory, answers = state
        accesses = [next_access(name, answers[place]) for place, name in enumerate(names)]
        before = model.newest(memory)
        if not any(accesses):
            endings.setdefault(tuple(before.values()), before)
            wrong = at_end(before) if at_end else None
            if wrong:
                return found(wrong, _schedule(origins, state), memory)
        for place, access in enumerate(accesses):
            if access is None:
                continue
            for answer, after, stale in model.outcomes(memory, place, access):
                told = (*answers[:place], (*answers[place], answer), *answers[place + 1 :])
                reached, taken = (after, told), Taken(names[place], access, answer, stale)
                wrong = at_step(before, model.newest(after)) if at_step else None
                if wrong:
                    return found(wrong, (*_schedule(origins, state), taken), after)
                if reached not in origins:
                    origins[reached] = (state, taken)
                    waiting.append(reached)
        if len(origins) > most_states:
            raise InvalidArgument(
                f"threads must have at most most_states={most_states} states: use fewer threads or bound their loops"
            )
    return Exploration(len(origins), tuple(endings.values()), None)


def _checked(access: Any, name: str, words: Mapping[Word, Value]) -> Access:
    """Refuse what is no access to this memory."""
    if not isinstance(access, Access):
        raise InvalidArgument(f"threads[{name!r}] must yield accesses such as read('x'), not {access!r}")
    if access.word is not None and access.word not in words:
        raise InvalidArgument(
            f"threads[{name!r}] must access one of the words {', '.join(words)}, not {access.word!r}"
        )
    return access


def _schedule(origins: Mapping[Any, tuple[Any, Taken] | None], state: Any) -> tuple[Taken, ...]:
    steps = []
    while (origin := origins[state]) is not None:
        state, taken = origin
        steps.append(taken)
    return tuple(reversed(steps))


def _answer(step: Taken) -> str:
    plain_write = step.access.change is not None and not step.access.atomic
    if step.access.word is None or plain_write:
        return ""
    return f"  -> {step.answer}" + (" (stale)" if step.stale else "")
