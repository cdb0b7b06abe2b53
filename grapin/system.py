"""`System`: a named way to repair results and to move data; a frozen preset over the same parts."""

from dataclasses import dataclass
from typing import Literal

from grapin.validation import check_choice


@dataclass(frozen=True)
class System:
    """One preset; a variant is `dataclasses.replace(system, ...)`."""

    name: str
    repair: Literal["bounded", "published", "recompute"]
    """How a batch's changes reach the values: read what changed; one pass over all edges; all from nothing."""
    transfer: Literal["zero-copy", "unified", "resident"]
    """How a device reads edges: request by request over the link, page by page through faults, from its own memory."""
    cache: Literal["none", "published", "adaptive"]
    """Which lists the device keeps a copy of, where it is given room for a cache; see `grapin.cache`."""
    summary: str


SYSTEMS = {
    system.name: system
    for system in (
        System("bounded", "bounded", "zero-copy", "adaptive", "repair reads little more than what changes"),
        System(
            "grapin",
            "published",
            "zero-copy",
            "published",
            "the published system: every valid vertex pushes once, hot lists cached in advance",
        ),
        System(
            "grapin-zc",
            "published",
            "zero-copy",
            "none",
            "the published repair without a cache: after correction every valid vertex pushes once",
        ),
        System("grapin-page", "published", "unified", "none", "the published repair through unified memory"),
        System(
            "grapin-recomp", "recompute", "zero-copy", "none", "all values from nothing after every batch"
        ),
    )
}


def find_system(name: str | System) -> System:
    """Return the system of this name; a `System` stands for itself."""
    return name if isinstance(name, System) else SYSTEMS[check_choice("system", name, SYSTEMS)]
