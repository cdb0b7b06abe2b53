"""Findings made up by hand: what a report is tried on where no run is needed."""

from collections.abc import Sequence
from dataclasses import replace

from grapin.counters import Counters
from grapin.report import Crossing, Findings
from grapin.sim.machine import MACHINES
from grapin.sim.predict import Combination
from grapin.sim.prediction import Costs, Prediction, Seconds
from grapin.system import SYSTEMS

NAMES = ("bounded", "grapin", "emogi")
CACHES = ("10%", "40%")


def made_up(
    graph: str = "rmat:4",
    *,
    programs: Sequence[str] = ("sssp", "pagerank"),
    machines: Sequence[str] = ("a5000", "gh200"),
    system: str = "emogi",
    sizes: Sequence[int] = (1000, 3000, 9000),
) -> Findings:
    """Return a report's findings, in which each system, cache and machine differs from each other.

    `sizes` are the requests a batch of the three systems; `system` is what the last of them is called.
    """
    known = {name: SYSTEMS[name] for name in NAMES[:2]} | {system: replace(SYSTEMS["emogi"], name=system)}
    predictions = []
    for speed, machine in enumerate(machines, 1):
        for (name, model), size in zip(known.items(), sizes, strict=True):
            for room, cache in enumerate((None, *CACHES) if model.cache != "none" else (None,), 1):
                combination = Combination(model, replace(MACHINES["a5000"], name=machine), cache)
                phases = _phases(size // room, speed, len(programs))
                versions = tuple(version for version in range(3) for _ in programs)
                predictions.append(
                    (combination, Prediction(name, machine, str(cache), 28e9, versions, tuple(phases)))
                )
    return Findings(
        graph=graph,
        facts={"graph": graph, "seed": "0"},
        checks=["Every value of it."],
        programs=programs,
        batch="40 mutations of 10,000 edges",
        phase_programs=dict.fromkeys({str(one.repair) for one in known.values()}, [*programs] * 3),
        crossings=[
            Crossing(program, name, [0.001, 0.002], [Counters(requests_128=size)] * 2, 10_000)
            for program in programs
            for name, size in zip(known, sizes, strict=True)
        ],
        predictions=predictions,
        edge_bytes=2**20,
    )


def _phases(size: int, speed: int, programs: int) -> list[Costs]:
    return [
        Costs(
            Counters(requests_128=size, load_bytes=128 * (size // 4)),
            wire_to_device=150 * size,
            iterations=1,
            seconds=Seconds(link=size * 1e-8 / speed, device=size * 1e-9, launches=1e-5),
        )
        for size in (size * (place + 1) for place in range(3 * programs))
    ]
