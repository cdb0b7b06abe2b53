"""Predictions as pictures: one of them phase by phase, or several beside each other, a bar for each combination."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grapin.display import new_figure
from grapin.sim.prediction import PARTS, Prediction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = dict(
    zip((*PARTS, "nothing"), ("#3b6fb6", "#5aa469", "#c8553d", "#d9a441", "#8d8d8d", "#cccccc"), strict=True)
)


def plot_predictions(predictions: Sequence[Prediction], title: str) -> "Figure":
    """Draw one bar a prediction; its colour says which part takes most of the time."""
    from matplotlib.patches import Patch

    names = [_name(one) for one in predictions]
    figure = new_figure(10, 1.6 + 0.32 * len(predictions))
    times, sizes = figure.subplots(1, 2, sharey=True)
    colours = [_COLOURS[one.dominant] for one in predictions]
    times.barh(names, [one.seconds * 1e3 for one in predictions], color=colours)
    times.set_xlabel("time of all phases, ms")
    sizes.barh(names, [one.total.bytes / 2**20 for one in predictions], color=colours)
    sizes.set_xlabel("bytes to the device, MiB")
    times.invert_yaxis()
    seen = list(dict.fromkeys(one.dominant for one in predictions))
    figure.legend(
        handles=[Patch(color=_COLOURS[part], label=f"mostly {part}") for part in seen],
        loc="outside lower center",
        ncols=len(seen),
    )
    figure.suptitle(title, fontsize="medium")
    return figure


def plot_prediction(prediction: Prediction) -> "Figure":
    """Draw for the start and each batch what its time is made of, and the bytes that cross the link."""
    versions = list(dict.fromkeys(prediction.versions))
    names = ["start", *(str(number) for number in range(1, len(versions)))]
    figure = new_figure(10, 4)
    times, sizes = figure.subplots(1, 2)
    bottom = np.zeros(len(versions))
    for part in PARTS:
        heights = _sums(prediction, [1e3 * getattr(costs.seconds, part) for costs in prediction.phases])
        if heights.any():
            times.bar(names, heights, bottom=bottom, color=_COLOURS[part], label=part)
            bottom += heights
    whole = _sums(prediction, [1e3 * costs.seconds.total for costs in prediction.phases])
    times.plot(names, whole, "k_", markersize=14, label="in all: parts overlap")
    times.set_ylabel("time, ms")
    times.legend()
    sizes.bar(names, _sums(prediction, [costs.bytes / 2**20 for costs in prediction.phases]))
    sizes.set_ylabel("bytes to the device, MiB")
    for axes in (times, sizes):
        axes.set_xlabel("batch")
    figure.suptitle(_name(prediction), fontsize="medium")
    return figure


def _sums(prediction: Prediction, values: Sequence[float]) -> np.ndarray:
    """Add up the phases of each version of the graph: a batch has one for each program."""
    _, place = np.unique(prediction.versions, return_inverse=True)
    return np.bincount(place, weights=values)


def _name(one: Prediction) -> str:
    return f"{one.machine}, {one.system}" + ("" if one.cache == "none" else f", {one.cache}")
