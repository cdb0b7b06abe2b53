"""Sweeps: every combination of systems, machines and caches, on traces that all of them share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grapin.cache.settings import CacheSettings
from grapin.errors import InvalidArgument
from grapin.sim.machine import Machine
from grapin.sim.prediction import Prediction
from grapin.sim.replaying import replay
from grapin.sim.systems import ModelSystem
from grapin.spread import spread
from grapin.trace import Trace


@dataclass(frozen=True)
class Combination:
    """One thing to predict."""

    system: ModelSystem
    machine: Machine
    cache: int | str | CacheSettings | None = None

    def __str__(self) -> str:
        return f"the prediction for {self.system.name} on {self.machine.name}"


def sweep(
    traces: Mapping[str, Trace],
    combinations: Sequence[Combination],
    *,
    processes: int = 1,
    cluster: str | None = None,
    advance: Callable[[float], None] = lambda _: None,
) -> list[Prediction]:
    """Return a prediction for each combination, in their order; `traces` has one for each way to repair.

    Where it happens is up to `processes` and `cluster`, as for `grapin.spread.spread`; the predictions are the same.
    """
    for repair in {str(one.system.repair) for one in combinations} - set(traces):
        raise InvalidArgument(f"traces must have one whose repair is {repair}")
    return spread(
        _predict, combinations, shared=(dict(traces),), processes=processes, cluster=cluster, advance=advance
    )


def _predict(one: Combination, traces: Mapping[str, Trace]) -> Prediction:
    return replay(traces[one.system.repair], one.system, one.machine, cache=one.cache)
