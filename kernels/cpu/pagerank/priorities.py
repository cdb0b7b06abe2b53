"""Levels of urgency: vertices that wait, most urgent first, filed in constant time and kept between batches.

Level k holds the urgencies from 2^(k/2) up to 2^((k+1)/2); what is below 1 does not wait. Each level is a ring of
vertices through an anchor of its own, first come first served, so a vertex is in one ring or in none, and nothing
grows, is searched or is cleared, whatever happens over thousands of batches.

A vertex rises at once and sinks lazily: whoever takes the first vertex of a level looks whether it still belongs
there.
"""

from math import frexp
from typing import Any, NamedTuple

import numpy as np

from grapin.compiled import kernel

LEVELS = 120
"""Enough for all that is above a useful floor; the last level holds everything from 2^59.5 on."""
BEGINNINGS = np.exp2(np.arange(LEVELS + 1) / 2)
"""The least urgency of each level, and where the last would end."""
HALFWAY = 2**-0.5
NO_LEVEL = -1
NEXT, PREVIOUS = 0, 1


class Rings(NamedTuple):
    """Which vertices wait at which level."""

    links: Any
    """The next and the previous place of each place; the first `LEVELS` places are the anchors, vertex v follows
    as place `LEVELS + v`."""
    levels: Any
    """By vertex: the level it waits at, or `NO_LEVEL`."""
    top: Any
    """One number: no vertex waits above this level."""


def empty_rings(capacity: int) -> Rings:
    """Return rings for vertices below `capacity`, none of which waits."""
    links = np.empty((LEVELS + capacity, 2), np.int32)
    links[:LEVELS] = np.arange(LEVELS, dtype=np.int32)[:, None]
    return Rings(links, np.full(capacity, NO_LEVEL, np.int8), np.zeros(1, np.int64))


@kernel
def level_of(urgency: float) -> int:
    """Return the level for an urgency, `NO_LEVEL` when it is below 1."""
    if urgency < 1:
        return NO_LEVEL
    mantissa, exponent = frexp(urgency)
    return min(2 * (exponent - 1) + int(mantissa >= HALFWAY), LEVELS - 1)


@kernel
def move(vertex: Any, level: int, rings: Rings) -> None:
    """Let a vertex wait at this level, behind the others, or nowhere; if it does so already, it keeps its place."""
    links, levels, top = rings
    if levels[vertex] == level:
        return
    place = LEVELS + vertex
    if levels[vertex] != NO_LEVEL:
        after, before = links[place, NEXT], links[place, PREVIOUS]
        links[before, NEXT] = after
        links[after, PREVIOUS] = before
    levels[vertex] = level
    if level != NO_LEVEL:
        last = links[level, PREVIOUS]
        links[place, NEXT] = level
        links[place, PREVIOUS] = last
        links[last, NEXT] = place
        links[level, PREVIOUS] = place
        top[0] = max(top[0], level)


@kernel
def most_urgent(rings: Rings) -> int:
    """Return the vertex that has waited longest at the highest level in use; negative when none waits."""
    links, _levels, top = rings
    while links[top[0], NEXT] == top[0]:
        if top[0] == 0:
            return -1
        top[0] -= 1
    return int(links[top[0], NEXT]) - LEVELS
