"""The transfer model: what a run's trace costs on a link, a GPU and a transfer system."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grapin.sim.closed_form import copy_to_device, copy_to_host, read_requests
    from grapin.sim.machine import Gpu, Host, Machine
    from grapin.sim.presets import MACHINES, find_machine
    from grapin.sim.profiler import hardware_counters

_HOMES = {
    "MACHINES": "grapin.sim.presets",
    "Gpu": "grapin.sim.machine",
    "Host": "grapin.sim.machine",
    "Machine": "grapin.sim.machine",
    "copy_to_device": "grapin.sim.closed_form",
    "copy_to_host": "grapin.sim.closed_form",
    "find_machine": "grapin.sim.presets",
    "hardware_counters": "grapin.sim.profiler",
    "read_requests": "grapin.sim.closed_form",
}

__all__ = [
    "MACHINES",
    "Gpu",
    "Host",
    "Machine",
    "copy_to_device",
    "copy_to_host",
    "find_machine",
    "hardware_counters",
    "read_requests",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grapin.sim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
