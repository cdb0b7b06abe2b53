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
    summary: str


SYSTEMS = {
    system.name: system
    for system in (
        System("bounded", "bounded", "repair reads little more than what changes"),
        System(
            "grapin-zc", "published", "the published repair: after correction every valid vertex pushes once"
        ),
        System("grapin-recomp", "recompute", "all values from nothing after every batch"),
    )
}


def find_system(name: str | System) -> System:
    """Return the system of this name; a `System` stands for itself."""
    return name if isinstance(name, System) else SYSTEMS[check_choice("system", name, SYSTEMS)]
