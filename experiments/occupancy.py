"""What every CUDA kernel needs on every GPU we name, and how full it can make a multiprocessor.

No GPU is needed, but the compiler is: `make test-cuda` installs it into `.venv-cuda`. Each kernel is compiled for each
compute capability and assembled; `--quick` does it for one program and two of them.
"""

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from experiments.lib.assembly import Needs, assemble
from experiments.lib.bars import Bar, figures, kept, percents, sentence, span, told
from experiments.lib.experiment import Experiment
from experiments.lib.kernel_catalogue import Entry, catalogue
from experiments.lib.multiprocessors import LIMITS, occupancy
from grapin.cli.tables import print_table
from grapin.kernels.cuda.assembly import to_ptx
from grapin.kernels.cuda.backend import THREADS
from grapin.progress import progress

LEAST_OCCUPIED = {(8, 0): 0.5, (9, 0): 0.5}
"""How full a kernel must at least be able to make a multiprocessor, by compute capability."""
LOCAL, SPILLED = "bytes of local memory of any kernel", "bytes spilled by any kernel"
EMPTY = "multiprocessor left empty by the worst kernel"
_entries: list[Entry] = []
"""What the processes that compile share: functions cannot be sent, but are there when a process is forked."""


class Row(NamedTuple):
    """One kernel on one GPU."""

    kernel: str
    program: str
    repair: str
    capability: tuple[int, int]
    needs: Needs


def occupied(needs: Needs, capability: tuple[int, int]) -> float:
    """Return the part of a multiprocessor's places for warps that a kernel fills when it is launched as ours are."""
    return occupancy(capability, threads=THREADS, registers=needs.registers, shared=needs.shared)


def rows(entries: Iterable[Entry], capabilities: Iterable[tuple[int, int]]) -> Iterator[Row]:
    """Compile and assemble everything, on all cores."""
    _entries[:] = entries
    work = [(place, capability) for place in range(len(_entries)) for capability in capabilities]
    with (
        multiprocessing.get_context("fork").Pool() as pool,
        progress("compiling kernels", len(work)) as advance,
    ):
        for row in pool.imap(_row, work):
            advance(1)
            yield row


def _row(task: tuple[int, tuple[int, int]]) -> Row:
    place, capability = task
    entry = _entries[place]
    needs = assemble(to_ptx(entry.function, entry.types, capability), capability)
    return Row(entry.function.__name__.rpartition("_")[0], entry.program, entry.repair, capability, needs)


def print_rows(found: list[Row]) -> None:
    """Print a line per kernel: registers and occupancy for each GPU, local memory where there is any."""
    capabilities = sorted({row.capability for row in found})
    kernels: dict[tuple[str, str, str], dict[tuple[int, int], Needs]] = {}
    for row in found:
        kernels.setdefault((row.kernel, row.program, row.repair), {})[row.capability] = row.needs
    print_table(
        f"registers a thread and occupancy with {THREADS} threads a block, by compute capability",
        (
            "kernel",
            "program",
            "repair",
            *(f"{major}.{minor}" for major, minor in capabilities),
            "local bytes",
        ),
        [
            (
                *name,
                *(f"{needs[one].registers} {occupied(needs[one], one):.0%}" for one in capabilities),
                str(max(each.stack for each in needs.values())),
            )
            for name, needs in kernels.items()
        ],
        names=3,
    )


def measure(*, quick: bool) -> list[Bar]:
    """Compile, print what each kernel needs, and judge the worst."""
    found = list(rows(catalogue("bfs" if quick else None), LEAST_OCCUPIED if quick else LIMITS))
    print_rows(found)
    return bars(found)


def bars(found: list[Row]) -> list[Bar]:
    """Hold the worst kernel against each limit."""
    measured = [
        Bar(LOCAL, max(row.needs.stack for row in found), "bytes", 0),
        Bar(SPILLED, max(row.needs.spilled for row in found), "bytes", 0),
    ]
    for capability, least in LEAST_OCCUPIED.items():
        full = {row: occupied(row.needs, row.capability) for row in found if row.capability == capability}
        worst = min(full, key=lambda row: full[row])
        name = f"{EMPTY}, {capability[0]}.{capability[1]}"
        remark = f"{worst.kernel} ({worst.program}): {worst.needs.registers} registers a thread"
        measured.append(Bar(name, 1 - full[worst], "", 1 - least, remark))
    return measured


def _answer(bars: Sequence[Bar]) -> str:
    local, spilled = (span(figures(bars, name), "bytes") for name in (LOCAL, SPILLED))
    return sentence(
        told("no kernel takes more than {} of local memory or spills more than {}", local, spilled),
        told("the worst leaves {} of a multiprocessor empty", percents(figures(bars, "", EMPTY))),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="occupancy",
    question="What does every CUDA kernel need on every GPU we name, and how full can it make a multiprocessor?",
    measure=measure,
    answer=_answer,
    configuration={"threads": THREADS, "capabilities": [f"{major}.{minor}" for major, minor in LIMITS]},
)
