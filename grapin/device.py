"""The interfaces a device implements, and devices by name: what can execute programs, and whether it can here."""

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from grapin.cache import read_settings
from grapin.cache.settings import CacheSettings
from grapin.counters import Work
from grapin.errors import DeviceUnavailable, InvalidArgument
from grapin.graph import Graph
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.programs.program import Program
from grapin.system import Resident, System
from grapin.units import ELEMENT
from grapin.user_code import is_user_code, load_user_code
from grapin.validation import check_choice, refuse


class Query(Protocol):
    """One program on one device, between batches."""

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the values from scratch."""

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the values up to date with what a batch changed."""

    def values(self) -> NDArray[Any]:
        """Return the value of each vertex, as a new array."""

    def parents(self) -> NDArray[np.int32]:
        """Return the vertex each value came from, -1 for none, as a new array."""

    def reached(self, vertex: int) -> bool:
        """Tell whether a vertex has a value."""

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state by part."""


class Device(Protocol):
    """What executes programs: a module with these names, found by `grapin.device`.

    One that cannot say which lists it reads has `traces = False` too, and is asked for no trace. One that copies lists
    to its memory before it reads them, as some systems want it, has `stages = True`.
    """

    name: str

    def unavailable(self) -> str | None:
        """Say in one sentence why it cannot be used here and what to do about it; None when it can."""

    def query(
        self, program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int
    ) -> Query:
        """Prepare one program for graphs of this kind."""


class Cache(Protocol):
    """Copies of cached lists in a device's memory, which the queries of one engine share."""

    def about(self) -> dict[str, Any]:
        """Return how the cache was made, as plain values."""

    def attach(self, query: Query) -> Query:
        """Return the query with its reads passing through the cache."""

    def nbytes(self) -> int:
        """Return the bytes of device memory that it takes."""


@runtime_checkable
class CachingDevice(Device, Protocol):
    """A device whose reads can pass through a cache."""

    def cache(self, settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> Cache:
        """Return an empty cache for copies of neighbours and, with 2 arrays, of weights of this type."""


@runtime_checkable
class ConfigurableDevice(Device, Protocol):
    """A device with a setting, which is given behind its name and a colon."""

    def configured(self, setting: str) -> Device:
        """Return the device with this setting, or refuse it."""


DEVICES = {
    "cuda": "grapin.kernels.cuda.device",
    "cpu": "grapin.kernels.cpu.device",
    "onelane": "grapin.kernels.cuda.one_lane",
    "cudasim": "grapin.kernels.cuda.simulated",
    "vgpu": "grapin.kernels.cuda.vgpu.device",
    "reference": "grapin.reference.device",
}
"""Where each device lives; a new one is one module with the names of `grapin.device.Device`."""
_PREFERRED = ("cuda", "cpu", "onelane")
_NEEDED = ("name", "unavailable", "query")


def device(name: str) -> Device:
    """Return the device of this name, or the one in `FILE.py` (or `FILE.py:NAME`), whether or not it can be used.

    Behind a colon stands the setting of a device that has one, as in `onelane:132`.
    """
    if is_user_code(name):
        return _own_device(name, str(Path.cwd()))
    plain, colon, setting = name.partition(":")
    if plain not in DEVICES:
        check_choice("device", name, (*DEVICES, "auto"))
    found = cast("Device", import_module(DEVICES[plain]))
    if not colon:
        return found
    if not isinstance(found, ConfigurableDevice):
        refuse("device", name, f"be {plain!r}, which has no setting")
    return found.configured(setting)


def open_device(name: str, system: System | None = None) -> Device:
    """Return a usable device that can run this system, if one is given; `auto` takes the fastest there is."""
    staged = system is not None and system.staged
    if name == "auto":
        able = (found for found in map(device, _PREFERRED) if _stages(found) or not staged)
        return next(found for found in able if found.unavailable() is None)
    found = device(name)
    reason = found.unavailable()
    if reason is not None:
        raise DeviceUnavailable(f"device={name!r} cannot be used here: {reason}")
    if system is not None and staged and not _stages(found):
        staging = ", ".join(one for one in DEVICES if _stages(device(one)))
        refuse("device", name, f"be one that copies lists as system={system.name!r} does: {staging}")
    return found


def _stages(found: Device) -> bool:
    return bool(getattr(found, "stages", False))


Asked = str | int | CacheSettings
"""`10%` of the bytes of all edges, `1G`, a number of bytes, any of these behind a policy and a colon, or settings."""


def open_cache(given: Asked, graph: Graph, programs: list[Program], system: System, device: Device) -> Cache:
    """Return an empty cache in the device's memory."""
    settings = check_cache(given, graph, programs, system, device)
    assert isinstance(device, CachingDevice)
    return device.cache(settings, system, arrays=_arrays(graph, programs), weight_dtype=graph.weight_dtype)


def check_cache(
    given: Asked, graph: Graph, programs: list[Program], system: System, device: Device
) -> CacheSettings:
    """Return what was asked for, or refuse what cannot be had."""
    if not isinstance(device, CachingDevice):
        raise InvalidArgument(
            f"cache={given!r} must be left out on device={device.name!r}, which caches no lists: "
            "record a trace there and replay it to see what a cache would save (grapin.cache.replay)"
        )
    if isinstance(system.transfer, Resident):
        raise InvalidArgument(
            f"cache={given!r} has no use under system={system.name!r}, which has all edges on the device: leave it out"
        )
    if system.staged:
        raise InvalidArgument(
            f"cache={given!r} must be left out under system={system.name!r}, which copies lists to read them and "
            "keeps none of them yet; grapin whatif predicts it with a cache"
        )
    edge_bytes = graph.snapshot().edges * ELEMENT * _arrays(graph, programs)
    settings = read_settings(given, policy=system.cache, edge_bytes=edge_bytes)
    if settings.policy == "none" and not isinstance(given, CacheSettings) and ":" not in str(given):
        raise InvalidArgument(
            f"cache={given!r} has no use under system={system.name!r}, which keeps no copies: use system 'bounded' or "
            f"'grapin', or name a policy, as in cache='adaptive:{given}'"
        )
    return settings


def _arrays(graph: Graph, programs: list[Program]) -> int:
    """Return how many arrays a copy has: neighbours, and weights if any program reads them."""
    weighted = any(getattr(program, "weighted", False) for program in programs)
    return 2 if weighted and graph.weight_dtype is not None else 1


def gpu_schedule() -> str:
    """Return the device whose reads are a GPU's: a GPU where there is one, else its kernels on the CPU."""
    return "cuda" if device("cuda").unavailable() is None else "onelane"


def check_tracing(device: Device) -> None:
    """Raise `InvalidArgument` if a device cannot say which lists it reads."""
    if not getattr(device, "traces", True):
        raise InvalidArgument(
            f"trace must be left out: device={device.name!r} computes from all edges at once and reads no list by "
            "itself, so nothing could be predicted from it; the other devices leave a trace"
        )


@lru_cache
def _own_device(name: str, _folder: str) -> Device:
    """Run a file once in a process, like a module; a relative path depends on the folder."""
    found = load_user_code("device", name)
    missing = [attribute for attribute in _NEEDED if not hasattr(found, attribute)]
    if missing:
        raise InvalidArgument(
            f"device={name!r} must have the names of grapin.device.Device: there is no {', no '.join(missing)}"
        )
    return cast("Device", found)
