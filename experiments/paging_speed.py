"""How fast is the replay of unified memory, and how near to what was measured does it stream?

Speeds are page touches a second of processor time, on what shortest paths read of an R-MAT graph (see
`experiments.read_amplification`), where it fits and where it does not.
"""

from collections.abc import Iterator, Sequence
from time import process_time

import numpy as np

from experiments.lib.bars import Bar, figures, kept, number, percents, sentence, span, told
from experiments.lib.experiment import Experiment
from experiments.lib.frontiers import static_trace
from experiments.read_amplification import GENERATED, QUICK, Case
from experiments.reads import weighted
from grapin.generators import generate
from grapin.sim import MACHINES
from grapin.sim.transfer.unified import replay_unified

TOUCHES = 2e6
STREAMING = 9.11
"""GB/s through unified memory on a V100 (EMOGI, figure 4)."""
READ_MOSTLY = 0.47
"""What of the transfers the advice saves (Subway, section 4.1)."""
SLOWER = "2 million touches/s over ours"
STREAMED, ERROR = "streaming on a V100", "streaming on a V100: error"
SAVED = "read-mostly: share of both ways' bytes saved"


def bars(*, quick: bool) -> list[Bar]:
    """Measure speeds, then what the model answers."""
    case = Case("static", static_trace(weighted(generate(QUICK if quick else GENERATED))))
    case.moved(1.0)
    found = []
    for name, ratio in (("fits", 0.1), ("is twice as large", 2.0)):
        begin = process_time()
        touches = case.moved(ratio).touches
        rate = touches / (process_time() - begin)
        remark = f"{rate / 1e6:.1f} million page touches a second"
        found.append(Bar(f"a graph that {name}: {SLOWER}", TOUCHES / rate, "x", 1.0, remark))
    return [*found, *_streaming(), _advice(case)]


def _streaming() -> Iterator[Bar]:
    lists = np.arange(2**19, dtype=np.int64)
    trace = static_trace(weighted(generate("path:2")))
    nothing = np.zeros(len(lists), np.int32)
    trace.reads.update(
        phase=nothing,
        iteration=nothing,
        vertex=nothing,
        inward=nothing.astype(np.bool_),
        start=32 * lists,
        length=nothing + 32,
        arrays=np.ones(len(lists), np.uint8),
        cached=nothing.astype(np.bool_),
    )
    trace.phases["out_slots"] = np.array([32 * len(lists)])
    total = replay_unified(trace, MACHINES["v100"]).total
    rate = total.bytes_in / total.seconds / 1e9
    yield Bar(STREAMED, rate, "GB/s", published=STREAMING, remark="nothing is fitted to it")
    yield Bar(ERROR, abs(rate / STREAMING - 1), "x", 0.1)


def _advice(case: Case) -> Bar:
    plain, copies = (case.moved(2.0, advice=advice) for advice in ("none", "read-mostly"))
    saved = 1 - (copies.bytes_in + copies.bytes_out) / (plain.bytes_in + plain.bytes_out)
    return Bar(SAVED, saved, "x", published=READ_MOSTLY)


def _answer(bars: Sequence[Bar]) -> str:
    rate = told("it streams {} against", span(figures(bars, STREAMED), digits=3))
    off = told("it streams {} off", percents(figures(bars, ERROR)))
    saved = percents(figures(bars, SAVED))
    return sentence(
        told(
            "the replay follows {} million page touches a second",
            span((TOUCHES / 1e6 / figure for figure in figures(bars, SLOWER)), digits=3),
        ),
        f"{rate or off} the {number(STREAMING, 3)} GB/s that were measured on a V100",
        told(f"read-mostly advice saves {{}} of the bytes (published {percents([READ_MOSTLY])})", saved),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="paging_speed",
    question="How fast is the replay of unified memory, and how near to what was measured does it stream?",
    source="EMOGI, figure 4; Subway, section 4.1",
    measure=bars,
    answer=_answer,
    difference=(
        "a batch of faults is charged at what was published for a lone one on another GPU, and nothing is fitted to "
        "EMOGI's rate; Subway's graphs are others than the one here."
    ),
    configuration={"graph": GENERATED},
)
