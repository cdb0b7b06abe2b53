"""Arrays that get longer inside compiled code."""

from typing import Any

import numpy as np

from grapin.compiled import compiled


@compiled
def grown(array: Any, needed: Any) -> Any:
    """Return an array with room for `needed` items that begins with the old ones."""
    larger = np.empty(max(needed, 2 * array.size), array.dtype)
    larger[: array.size] = array
    return larger
