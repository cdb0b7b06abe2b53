"""Figures from records, as files; the same bytes from the same record and the same library."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from typing import Any

from experiments.bars import Bar, Record, bars_of
from experiments.experiment import Experiment
from experiments.marks import LOOK
from experiments.panels import figure_of
from experiments.placing import placed

_CLIP = re.compile(rb"\bp[0-9a-f]{10}\b")


def can_draw() -> bool:
    """Tell whether the library that draws is here; without it figures are left as they are."""
    return find_spec("matplotlib") is not None


def drawn(experiment: Experiment, record: Record) -> bytes:
    """Draw a record as its experiment says, else all of its rows, as an SVG without a date."""
    import matplotlib as mpl

    style: Any = LOOK
    with mpl.rc_context(style):
        figure = experiment.draw(record) if experiment.draw else _every_row(experiment, bars_of(record))
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Title": experiment.question})
    return _renamed(file.getvalue())


def _renamed(image: bytes) -> bytes:
    """Number the clipping areas: they are named after all digits of their place, of which the last are by chance."""
    found = dict.fromkeys(_CLIP.findall(image))
    names = {name: b"clip%d" % number for number, name in enumerate(found)}
    return _CLIP.sub(lambda match: names[match[0]], image)


def _every_row(experiment: Experiment, bars: Sequence[Bar]) -> Any:
    return figure_of(experiment.question, placed(bars), rival=experiment.rival)
