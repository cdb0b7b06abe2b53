"""Does it matter how much of a batch is deletions? Two programs under three systems, from none to nothing else.

Ten batches of 100K mutations, on two graphs that stand in for uk-2007; times are predicted for Grapin's machine and for
the size of its graph (`varying.py`). Grapin does not name the graph. A miniature's batch has about a hundred mutations.
"""

from collections.abc import Iterator, Sequence

from experiments.lib.bars import Bar
from experiments.lib.drawing import panels
from experiments.lib.experiment import Experiment
from experiments.lib.grapin_runs import BATCH, BATCHES, EDGES, MACHINE, Miniature, miniatures
from experiments.lib.varying import PROGRAMS, SYSTEMS, span, time_bars

ORIGINAL = "UK"  # ours
DELETIONS, QUICK_DELETIONS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 1.0)
LONGEST = "longest over shortest time"


def line_bars(miniature: Miniature, program: str, *, quick: bool) -> Iterator[Bar]:
    """Run batches of all kinds, then compare them."""
    found: list[Bar] = []
    for part in QUICK_DELETIONS if quick else DELETIONS:
        stream = miniature.stream(insertions=1 - part)
        for bar in time_bars(miniature, program, stream, 100 * part, f"{part:.0%} deletions"):
            found.append(bar)
            yield bar
    for system in SYSTEMS:
        times = [bar.figure for bar in found if bar.place is not None and bar.place.line == system]
        yield Bar(
            f"{PROGRAMS[program]} on {miniature.title}, {system}: {LONGEST}",
            max(times) / max(min(times), 1e-9),
            "x",
        )


def bars(*, quick: bool) -> Iterator[Bar]:
    """Measure the graphs that are at hand."""
    for miniature in miniatures(quick=quick, names=(ORIGINAL,)):
        for program in PROGRAMS:
            yield from line_bars(miniature, program, quick=quick)


def _answer(bars: Sequence[Bar]) -> str:
    def said(name: str) -> str:
        return ", ".join(f"{span(bars, name, f'{system}: {LONGEST}')} under {system}" for system in SYSTEMS)

    return (
        "whatever part of a batch is deletions, from none to all, the longest time over the shortest is for SSSP "
        f"{said('SSSP')}; for PageRank {said('PageRank')}. Published: consistent, without a figure"
    )


EXPERIMENT = Experiment(
    name="figure13",
    question="Does it matter how much of a batch is deletions?",
    source="Grapin, Figure 13 and section 7.3",
    measure=bars,
    difference=(
        "Grapin gives no figures beside the drawing. For SSSP the published repair makes a pass over all edges, "
        "whatever a batch is: as consistent as it says. Bounded, which follows what changes, takes next to nothing "
        "beside it and takes longer the more is deleted. Under the published repair PageRank takes longest where all "
        "is deleted, and on R-MAT least where a quarter or half is; why, we have not looked into."
    ),
    answer=_answer,
    draw=panels(x="deletions, % of a batch", y="s for ten batches"),
    configuration={
        "original": ORIGINAL,
        "edges": EDGES,
        "batches": BATCHES,
        "batch": BATCH,
        "machine": MACHINE,
    },
)
