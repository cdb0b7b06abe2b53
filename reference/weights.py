"""What a graph does with the weight it is given: keep none, 32-bit whole numbers, or 32-bit floats."""

import numpy as np
from numpy.typing import ArrayLike

from grapin.errors import GrapinError, InvalidBatch
from grapin.reference.changes import Weight

KINDS = ("none", "int32", "float32")


def kind_of(weight: ArrayLike | None) -> str:
    """Return the kind of weights that an array asks for when nobody says."""
    if weight is None:
        return "none"
    return "float32" if np.asarray(weight).dtype.kind == "f" else "int32"


def stored_weight(kind: str, given: Weight = None, error: type[GrapinError] = InvalidBatch) -> Weight:
    """Return the weight as a graph of this kind stores it, or refuse one that the kind cannot hold."""
    if kind == "none":
        if given is not None:
            raise error(f"weight {given} must not be given: the graph has no weights")
        return None
    if given is None:
        raise error(f"weight must be given for each edge: the graph has {kind} weights")
    if not 0 <= given < np.inf:
        raise error(f"weight {given} must be a finite number of at least 0")
    return _whole(given, error) if kind == "int32" else _float(given, error)


def _whole(given: float, error: type[GrapinError]) -> int:
    if isinstance(given, float):
        raise error(f"weight {given} must be a whole number: the graph has int32 weights")
    if given > np.iinfo(np.int32).max:
        raise error(f"weight {given} must fit into a 32-bit integer")
    return given


def _float(given: float, error: type[GrapinError]) -> float:
    if given > np.finfo(np.float32).max:
        raise error(f"weight {given} must fit into a 32-bit float")
    stored = float(np.float32(given))
    if isinstance(given, int) and stored != given:
        raise error(f"weight {given} must be exact as a 32-bit float")
    return stored
