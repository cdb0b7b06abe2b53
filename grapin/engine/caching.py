"""The cache of an engine: what was asked for, checked against the graph, the programs, the system and the device."""

from grapin.cache import CacheSettings, read_settings
from grapin.cache.settings import ELEMENT
from grapin.errors import InvalidArgument
from grapin.graph import Graph
from grapin.kernels.cpu.cache import CachedQuery, DeviceCache
from grapin.programs.program import Monotone, Program
from grapin.systems import System

__all__ = ["CachedQuery", "open_cache"]

DEVICES = ("cpu",)
"""Devices whose reads can pass through a cache."""


def open_cache(
    given: str | int | CacheSettings, graph: Graph, programs: list[Program], system: System, device: str
) -> DeviceCache:
    """Return an empty cache with room for `10%` of the bytes of all edges, for `1G`, or for a number of bytes."""
    if device not in DEVICES:
        raise InvalidArgument(
            f"cache={given!r} must be left out on device={device!r}: lists are cached on {' and '.join(DEVICES)}; "
            "record a trace there and replay it to see what a cache would save (grapin.cache.replay)"
        )
    weighted = any(isinstance(program, Monotone) and program.weighted for program in programs)
    arrays = 2 if weighted and graph.weight_dtype is not None else 1
    edge_bytes = graph.snapshot().edges * ELEMENT * arrays
    settings = read_settings(given, policy=system.cache, edge_bytes=edge_bytes)
    if settings.policy == "none" and not isinstance(given, CacheSettings) and ":" not in str(given):
        raise InvalidArgument(
            f"cache={given!r} has no use under system={system.name!r}, which keeps no copies: use system 'bounded' or "
            f"'grapin', or name a policy, as in cache='adaptive:{given}'"
        )
    return DeviceCache(settings, arrays=arrays, weight_dtype=graph.weight_dtype)
