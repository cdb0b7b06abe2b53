"""The transfer model: what a run's trace costs on a link, a GPU and a transfer system."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grapin.sim.machine import MACHINES, Gpu, Host, Machine, find_machine
    from grapin.sim.path import copy_to_device, copy_to_host, hardware_counters, read_requests
    from grapin.sim.predict import Combination, replay, sweep
    from grapin.sim.prediction import Prediction

_HOMES = {
    "Combination": "grapin.sim.predict",
    "Gpu": "grapin.sim.machine",
    "Host": "grapin.sim.machine",
    "MACHINES": "grapin.sim.machine",
    "Machine": "grapin.sim.machine",
    "Prediction": "grapin.sim.prediction",
    "copy_to_device": "grapin.sim.path",
    "copy_to_host": "grapin.sim.path",
    "find_machine": "grapin.sim.machine",
    "hardware_counters": "grapin.sim.path",
    "read_requests": "grapin.sim.path",
    "replay": "grapin.sim.predict",
    "sweep": "grapin.sim.predict",
}

__all__ = [
    "MACHINES",
    "Combination",
    "Gpu",
    "Host",
    "Machine",
    "Prediction",
    "copy_to_device",
    "copy_to_host",
    "find_machine",
    "hardware_counters",
    "read_requests",
    "replay",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grapin.sim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
