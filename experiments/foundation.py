"""What do building a graph and applying batches cost?

Times are medians and are compared within one run, since machines differ and are shared; what runs in one
thread is measured in processor time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from experiments.lib.bars import Bar, figures, kept, sentence, span, told
from experiments.lib.building import build_bars
from experiments.lib.experiment import Experiment
from experiments.lib.filling import filling_bars
from experiments.lib.mutating import UNIT, growth_bar, largest_hubs_bars, one_hub_bar, size_bars
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
    yield from filling_bars(quick=quick)


def _answer(bars: Sequence[Bar]) -> str:
    ours, theirs = (
        span((bar.figure for bar in bars if bar.unit == UNIT and bar.name.startswith(beginning)), UNIT)
        for beginning in ("apply", "NetworKit")
    )
    return sentence(
        told(
            "building takes {} times SciPy's conversion", span(figures(bars, "over SciPy COO to CSR and CSC"))
        )
        + told(
            " and {} times the edges' memory at its peak", span(figures(bars, "", "peak memory of building"))
        ),
        told("a batch takes {}, edge by edge in NetworKit {}", ours, theirs),
        told("{} times as much a mutation on the larger graph", span(figures(bars, "", "batches of")))
        + told(", {} at hubs", span(figures(bars, "over uniform"))),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="foundation",
    question="What do building a graph and applying batches cost, beside SciPy and NetworKit?",
    measure=bars,
    answer=_answer,
    configuration=asdict(FULL),
)
