"""An experiment: one question, what answers it, and what others published beside it.

A module of `experiments` is one when it declares one:

    EXPERIMENT = Experiment(name="growth", question="Does a batch cost what it changes?", measure=bars)

All else (running, printing, records, figures, the table of answers) is done with what is declared.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Protocol

from experiments.lib.bars import Bar, Record, kept, number, sentence, span
from grapin.errors import MissingDependency
from grapin.validation import check_choice

FOLDER = Path(__file__).resolve().parents[1]
_DECLARED = re.compile(r"^EXPERIMENT = ", re.MULTILINE)


class Measure(Protocol):
    """What an experiment does; as a generator it shows how far it is."""

    def __call__(self, *, quick: bool) -> Iterable[Bar]:
        """Return or yield the rows; quick means small and short, within seconds, to see that it runs."""


def summary(bars: Sequence[Bar]) -> str:
    """Say in one sentence how rows compare with what was published and with their limits."""
    said = []
    ratios = [bar.ratio for bar in bars if bar.ratio is not None and bar.ratio > 0]
    if ratios:
        mean = "" if len(ratios) == 1 else f", {number(geometric_mean(ratios))} in the mean of {len(ratios)}"
        said.append(f"ours is {span(ratios)} times the published{mean}")
    return sentence(*said, kept(bars))


@dataclass(frozen=True)
class Experiment:
    """One question and what answers it."""

    name: str
    """The module's."""
    question: str
    """One sentence."""
    measure: Measure
    source: str = ""
    """Who published what stands beside ours: paper, table or figure."""
    rival: str = "published"
    """What stands beside ours, in a word or two, where it is nothing that was published."""
    difference: str = ""
    """Where ours differs from the published and why, in a sentence or two."""
    answer: Callable[[Sequence[Bar]], str] = summary
    """The answer in one sentence, from the rows of a full run."""
    draw: Callable[[str, Record], Any] | None = None
    """A record as a matplotlib figure under its title; ours beside what was published, unless told otherwise."""
    seed: int = 1
    """Of everything that is drawn."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """What else the figures hang on: graphs, batch sizes, rounds."""


def names() -> list[str]:
    """Return the modules that declare an experiment; none is imported for it."""
    modules = sorted(FOLDER.glob("*.py"))
    return [path.stem for path in modules if _DECLARED.search(path.read_text(encoding="utf-8"))]


def check(name: str) -> None:
    """Refuse a name that no experiment has, and suggest the nearest."""
    check_choice("experiment", name, names())


def find(name: str) -> Experiment:
    """Return an experiment by its name."""
    check(name)
    try:
        experiment: Experiment = import_module(f"experiments.{name}").EXPERIMENT
    except ModuleNotFoundError as error:
        raise lacking(name, error) from error
    return experiment


def lacking(name: str, error: ModuleNotFoundError) -> MissingDependency:
    """Return what to say of an experiment that needs a library that is not here."""
    return MissingDependency(f"experiment {name!r} needs {error.name}: pip install 'grapin[bench,cluster]'")
