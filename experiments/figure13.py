"""Does it matter how much of a batch is deletions? Two programs under three systems, from none to nothing else.

    python -m experiments.figure13 [--quick]

Ten batches of 100K mutations, on graphs that stand in for twitter-2009; times are predicted for Grapin's machine and
for the size of its graph (`varying.py`).
"""

import sys
from collections.abc import Iterator, Sequence

from experiments.bars import Bar
from experiments.experiment import Experiment
from experiments.grapin_runs import BATCH, BATCHES, MACHINE, Miniature, miniatures
from experiments.panels import panels
from experiments.varying import EDGES, PROGRAMS, SYSTEMS, span, time_bars

QUESTION = "Does it matter how much of a batch is deletions?"
ORIGINAL = "TW"  # ours: Grapin does not name the graph
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
    for miniature in miniatures(quick=quick, edges=EDGES, names=(ORIGINAL,)):
        for program in PROGRAMS:
            yield from line_bars(miniature, program, quick=quick)


def _answer(bars: Sequence[Bar]) -> str:
    said = ", ".join(f"{system} {span(bars, '', f'{system}: {LONGEST}')}" for system in SYSTEMS)
    return f"the longest time over the shortest, whatever part of a batch is deletions: {said} (published: consistent)"


EXPERIMENT = Experiment(
    name="figure13",
    question=QUESTION,
    source="Grapin, Figure 13 and section 7.3",
    measure=bars,
    difference=(
        "Grapin gives no figures beside the drawing. For SSSP the published repair makes a pass over all edges, "
        "whatever a batch is: as consistent as it says. Bounded, which follows what changes, takes next to nothing "
        "beside it and differs more. PageRank takes longest where all is inserted or all deleted, probably because "
        "changes of one sign do not cancel."
    ),
    answer=_answer,
    draw=panels(QUESTION, x="deletions, % of a batch", y="s for ten batches"),
    configuration={
        "original": ORIGINAL,
        "edges": EDGES,
        "batches": BATCHES,
        "batch": BATCH,
        "machine": MACHINE,
    },
)

if __name__ == "__main__":
    sys.exit(EXPERIMENT.main())
