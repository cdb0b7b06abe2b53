"""One 64-bit word a vertex: its key above its parent, so that both change in one atomic step.

A key is an order-preserving code of the value, smaller is better; see `rules.py`. Among words, a smaller key
wins whatever the parent. Two parents are no vertices: `NO_PARENT` marks a root, `PENDING` a vertex whose
support was taken away and whose fate is not decided yet.
"""

import numpy as np

NO_KEY = np.uint32(0xFFFFFFFF)
"""The key of a vertex that nothing reaches; every real key is smaller."""
WORST_KEY = np.uint32(0xFFFFFFFE)
NO_PARENT = np.uint32(0xFFFFFFFF)
PENDING = np.uint32(0xFFFFFFFE)
UNREACHED = np.uint64(0xFFFFFFFFFFFFFFFF)
"""No key, no parent."""
SHIFT = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
