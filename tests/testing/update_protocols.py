"""Ways to lower a vertex's key and record its parent, as threads for the explorer: the published one, others, ours.

A packed word is a pair (key, parent); pairs compare as the 64-bit words do, key first.
"""

from collections.abc import Generator, Iterable
from typing import Any

from grapin.testing import compare_and_swap, fence, minimum, read
from grapin.testing.interleavings import Access

Steps = Generator[Access, Any, None]
Edge = tuple[str, str, int]


def published(me: str, offered: int) -> Steps:
    """Algorithm 1 of the Grapin paper: lower the result, then swap the parent in until it is there or pointless."""
    old = yield minimum("result", offered)
    if offered < old:
        seen = yield read("parent")
        while True:
            seen = yield compare_and_swap("parent", seen, me)
            if offered != (yield read("result")) or me == (yield read("parent")):
                return


def rereading(me: str, offered: int) -> Steps:
    """Read the parent again before each look at the result, and swap only while the result is still ours."""
    old = yield minimum("result", offered)
    if offered < old:
        while True:
            seen = yield read("parent")
            if offered != (yield read("result")) or seen == me:
                return
            yield compare_and_swap("parent", seen, me)


def unchecked(edges: Iterable[Edge]) -> Steps:
    """Lower the packed word at once: the smaller of two parents wins where keys are equal."""
    for source, target, weight in edges:
        key, _ = yield read(source)
        yield minimum(target, (key + weight, source))


def target_first(edges: Iterable[Edge]) -> Steps:
    """Test for a strictly better key, but look at the target before the source."""
    for source, target, weight in edges:
        theirs, _ = yield read(target)
        key, _ = yield read(source)
        if key + weight < theirs:
            yield minimum(target, (key + weight, source))


def checked(edges: Iterable[Edge], *, fenced: bool = False) -> Steps:
    """Ours on a CPU: source, then target, then the minimum if the key is strictly better."""
    for source, target, weight in edges:
        key, _ = yield read(source)
        if fenced:
            yield fence()
        theirs, _ = yield read(target)
        if key + weight < theirs:
            yield minimum(target, (key + weight, source))


def recorded(edges: Iterable[Edge], keys: dict[str, int]) -> Steps:
    """A source offers the key it had before the launch."""
    for source, target, weight in edges:
        theirs, _ = yield read(target)
        if keys[source] + weight < theirs:
            yield minimum(target, (keys[source] + weight, source))


def swapped(edges: Iterable[Edge]) -> Steps:
    """Swap while the key is strictly better, so that no equal key ever replaces a parent."""
    for source, target, weight in edges:
        key, _ = yield read(source)
        yield from swap(target, (key + weight, source))


def lowered(edges: Iterable[Edge]) -> Steps:
    """Ours on a GPU: the minimum where an offer is worse than its maker's key, the swap where it is equal."""
    for source, target, weight in edges:
        key, _ = yield read(source)
        theirs, _ = yield read(target)
        if key + weight < theirs:
            if weight:
                yield minimum(target, (key + weight, source))
            else:
                yield from swap(target, (key + weight, source))


def swap(target: str, word: tuple[int, str]) -> Steps:
    """Put a word in place of any with a worse key."""
    seen = yield read(target)
    while word[0] < seen[0]:
        found = yield compare_and_swap(target, seen, word)
        if found == seen:
            return
        seen = found
