"""The cache on the CPU: a second array stands for device memory, so that contents and traffic can be tested."""

from grapin.kernels.cpu.cache.device_cache import CachedQuery, DeviceCache

__all__ = ["CachedQuery", "DeviceCache"]
