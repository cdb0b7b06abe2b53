"""Edge weights as NetworkX has them, as whole numbers of 31 bits: exactly, or not at all.

NetworkX adds weights up as Python does, in whole numbers of any size and in 64-bit floats; the engine's values have 32
bits. So weights are taken as whole multiples of one power of two: 3 and 0.25 together as 12 and 1 quarters. Sums of
such numbers are exact in either arithmetic, and equal. Weights for which there is no such power (0.1 has 55 binary
digits) are refused, and NetworkX's own code computes in our place.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 2**31 - 1
"""The largest weight of a graph in 32-bit integers."""
_WHOLE = (bool, int, np.integer)
_REAL = (
    float,
)  # np.float64 is one of them; sums of smaller floats are rounded by NetworkX, to what no sum here is


class Refused(NotImplementedError):
    """This backend leaves a call to NetworkX; the message says why in one sentence."""


@dataclass(frozen=True)
class Scale:
    """What one in the store stands for: 2 to the power of -`digits`."""

    digits: int = 0
    """Binary digits behind the point."""
    whole: bool = True
    """Whether all weights are whole numbers to Python, and so all lengths."""

    def stored(self, weight: Any) -> int | None:
        """Return a weight as the store has it; None if it cannot be had at this scale."""
        if isinstance(weight, _WHOLE):
            scaled = int(weight) << self.digits
        elif isinstance(weight, _REAL) and not self.whole:
            number = weight * 2.0**self.digits
            if not float(number).is_integer():  # nor are infinity and NaN
                return None
            scaled = int(number)
        else:
            return None
        return scaled if 0 <= scaled <= MOST else None

    def lengths(self, values: NDArray[np.int64]) -> list[Any]:
        """Return sums of weights as NetworkX has them."""
        listed: list[Any] = (values if self.whole else values * 2.0**-self.digits).tolist()
        return listed

    def length(self, value: int) -> int | float:
        """Return one sum of weights as NetworkX has it."""
        return value if self.whole else value * 2.0**-self.digits


def scaled_weights(weights: list[Any]) -> tuple[NDArray[np.int32], Scale]:
    """Return weights as whole numbers, and what they are to be multiplied with; raise `Refused` if there is nothing."""
    kinds = set(map(type, weights))
    if not all(issubclass(kind, (*_WHOLE, *_REAL)) for kind in kinds):
        raise refusal(next(weight for weight in weights if not isinstance(weight, (*_WHOLE, *_REAL))))
    if all(issubclass(kind, _WHOLE) for kind in kinds):
        return _checked(weights, weights), Scale()
    numbers = np.array(weights, np.float64)
    for digits in range(MOST.bit_length()):
        scaled = numbers * 2.0**digits
        rounded = scaled != np.trunc(scaled)  # NaN too
        if not rounded.any():
            return _checked(weights, scaled), Scale(digits, whole=False)
        if not (scaled <= MOST).all():
            break
    raise refusal(weights[int(np.argmax(rounded))])


def _checked(weights: list[Any], scaled: Any) -> NDArray[np.int32]:
    column = np.asarray(scaled if len(scaled) else np.empty(0, np.int64))  # of objects beyond 64 bits
    bad = ~((column >= 0) & (column <= MOST))
    if bad.any():
        raise refusal(weights[int(np.argmax(bad))])
    return column.astype(np.int32)


def refusal(weight: Any) -> Refused:
    """Word why a weight cannot be taken as it is."""
    return Refused(
        f"weight {weight!r:.40} must be at least 0 and, with all others of the graph, a multiple of one power of two "
        f"below 2**31 times it (3 and 0.25 are, 0.1 is not): 32 bits would round it, so NetworkX's own code is for it"
    )


def smallest_of(parallel: Iterable[Any], weight: str | None) -> Any:
    """Return the smallest weight among parallel edges, which is the one that paths take."""
    return min(attributes.get(weight, 1) for attributes in parallel)
