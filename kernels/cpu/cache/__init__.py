"""The cache on the CPU: a second array stands for device memory, so that contents and traffic can be tested."""

from grapin.kernels.cpu.cache.cached_query import CachedQuery, HostCache

__all__ = ["CachedQuery", "HostCache"]
