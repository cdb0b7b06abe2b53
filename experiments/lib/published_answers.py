"""The model's answers to published figures, by the figure's name, and why some have none."""

from experiments.lib import published_paging, published_runs
from experiments.request_sizes import KRONECKER, NARROW, QUICK, UNIFORM, WIDE, Search, removed, share
from grapin.loading import load
from grapin.sim import MACHINES, copy_to_device, copy_to_host, hardware_counters, read_requests
from grapin.sim.machine import Machine
from grapin.sim.path import Transfer

GIB = 2**30
MANY = 10**6


def answers(*, quick: bool = False) -> dict[str, float]:
    """Return a prediction for every row that has one, in the row's unit."""
    return {
        **rates(),
        **other_links(),
        **request_shares(quick=quick),
        **published_paging.answers(quick=quick),
        **published_runs.answers(quick=quick),
    }


def rates() -> dict[str, float]:
    """EMOGI's V100, from one preset whose only fitted number is the round trip; and the packets behind it."""
    v100 = MACHINES["v100"]
    small = read_requests(v100, {32: MANY})
    large = read_requests(v100, {128: MANY})
    h100 = MACHINES["h100"]
    read, write = (
        hardware_counters(one, h100.link) for one in (read_requests(h100, {64: 1}), copy_to_host(h100, 64))
    )
    return {
        "Z1": _gigabytes(small),
        "Z2": _gigabytes(read_requests(v100, {32: MANY, 96: MANY})),
        "Z3": _gigabytes(large),
        "Z4": _gigabytes(copy_to_device(v100, GIB)),
        "Z6": small.host_bytes / small.seconds / 1e9,
        "Z7": v100.link.round_trip * 1e6,
        "Z8a": 100 * (1 - small.payload / small.down_bytes),
        "Z8b": 100 * (1 - large.payload / large.down_bytes),
        "M1": read["pcie__read_bytes.sum"],
        "M2": write["pcie__write_bytes.sum"] - 64,
    }


def other_links() -> dict[str, float]:
    """Later links and GPUs, none of them fitted."""
    a100, gh200 = MACHINES["a100"], MACHINES["gh200"]
    older = a100.with_settings({"link.generation": 3})
    lines = {128: MANY}
    to_gh200, from_gh200 = _gigabytes(copy_to_device(gh200, GIB)), _gigabytes(copy_to_host(gh200, GIB))
    return {
        "Z15a": read_requests(a100, lines).rate / read_requests(older, lines).rate,
        "N1a": _gigabytes(copy_to_device(MACHINES["h100"], GIB)),
        "N1b": _gigabytes(copy_to_host(MACHINES["h100"], GIB)),
        "N3a": _gigabytes(copy_to_device(MACHINES["rtx-4090"], GIB)),
        "N3b": _gigabytes(copy_to_host(MACHINES["rtx-4090"], GIB)),
        "N4a": _gigabytes(copy_to_device(a100, GIB)),
        "N4b": _both_ways(a100),
        "N5": _gigabytes(read_requests(a100, lines)),
        "N6a": to_gh200,
        "N6b": _gigabytes(read_requests(gh200, lines)),
        "N6c": to_gh200,
        "N6d": from_gh200,
        "N6e": _gigabytes(read_requests(gh200, lines)),
        "N6f": from_gh200,
    }


def request_shares(*, quick: bool) -> dict[str, float]:
    """EMOGI's requests on graphs of the same families, a hundred times smaller."""
    kronecker, uniform = (
        Search.of(load(QUICK if quick else name, directed=False, weights="none"))
        for name in (KRONECKER, UNIFORM)
    )
    naive = kronecker.naive(WIDE, kept=True)
    merged, aligned = kronecker.merged(WIDE), kronecker.aligned(WIDE)
    v100 = MACHINES["v100"]
    wide, narrow = (read_requests(v100, kronecker.aligned(size).requests) for size in (WIDE, NARROW))
    return {
        "Z9": 100 * (1 - share(naive, 32)),
        "Z10a": 100 * share(merged, 128),
        "Z11a": share(aligned, 128) / share(merged, 128),
        "Z11b": share(uniform.aligned(WIDE), 128) / share(uniform.merged(WIDE), 128),
        "Z12a": 100 * removed(naive, merged),
        "Z12b": 100 * removed(merged, aligned),
        "Z14d": aligned.bytes / (WIDE * aligned.edges),
        "Z16": wide.seconds / narrow.seconds,
    }


def _gigabytes(transfer: Transfer) -> float:
    return transfer.rate / 1e9


def _both_ways(machine: Machine) -> float:
    """Return GB/s in each direction when as much is copied either way: requests share the wire with writes."""
    down, up = copy_to_device(machine, GIB), copy_to_host(machine, GIB)
    busiest = max(down.times["link down"], down.times["link up"] + up.times["link up"])
    return GIB / busiest / 1e9


_PROGRAMS = "a figure of other programs than graph searches; their accesses are not published with it"
_PRESET = "no preset: memory, multiprocessors and host of this module are not published"
_WORKLOADS = "needs the accesses of the paper's own test programs, not answered yet"

REASONS = {
    "Z10b": "a figure of one graph whose degrees are not at hand",
    "Z17": "a mean over graphs and programs; Z13c is its part for BFS",
    "Z18": "ten times of two systems on the paper's graphs, which cannot be run here",
    **dict.fromkeys(("N7a", "N7b"), _PRESET),
    "U1": "the driver's costs are set by it (grapin.sim.paging), so the model cannot predict it",
    "U2": "a parameter of the model (faults_per_utlb), not an answer of it",
    **dict.fromkeys(("U3", "U4a", "U4b", "U5c", "U6c", "U6e"), _PROGRAMS),
    **dict.fromkeys(("U5a", "U5b", "U5d", "U6a", "U6b", "U6d", "U7"), _WORKLOADS),
    "U8": "a parameter of another model, not a measurement; the driver's costs are set by it",
}
"""Why a row has no answer."""
