"""What reads, loads and patches are on the link, in the terms of `Counters`."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Counters, count_reads


def count_phase(rows: NDArray[np.int64], held: NDArray[np.uint8], patch_bytes: int) -> Counters:
    """Count what a phase read: rows of iteration, place, start, length, arrays, and how many arrays were held."""
    _, _, starts, lengths, arrays = rows.T
    crossing = Counters()
    missing = arrays - held
    for count in np.unique(missing[missing > 0]).tolist():
        some = missing == count
        crossing += count_reads(starts[some], lengths[some], arrays=count)
    cached = missing == 0
    return replace(
        crossing,
        edges=int(lengths.sum()),
        lists=int(np.count_nonzero(lengths)),
        cached_edges=int(lengths[cached].sum()),
        cached_lists=int(np.count_nonzero(lengths[cached])),
        patch_bytes=patch_bytes,
    )


def count_loads(starts: NDArray[np.int64], lengths: NDArray[np.int64], arrays: int) -> Counters:
    """Count lists that are read whole only to be copied into the cache."""
    loads = count_reads(starts, lengths, arrays=arrays)
    return replace(loads, edges=0, lists=0, loads=len(starts), load_bytes=loads.bytes)
