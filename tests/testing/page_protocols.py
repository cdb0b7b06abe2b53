"""How pages are handed out and lists locked, as threads for the explorer: other people's ways, and ours.

A ring of free pages has words `slot0`, `slot1`, ...; `EMPTY` is a slot that nothing was put into.
"""

from collections.abc import Generator
from typing import Any

from grapin.testing import compare_and_swap, fence, read
from grapin.testing.interleavings import Access, atomic, write

Steps = Generator[Access, Any, None]
EMPTY = -1
LOCKED = 100
TRIES = 3
"""How often a thread asks for a lock before it gives up; a schedule in which one gives up says nothing."""


def add(word: str, value: int, modulus: int | None = None) -> Access:
    """Add to a word and return what it was, as `atomicAdd` does, with as many bits as the modulus has."""
    return atomic(
        f"add({word}, {value})", word, lambda old: old + value if modulus is None else (old + value) % modulus
    )


def take(me: str, *, front: int, queued: int, fresh: int, size: int) -> Steps:
    """Take a page by ticket (`lists.take_page`): first what is queued, then fresh ones."""
    ticket = yield add("taken", 1)
    page = fresh + ticket - queued
    if ticket < queued:
        page = yield read(f"slot{(front + ticket) % size}")
    yield write(f"got {me}", page)


def give(pages: tuple[int, ...], *, front: int, queued: int, size: int) -> Steps:
    """Put pages behind those in the queue (`lists.give_page`)."""
    for page in pages:
        behind = queued + (yield add("returned", 1))
        yield write(f"slot{(front + behind) % size}", page)


def release_take(me: str, *, size: int, modulus: int | None = None) -> Steps:
    """Pop as the released faimGraph does: count down, move the front, exchange the slot; `EMPTY` if there is none."""
    page: Any = EMPTY
    if (yield add("count", -1)) > 0:
        place = (yield add("front", 1, modulus)) % size
        page = yield atomic(f"exchange(slot{place}, EMPTY)", f"slot{place}", lambda _old: EMPTY)
        if page == EMPTY:  # the release spins here until somebody fills the slot
            page = "nothing, for ever"
    else:
        yield add("count", 1)
    yield write(f"got {me}", page)


def release_give(page: int, *, size: int, modulus: int | None = None) -> Steps:
    """Push as the released faimGraph does: count up, and fill the slot at the back unless the ring is full."""
    if (yield add("count", 1)) < size:
        place = (yield add("back", 1, modulus)) % size
        yield compare_and_swap(f"slot{place}", EMPTY, page)


def stack_take(me: str) -> Steps:
    """Pop from a linked stack by compare-and-swap of its head, once or twice."""
    for _ in range(2):
        head = yield read("head")
        if head == EMPTY:
            return
        following = yield read(f"next{head}")
        if (yield compare_and_swap("head", head, following)) == head:
            yield write(f"got {me}", head)
            return


def stack_cycle(me: str) -> Steps:
    """Pop two pages, keep the second, and push the first again."""
    first = yield read("head")
    following = yield read(f"next{first}")
    if (yield compare_and_swap("head", first, following)) != first:
        return
    second = following
    if second == EMPTY:
        return
    behind = yield read(f"next{second}")
    if (yield compare_and_swap("head", second, behind)) != second:
        return
    yield write(f"got {me}", second)
    head = yield read("head")
    yield write(f"next{first}", head)
    yield compare_and_swap("head", head, first)


def insert(me: str, neighbour: int, *, fenced: bool = True, released: bool = True) -> Steps:
    """Insert into one list under its lock (`updates.insert`): a record with room for one edge, pages of one edge.

    `fenced` is for a fence behind the taking of the lock, `released` for one before it is given up.
    """
    degree = LOCKED
    for _ in range(TRIES):
        degree = yield atomic(
            "or(degree, LOCKED)", "degree", lambda old: old | LOCKED if old < LOCKED else old
        )
        if degree < LOCKED:
            break
    if degree >= LOCKED:
        yield write(f"result {me}", "gave up")
        return
    if fenced:
        yield fence()
    page = yield read("first")
    there = False
    for place in range(degree - 1):  # the chain: the first page, then the one it links to
        if place and page >= 0:
            page = yield read(f"link{page}")
        there = there or (page >= 0 and (yield read(f"edge{page}")) == neighbour)
    there = there or (degree > 0 and (yield read("inline")) == neighbour)
    change = 0
    if not there:
        change = 1
        if degree == 0:
            yield write("inline", neighbour)
        else:
            fresh = yield add("taken", 1)
            head = yield read("first")
            yield write(f"link{fresh}", head)
            yield write("first", fresh)
            yield write(f"edge{fresh}", neighbour)
    if released:
        yield fence()
    yield atomic(f"add(degree, {change} - LOCKED)", "degree", lambda old: (old & ~LOCKED) + change)
    yield write(f"result {me}", "inserted" if change else "there")
