"""Where values begin: the keys vertices have without any edge, and vertices that come and go."""

from typing import Any

import numpy as np

from grapin.compiled import compiled
from grapin.kernels.cpu.monotone.journal import Journal, log_once, word
from grapin.kernels.cpu.monotone.unbound import start_key
from grapin.kernels.words import NO_KEY, NO_PARENT, SHIFT, UNREACHED


def start_keys(vertices: Any, roots: Any, root_keys: Any) -> Any:
    """Return the key each of the given vertices starts with, `NO_KEY` for none."""
    keys = np.empty(vertices.size, np.uint32)
    for i in range(vertices.size):
        keys[i] = np.uint32(start_key(vertices[i], roots, root_keys))
    return keys


@compiled
def place_vertices(words: Any, journal: Journal, vertices: Any, keys: Any) -> None:
    """Make each vertex a root with its key, or unreached where it has none."""
    for i in range(vertices.size):
        vertex = vertices[i]
        log_once(journal, vertex, np.uint32(words[vertex] >> SHIFT))
        words[vertex] = UNREACHED if keys[i] == NO_KEY else word(keys[i], NO_PARENT)
