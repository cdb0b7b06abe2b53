"""The hot-subgraph cache: which neighbour lists a device keeps a copy of, and what that saves on the link."""

from grapin.cache.cache import HotCache
from grapin.cache.records import Observed, Plan
from grapin.cache.replay import replay
from grapin.cache.settings import CacheSettings, read_settings

__all__ = ["CacheSettings", "HotCache", "Observed", "Plan", "read_settings", "replay"]
