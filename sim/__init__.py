"""The transfer model: what a run's trace costs on a link, a GPU and a transfer system."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grapin.sim.machine import Gpu, Host, Machine
    from grapin.sim.presets import MACHINES, find_machine

_HOMES = {
    "MACHINES": "grapin.sim.presets",
    "Gpu": "grapin.sim.machine",
    "Host": "grapin.sim.machine",
    "Machine": "grapin.sim.machine",
    "find_machine": "grapin.sim.presets",
}

__all__ = ["MACHINES", "Gpu", "Host", "Machine", "find_machine"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grapin.sim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
