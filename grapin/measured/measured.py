"""`Measured`: what one instrument saw of a run, as totals by kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from grapin.counters import REQUEST_SIZES
from grapin.validation import check_choice

Unit = Literal["", "bytes", "seconds"]

KINDS: dict[str, Unit] = {
    "edges": "",
    "lists": "",
    "pages touched": "",
    **{f"requests of {size} bytes": "" for size in REQUEST_SIZES},
    "payload": "bytes",
    "cache loads": "bytes",
    "cache patches": "bytes",
    "sectors read": "",
    "received": "bytes",
    "sent": "bytes",
    "faults": "",
    "migrated": "bytes",
    "evicted": "bytes",
    "time in kernels": "seconds",
    "time of batches": "seconds",
}
"""What can be measured and predicted, in the order in which it is shown; `docs/counters.md` says what each is."""


@dataclass(frozen=True)
class Measured:
    """One instrument's account of one run; a kind that it does not see is absent, which is not 0."""

    source: str
    """What measured: a file, `counters of the run`, or `NVML`."""
    totals: Mapping[str, float]
    """By kind, over all phases."""
    seconds: tuple[float, ...] = ()
    """How long each batch took on a GPU, in order; empty where that was not measured."""

    def __post_init__(self) -> None:
        for kind in self.totals:
            check_choice("kind", kind, KINDS)
