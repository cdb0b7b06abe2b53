"""The cache of an engine: what was asked for, checked against the graph, the programs, the system and the device."""

from grapin.cache import CacheSettings, read_settings
from grapin.cache.settings import ELEMENT
from grapin.errors import InvalidArgument
from grapin.graph import Graph
from grapin.programs.program import Monotone, Program
from grapin.systems import System
from grapin.work import Cache, CachingDevice, Device

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
            f"cache={given!r} must be left out on device={device.name!r}, which keeps no copies of lists: "
            "record a trace there and replay it to see what a cache would save (grapin.cache.replay)"
        )
    if system.transfer == "resident":
        raise InvalidArgument(
            f"cache={given!r} has no use under system={system.name!r}, which has all edges on the device: leave it out"
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
    weighted = any(isinstance(program, Monotone) and program.weighted for program in programs)
    return 2 if weighted and graph.weight_dtype is not None else 1
