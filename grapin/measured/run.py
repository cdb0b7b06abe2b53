"""A run's own counters, as `grapin run --json` writes them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grapin.counters import REQUEST_SIZES
from grapin.errors import InvalidFile
from grapin.measured.measured import Measured
from grapin.system import Unified, find_system

_NAMES = {
    "edges": "edges_read",
    "lists": "lists_read",
    "pages touched": "pages",
    "payload": "link_bytes",
    "cache loads": "load_bytes",
    "cache patches": "patch_bytes",
}


def from_record(record: Mapping[str, Any], source: str = "counters of the run") -> Measured:
    """Sum what start and batches read.

    Where pages cross the link, the payload is left out: the engine sees what it touches, not what that brings along.
    Times are left out unless a GPU took them, and the start's always: it compiles.
    """
    phases = [record["initial"], *record["batches"]]
    totals: dict[str, float] = {kind: sum(phase[name] for phase in phases) for kind, name in _NAMES.items()}
    for size in REQUEST_SIZES:
        totals[f"requests of {size} bytes"] = sum(phase["requests"][str(size)] for phase in phases)
    if isinstance(find_system(record["system"]).transfer, Unified):
        del totals["payload"]
    seconds: tuple[float, ...] = ()
    if record["device"] == "cuda":
        seconds = tuple(float(batch["compute_seconds"]) for batch in record["batches"])
    if seconds:
        totals["time of batches"] = sum(seconds)
    return Measured(source, totals, seconds)


def read_run(path: Path) -> Measured:
    """Read the file of one run."""
    try:
        return from_record(json.loads(path.read_text(encoding="utf-8")), path.name)
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: is not what grapin run --json writes ({error!r})") from None
