"""Calibration: the few numbers of a machine that nobody publishes, fitted to how long batches took on it.

These are the link's round trip, what of its allowed rate it reaches, and what the driver needs for a batch of page
faults. A measurement need not depend on all of them: requests wait for no driver, and few large batches tell little
of a round trip. Which it can tell, and tell apart, is read off how its times change with each; the others stay as they
were, and are named.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache.settings import CacheSettings
from grapin.errors import InvalidArgument, MissingDependency
from grapin.sim.machine import Machine, find_machine
from grapin.sim.predict import replay
from grapin.system import System
from grapin.trace import Trace

FREE: Mapping[str, tuple[float, float]] = {
    "link.round_trip": (1e-7, 1e-4),
    "link.efficiency": (0.05, 1.0),
    "host.fault_batch": (1e-7, 1e-2),
}
"""What is fitted, and between which bounds: wide ones, to keep the search where the model means something."""
_STEP = 0.01
"""How far a number is moved, as a logarithm, to see what times do; replays count whole femtoseconds, and a few faults
more or less, so that much less would measure rounding."""
_LONG_STEP = 0.1
_TELLING = 0.01
"""By how much times must follow a number, as a power of it, for it to be fitted."""
_ROUNDS = 3
_TRIES = 25
_OUTLIER = 0.1
"""Deviations above this, as logarithms, count less than by their square: one disturbed batch does not decide."""

Times = Callable[[Mapping[str, float]], NDArray[np.float64]]
"""The logarithms of the predicted times, less those of the measured, on a machine with these numbers."""


@dataclass(frozen=True)
class Calibration:
    """A machine that fits a measurement."""

    machine: Machine
    fitted: Mapping[str, tuple[float, float]]
    """Each number that was fitted, before and after."""
    unidentifiable: tuple[str, ...]
    """Numbers that the measurement says nothing of, or cannot tell from the fitted ones."""
    error_before: float
    """How far predicted times of batches are off in the mean (root of the mean square of logarithms)."""
    error_after: float

    def record(self) -> dict[str, Any]:
        """Return plain values, for a JSON file."""
        return {
            "machine": self.machine.name,
            "fitted": {name: {"before": old, "after": new} for name, (old, new) in self.fitted.items()},
            "unidentifiable": list(self.unidentifiable),
            "error_before": self.error_before,
            "error_after": self.error_after,
        }


@dataclass(frozen=True, eq=False)
class Observed:
    """One run on the machine: what it read, under which system, and how long each batch took."""

    trace: Trace
    system: str | System
    seconds: Sequence[float]
    """One time a batch, in order, without the start."""
    cache: int | str | CacheSettings | None = None
    """The room it had for a cache."""

    def __post_init__(self) -> None:
        batches = len(set(self.trace.phases["version"].tolist())) - 1
        if len(self.seconds) != batches:
            raise InvalidArgument(
                f"seconds of {len(self.seconds)} batches must be of the {batches} batches in the trace: give the trace "
                "of the run that was measured"
            )
        if not batches or not all(0 < time < np.inf for time in self.seconds):
            raise InvalidArgument(f"seconds={list(self.seconds)[:5]} must be times above 0, one a batch")

    def deviations(self, machine: Machine) -> NDArray[np.float64]:
        """Return the logarithms of predicted times on a machine, less those of the measured."""
        found = replay(self.trace, self.system, machine, cache=self.cache)
        versions = np.unique(found.versions, return_inverse=True)[1]
        times = np.bincount(versions, [costs.seconds.total for costs in found.phases])[1:]
        # A batch that reads nothing takes no time in the model; a microsecond keeps its logarithm finite.
        deviations: NDArray[np.float64] = np.log((times + 1e-6) / (np.asarray(self.seconds) + 1e-6))
        return deviations


def check_fitting() -> None:
    """Refuse where there is nothing to fit with, before anything is measured."""
    if find_spec("scipy") is None:
        raise MissingDependency("fitting a machine needs SciPy: pip install 'grapin[scipy]'")


def calibrate(
    observed: Sequence[Observed], machine: str | Machine, *, source: str = "calibrated"
) -> Calibration:
    """Fit a machine to runs on it.

    A run whose batches are alike tells one number; two that differ, such as one that reads little and one that reads
    all, tell more. `source` is noted beside the fitted numbers; all that is not fitted stays as it is in `machine`.
    """
    check_fitting()
    machine = find_machine(machine)
    known = {one.name: one.value for one in machine.figures()}
    before = {name: min(max(known[name], low), high) for name, (low, high) in FREE.items()}

    def deviations(numbers: Mapping[str, float]) -> NDArray[np.float64]:
        variant = machine.with_settings(numbers)
        return np.concatenate([one.deviations(variant) for one in observed])

    after: Mapping[str, float] = before
    told: list[str] = []
    for _ in range(_ROUNDS):
        telling = _telling(deviations, after)
        if set(telling) <= set(told):
            break
        told = telling
        after = _fit(deviations, after, told)
    if not told:
        raise InvalidArgument(
            f"the measured times follow none of {', '.join(FREE)}: measure larger batches, or a system that reads over "
            "the link"
        )
    fitted = {name: (known[name], after[name]) for name in FREE if name in told}
    calibrated = machine.with_settings({name: new for name, (_, new) in fitted.items()}, source=source)
    return Calibration(
        replace(calibrated, name=f"{machine.name}-calibrated"),
        fitted,
        tuple(name for name in FREE if name not in told),
        _size(deviations({name: known[name] for name in FREE})),
        _size(deviations(after)),
    )


def _telling(deviations: Times, numbers: Mapping[str, float]) -> list[str]:
    """Return the numbers that times follow, each beyond what those before it explain; the strongest first."""
    from scipy.linalg import qr

    slopes = _slopes(deviations, numbers, list(FREE)) / np.sqrt(len(deviations(numbers)))
    _, triangle, order = qr(slopes, mode="economic", pivoting=True)
    weights = np.abs(np.diag(triangle))
    names = list(FREE)
    return [names[place] for place, weight in zip(order, weights, strict=False) if weight >= _TELLING]


def _fit(deviations: Times, start: Mapping[str, float], names: list[str]) -> Mapping[str, float]:
    """Return the numbers with which predicted times deviate least.

    Times through page faults jump where a little more or less lets host and device fight over a page, so that a search
    may be caught beside the best place; there it sets out from several.
    """
    factors = (1.0, 0.5, 2.0) if "host.fault_batch" in names else (1.0,)
    places = [{name: start[name] * factor for name in names} for factor in factors]
    found = [_search(deviations, {**start, **place}, names) for place in places]
    return min(found, key=lambda numbers: float(np.abs(deviations(numbers)).sum()))


def _search(deviations: Times, start: Mapping[str, float], names: list[str]) -> Mapping[str, float]:
    """Go downhill from one place, in long steps and then in short ones; numbers are searched as logarithms."""
    from scipy.optimize import least_squares

    def numbers(place: NDArray[np.float64]) -> dict[str, float]:
        return {**start, **dict(zip(names, np.exp(place).tolist(), strict=True))}

    low, high = np.log([FREE[name] for name in names]).T
    place = np.log([start[name] for name in names])
    for step in (_LONG_STEP, _STEP):
        place = least_squares(
            lambda place: deviations(numbers(place)),
            place.clip(low + _STEP, high - _STEP),
            jac=lambda place, step=step: _slopes(deviations, numbers(place), names, step),
            bounds=(low, high),
            loss="soft_l1",
            f_scale=_OUTLIER,
            xtol=1e-6,
            max_nfev=_TRIES,
        ).x
    return numbers(np.minimum(place, high))


def _slopes(
    deviations: Times, numbers: Mapping[str, float], names: list[str], step: float = _STEP
) -> NDArray[np.float64]:
    """Return how fast each time grows with each number, both as logarithms."""
    here = deviations(numbers)
    down = float(np.exp(-step))
    columns = [(here - deviations({**numbers, name: numbers[name] * down})) / step for name in names]
    return np.stack(columns, axis=1)


def _size(deviation: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(deviation**2)))
