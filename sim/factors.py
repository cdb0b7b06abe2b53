"""Factors: a cost as what is physical about it, each of which changes slowly with a graph's size or not at all.

Lists that are read, elements of a list, the part of them that the device holds, bytes requested for each element that
it does not, how those bytes divide among requests, pages touched by a list, bytes moved for each of them, headers for
a byte. `costs_of` multiplies them out again, so that whatever becomes of the factors, the orders and sums hold that
hold of every cost: no wire is below its payload, nothing is held that is not read, requests by size are the bytes,
parts are the time.
"""

from grapin.counters import REQUEST_SIZES, Counters
from grapin.sim.prediction import PARTS, Costs, Seconds

PARTS_OF_ONE = frozenset({"edges held", "lists held", "hidden", *(f"part {size}" for size in REQUEST_SIZES)})
"""Factors that are parts of something."""
Factors = dict[str, float]


def factors_of(costs: Costs, rate: float) -> Factors:
    """Take a cost apart; a factor of something that there is none of is 0."""
    counters, seconds = costs.counters, costs.seconds
    edges, lists, requested = counters.edges, counters.lists, counters.bytes
    parts = [getattr(seconds, part) for part in PARTS]
    moved = costs.migrated_bytes
    return {
        "lists": lists,
        "length": _over(edges, lists),
        "edges held": _over(counters.cached_edges, edges),
        "lists held": _over(counters.cached_lists, lists),
        "requested": _over(requested - counters.load_bytes, edges - counters.cached_edges),
        "loads": _over(counters.loads, lists),
        "loaded": _over(counters.load_bytes, edges),
        **{f"part {size}": _over(size * count, requested) for size, count in counters.requests.items()},
        "touched": _over(counters.pages, lists),
        "patched": _over(counters.patch_bytes, edges),
        "copied": _over(counters.copied_bytes, edges),
        "migrated": _over(moved, counters.pages),
        "written back": _over(costs.evicted_bytes, moved),
        "faults": _over(costs.faults, moved),
        "evictions": _over(costs.evictions, moved),
        "headers": max(0.0, _over(costs.wire_to_device, costs.bytes) - 1.0),
        "upward": _over(costs.wire_to_host, costs.bytes),
        "iterations": costs.iterations,
        "waiting": _over(max(0.0, seconds.link - costs.wire_to_device / rate), costs.iterations),
        "device": _over(seconds.device, edges),
        "driver": _over(seconds.faults, moved),
        "host": _over(seconds.host, edges),
        "launches": _over(seconds.launches, costs.iterations),
        "hidden": min(1.0, _over(seconds.hidden, sum(parts) - max(parts))),
    }


def costs_of(factors: Factors, rate: float) -> Costs:
    """Put a cost together from its factors."""
    lists = round(factors["lists"])
    edges = round(factors["length"] * lists)
    held = round(factors["edges held"] * edges)
    loaded = factors["loaded"] * edges
    requests = _requests(factors, factors["requested"] * (edges - held) + loaded)
    counters = Counters.of(edges, lists, requests, round(factors["touched"] * lists))
    counters += Counters(
        cached_edges=held,
        cached_lists=round(factors["lists held"] * lists),
        loads=round(factors["loads"] * lists),
        load_bytes=min(round(loaded), counters.bytes),
        patch_bytes=round(factors["patched"] * edges),
        copied_bytes=round(factors["copied"] * edges),
    )
    moved = round(factors["migrated"] * counters.pages)
    payload = counters.link_bytes + moved
    wire = payload + round(factors["headers"] * payload)
    iterations = round(factors["iterations"])
    parts = {
        "link": wire / rate + factors["waiting"] * iterations,
        "device": factors["device"] * edges,
        "faults": factors["driver"] * moved,
        "host": factors["host"] * edges,
        "launches": factors["launches"] * iterations,
    }
    hidden = factors["hidden"] * (sum(parts.values()) - max(parts.values()))
    return Costs(
        counters,
        migrated_bytes=moved,
        evicted_bytes=round(factors["written back"] * moved),
        evictions=round(factors["evictions"] * moved),
        faults=round(factors["faults"] * moved),
        wire_to_device=wire,
        wire_to_host=round(factors["upward"] * payload),
        iterations=iterations,
        seconds=Seconds(**parts, hidden=hidden),
    )


def _requests(factors: Factors, size: float) -> list[int]:
    """Divide bytes among requests; the parts are made to add up to one."""
    parts = [factors[f"part {one}"] for one in REQUEST_SIZES]
    whole = sum(parts)
    return [
        round(part / whole * size / one) if whole else 0
        for part, one in zip(parts, REQUEST_SIZES, strict=True)
    ]


def _over(amount: float, base: float) -> float:
    return amount / base if base > 0 else 0.0
