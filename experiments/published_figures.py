"""What the model says beside what others published: predicted, published, error, row by row; none is left out.

    python -m experiments.published_figures [--quick]

The rows are in `published_figures.csv` with their sources; what answers each is in `published_answers.py` and the two
files it takes from, and why the others have no answer. A range counts as hit inside; outside, the error is to its
nearer end. Bars are the rows that the model must keep.
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.lib.bars import Bar, Place, Record, bars_of, kept, number, print_bars, sentence
from experiments.lib.drawing import figure_of
from experiments.lib.experiment import Experiment
from experiments.lib.published_answers import REASONS, answers
from experiments.lib.records import RECORDS, measured, write

TABLE = Path(__file__).with_suffix(".csv")
LIMITS = {"Z1": 2.0, "Z2": 2.0, "Z3": 2.0, "Z4": 3.0, "Z5": 10.0}
"""Percent by which these may be off; all else is there to be seen."""
CLOSE, NEAR, FAR = 2.0, 10.0, 25.0
"""Percent that the answer counts by."""
SOURCES = {
    "Z": "EMOGI, on a V100 and an A100",
    "N": "copies and reads on other links, from benchmark logs",
    "M": "a GPU's own counters",
    "G": "Grapin",
    "H": "HyTGraph",
    "S": "Subway",
}
"""What rows are about, by the letter that their names begin with."""


@dataclass(frozen=True)
class Published:
    """One row: a number that somebody measured or stated, or a range of them."""

    id: str
    quantity: str
    low: float | None
    high: float | None
    unit: str
    hardware: str
    source: str
    status: str

    @property
    def text(self) -> str:
        """The number as it was published."""
        if self.low is None or self.high is None:
            return "a table"
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g}-{self.high:g}"

    def error(self, predicted: float) -> float:
        """Return by how many percent a prediction is off."""
        if self.low is None or self.high is None:
            raise ValueError(f"{self.id} has no number to be compared with")
        nearest = min(max(predicted, self.low), self.high)
        return 100 * (predicted / nearest - 1)


def published() -> dict[str, Published]:
    """Read all rows."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = [
            Published(
                row["id"],
                row["quantity"],
                float(row["low"]) if row["low"] else None,
                float(row["high"]) if row["high"] else None,
                row["unit"],
                row["hardware"],
                row["source"],
                row["status"],
            )
            for row in csv.DictReader(file)
        ]
    return {row.id: row for row in rows}


def print_table(rows: Mapping[str, Published], predicted: Mapping[str, float]) -> None:
    """Print answered rows with their errors, then the others with the reason."""
    print(f"{'':5}{'predicted':>10} {'published':>12} {'unit':7}{'error':>8}  quantity (hardware; source)")
    for name, row in rows.items():
        if name in predicted:
            figure, where = predicted[name], f"{row.quantity} ({row.hardware}; {row.source})"
            print(f"{name:5}{figure:>10.4g} {row.text:>12} {row.unit:7}{row.error(figure):>+7.1f}%  {where}")
    print("\nNot answered:")
    for name, row in rows.items():
        if name not in predicted:
            print(f"{name:5}{row.text:>12} {row.unit:7} {row.quantity}: {REASONS[name]}")


def bars(rows: Mapping[str, Published], predicted: Mapping[str, float]) -> list[Bar]:
    """Return every answered row as a bar; the error's size is the figure."""
    return [
        Bar(
            f"{name} {row.quantity}",
            abs(row.error(predicted[name])),
            "% off",
            LIMITS.get(name),
            f"predicted {predicted[name]:.4g}, published {row.text} {row.unit}: {row.source}",
        )
        for name, row in rows.items()
        if name in predicted
    ]


def measure(*, quick: bool) -> list[Bar]:
    """Ask the model for every row that it can answer."""
    return bars(published(), answers(quick=quick))


def main() -> int:
    """Print the table of all rows and the bars, and record them; 1 if a bar is not kept."""
    quick = "--quick" in sys.argv
    rows, predicted = published(), answers(quick=quick)
    print_table(rows, predicted)
    found = bars(rows, predicted)
    print()
    print_bars("Rows that the model must keep", [bar for bar in found if bar.limit is not None])
    answered = replace(EXPERIMENT, measure=lambda *, quick: found)  # noqa: ARG005 - it was measured as asked
    write(EXPERIMENT, measured(answered, quick=quick), RECORDS)
    return int(any(bar.verdict == "FAIL" for bar in found))


def _answer(bars: Sequence[Bar]) -> str:
    errors = [bar.figure for bar in bars]
    close, near = (sum(error <= most for error in errors) for most in (CLOSE, NEAR))
    far = sum(error > FAR for error in errors)
    return sentence(
        f"of {len(errors)} figures {close} are within {CLOSE:g} %, {near} within {NEAR:g} %, "
        f"{far} more than {FAR:g} % off, the worst {number(max(errors))} %",
        kept(bars),
    )


def _draw(title: str, record: Record) -> Any:
    """Draw the errors, source by source."""
    rows = [replace(bar, place=Place(SOURCES[bar.name[0]], "the model", bar.name)) for bar in bars_of(record)]
    return figure_of(title, rows, x="% off", linear=True)


EXPERIMENT = Experiment(
    name="published_figures",
    question="How far is the transfer model from every figure that others published?",
    source="each row names its own",
    measure=measure,
    answer=_answer,
    draw=_draw,
    difference="`published_answers.py` says row by row what is modelled, and why the others have no answer.",
)

if __name__ == "__main__":
    sys.exit(main())
