"""What do building a graph and applying batches cost?

    python -m experiments.foundation [--quick]

Times are medians and are compared within one run, since machines differ and are shared; what runs in one
thread is measured in processor time.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from experiments.bars import Bar
from experiments.building import build_bars
from experiments.experiment import Experiment
from experiments.mutating import growth_bar, largest_hubs_bars, one_hub_bar, size_bars
from grapin.generators import generate
from grapin.graph import Graph
from grapin.stream import workload


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    graph: str
    small: str
    sizes: tuple[int, ...]
    mutations: int


FULL = Setting("rmat:20:16", "rmat:16:16", (1000, 10_000, 100_000), 1_000_000)
QUICK = Setting("rmat:14:16", "rmat:12:16", (100, 1000), 10_000)


def compile_all() -> None:
    """Run everything once on a small graph, so that no measurement contains compilation."""
    stream = workload(generate("rmat:8"), size=100)
    graph: Graph = stream.graph()
    for batch in stream:
        graph.apply(batch)


def bars(*, quick: bool) -> Iterator[Bar]:
    """Measure everything, from building to hubs."""
    setting = QUICK if quick else FULL
    compile_all()
    edges = generate(setting.graph)
    yield from build_bars(edges)
    yield from size_bars(edges, setting.sizes)
    yield growth_bar(edges, setting.small, setting.sizes[1])
    yield one_hub_bar(edges, setting.mutations, setting.sizes[1])
    yield from largest_hubs_bars(setting.sizes[1] // 2)


EXPERIMENT = Experiment(
    name="foundation",
    question="What do building a graph and applying batches cost, beside SciPy and NetworKit?",
    measure=bars,
    configuration=asdict(FULL),
)

if __name__ == "__main__":
    sys.exit(EXPERIMENT.main())
