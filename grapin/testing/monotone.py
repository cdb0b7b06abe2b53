"""Is a rule of yours monotone? The papers leave it to a proof; here Hypothesis looks for a counterexample.

A rule breaks where it changes, and there two values that are close together see different sides of it. So values are
drawn in rows: a first one that is small, round, near a power of two or an end, or of any size, and others above it at
equal distances of any size. With each weight go also all small values, and those that `Engine` looks at by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from grapin.errors import BrokenRule
from grapin.interrupts import remembered_interrupts
from grapin.programs.check import LARGEST_FLOAT, check_values, has_real_values, landmarks
from grapin.programs.program import Monotone
from grapin.programs.starting import LARGEST
from grapin.testing.case import Setup
from grapin.testing.failures import quiet_search, same_everywhere
from grapin.testing.shrink import rule_reproduction
from grapin.testing.weights import Weights, weights_between

EXAMPLES = 300
"""So many weights, each with drawn values, `find_refutation` tries."""
_SMALL = 1024
"""So many of the smallest values are tried with each weight."""
_TOGETHER = 32
"""So many values are drawn at once, in equal distances."""
_LAST_BITS = 0x7F7FFFFF
"""The bit pattern of the largest float32; as whole numbers, those of floats from 0 on are in order."""

Edge = tuple[float, Sequence[Any]]
"""A weight and values that an edge of this weight sees, in ascending order."""


@dataclass(frozen=True)
class Refutation:
    """Two values and a weight that show that a program cannot be kept fresh."""

    setup: Setup
    error: BrokenRule

    @property
    def complaint(self) -> str:
        """What is wrong, the kind of error first."""
        return f"{type(self.error).__name__}: {self.error}"

    def script(self) -> str:
        """Return a script that reproduces it."""
        return rule_reproduction(
            self.setup,
            self.complaint,
            value=self.error.value,
            better_value=self.error.better_value,
            weight=self.error.weight,
        )


def check_monotone(
    program: Monotone,
    *,
    weights: st.SearchStrategy[Any] | Weights | None = None,
) -> None:
    """Raise `InvalidArgument`, with the smallest counterexample found, unless edges keep order and never improve.

    `weights` says what the graph's weights may be, as a range or as a strategy; by default whole numbers below 2**31,
    or floats of at least 0 for a program whose values are floats.
    """
    if isinstance(weights, Weights):
        weights = weights_of(weights)
    elif weights is None:
        real = program.values == "float"
        weights = weights_between("float32", 0, 2.0**64) if real else weights_between("int32", 0, 2**31 - 1)

    @settings(deadline=None)
    @given(_edges(program, weights))
    def hold(edge: Edge) -> None:
        _check(program, edge)

    hold()


def find_refutation(
    setup: Setup, *, weights: Sequence[Weights], examples: int = EXAMPLES, random_seed: int = 0
) -> Refutation | None:
    """Return what shows that a program's rule is not monotone for weights of these ranges; None where nothing does."""
    try:
        program = setup.program_from((0,))
    except Exception:  # noqa: BLE001  (a program that cannot be made fails on the first stream, which says so)
        return None
    if not isinstance(program, Monotone):
        return None

    @seed(random_seed)
    @quiet_search(examples, Phase.generate, Phase.shrink)
    @given(_edges(program, st.one_of([weights_of(each) for each in weights])))
    def hold(edge: Edge) -> None:
        repeat_interrupt()
        _check(program, edge)

    try:
        with same_everywhere(), remembered_interrupts() as repeat_interrupt:
            hold()
            repeat_interrupt()
    except BrokenRule as error:
        return Refutation(setup, error)
    return None


def weights_of(weights: Weights) -> st.SearchStrategy[Any]:
    """Draw the weight that an edge of such a graph has; without weights, it counts as 1."""
    if weights.kind == "none":
        return st.just(1)
    return weights_between(weights.kind, weights.low, weights.high)


def _check(program: Monotone, edge: Edge) -> None:
    """Hold a rule to drawn values, to small ones, and to those that every engine looks at."""
    weight, values = edge
    real = _is_real(program, weight)
    for ascending in (values, _small_values(real=real), landmarks(real=real)):
        check_values(program, weight, ascending)


def _is_real(program: Monotone, weight: Any) -> bool:
    return has_real_values(program, real_weights=isinstance(weight, (float, np.floating)))


@lru_cache
def _small_values(*, real: bool) -> tuple[Any, ...]:
    """Return the first whole numbers, which values are most often; of floats, those in steps of a quarter."""
    return tuple(np.float32(number / 4) if real else number for number in range(_SMALL))


@st.composite
def _edges(draw: st.DrawFn, program: Monotone, weights: st.SearchStrategy[Any]) -> Edge:
    weight = draw(weights)
    return weight, draw(_real_values() if _is_real(program, weight) else _whole_values())


@st.composite
def _whole_values(draw: st.DrawFn) -> list[int]:
    """Draw a value and some above it, each as far from the one before."""
    near_landmarks = st.tuples(st.sampled_from(landmarks(real=False)), st.integers(-9, 9)).map(sum)
    first = max(draw(st.integers(0, _SMALL) | near_landmarks | _of_any_size(LARGEST)), 0)
    return _run(first, draw(_gaps(LARGEST)), LARGEST)


@st.composite
def _real_values(draw: st.DrawFn) -> list[Any]:
    """Draw a value and some above it, by as many of the smallest steps that there are."""
    quarters = st.integers(0, _SMALL).map(lambda number: number / 4)
    first = draw(quarters | st.sampled_from(landmarks(real=True)) | st.floats(0, LARGEST_FLOAT, width=32))
    bits = int(np.float32(first).view(np.uint32))
    return [np.uint32(one).view(np.float32) for one in _run(bits, draw(_gaps(_LAST_BITS)), _LAST_BITS)]


def _run(first: int, gap: int, last: int) -> list[int]:
    """Return numbers from `first` on; those after the last are the last again."""
    return [min(first + step * gap, last) for step in range(_TOGETHER)]


def _gaps(largest: int) -> st.SearchStrategy[int]:
    """Draw a distance, as often a few steps as any number of them."""
    return st.integers(1, 9) | _of_any_size(largest)


def _of_any_size(largest: int) -> st.SearchStrategy[int]:
    """Draw a whole number that has as many digits as it likes: drawn evenly, nearly all would be large."""
    return st.integers(0, largest.bit_length()).flatmap(lambda bits: st.integers(0, min(2**bits, largest)))
