"""Every prediction as numbers and as text, for the view in which the reader chooses.

The text is made here, so that the page writes numbers as the command line does and its script knows no units.
"""

from itertools import product
from typing import Any

from grapin.report.findings import Findings, batch_count
from grapin.report.palette import KIND_COLOURS, PART_COLOURS, system_colours
from grapin.sim.prediction import PARTS, Prediction
from grapin.units import format_bytes, format_count, format_seconds


def choices(findings: Findings) -> dict[str, Any]:
    """Return what the view's script needs: what can be chosen, and an outcome for each choice that was tried."""
    found = {}
    for machine, system, answer, cache in product(
        findings.machines, findings.systems, findings.answers, findings.caches
    ):
        prediction = findings.prediction(machine, system, answer, cache)
        if prediction is not None:
            found[f"{machine}|{system}|{answer}|{cache}"] = outcome(prediction)
    return {
        "machines": {name: describe_machine(findings, name) for name in findings.machines},
        "systems": {
            name: {"colour": colour, "summary": findings.systems[name].summary}
            for name, colour in system_colours(findings.systems).items()
        },
        "answers": list(findings.answers),
        "caches": list(findings.caches),
        "partColours": PART_COLOURS,
        "kindColours": KIND_COLOURS,
        "outcomes": found,
    }


def outcome(prediction: Prediction) -> dict[str, Any]:
    """Return what a batch costs in the mean, and what the first values cost."""
    count = batch_count(prediction)
    batches = prediction.batches
    seconds = batches.seconds.total / count
    requests = sum(batches.counters.requests.values()) / count
    busy = prediction.rate * batches.seconds.total
    return {
        "seconds": seconds,
        "bytes": batches.bytes / count,
        "kinds": {kind: size / count for kind, size in batches.bytes_by_kind.items()},
        "kindText": {kind: format_bytes(size / count) for kind, size in batches.bytes_by_kind.items()},
        "parts": {part: getattr(batches.seconds, part) / count for part in PARTS},
        "text": {
            "bytes": format_bytes(batches.bytes / count),
            "requests": format_count(round(requests)),
            "rounds": format_count(round(batches.iterations / count)),
            "wire": format_bytes(batches.wire_to_device / count),
            "seconds": format_seconds(seconds),
            "start": format_seconds(prediction.start.seconds.total),
            "used": f"{batches.wire_to_device / busy:.0%}" if busy else "0%",
            "dominant": batches.seconds.dominant,
        },
    }


def describe_machine(findings: Findings, name: str) -> str:
    """Say what a machine is in a few words."""
    machine = findings.machines[name]
    rate = f"{machine.link.rate / 1e9:.3g} GB/s"
    guessed = ", ".join(f"{one.name} {one.text}" for one in machine.unsourced())
    marked = f"; without a source: {guessed}" if guessed else ""
    return f"{machine.gpu.name}, {format_bytes(machine.gpu.memory)}, link of {rate}{marked}"
