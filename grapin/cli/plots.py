"""Predictions as a figure: how long, and how many bytes, a bar for each combination."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from grapin.errors import InvalidArgument, MissingDependency
from grapin.sim.prediction import PARTS, Prediction

_FORMATS = (".svg", ".png", ".pdf")
_COLOURS = dict(
    zip((*PARTS, "nothing"), ("#3b6fb6", "#5aa469", "#c8553d", "#d9a441", "#8d8d8d", "#cccccc"), strict=True)
)


def check_plot(file: str) -> None:
    """Refuse a file that cannot be drawn, before anything is computed."""
    if Path(file).suffix not in _FORMATS:
        raise InvalidArgument(f"plot={file!r} must end in {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}")
    if find_spec("matplotlib") is None:
        raise MissingDependency("--plot needs matplotlib: pip install 'grapin[plot]'")


def plot(predictions: Sequence[Prediction], title: str, path: Path) -> None:
    """Draw one bar a prediction; its colour says which part takes most of the time."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    names = [_name(one) for one in predictions]
    figure = Figure(figsize=(10, 1.6 + 0.32 * len(predictions)), layout="constrained")
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
    figure.savefig(path)


def _name(one: Prediction) -> str:
    return f"{one.machine}, {one.system}" + ("" if one.cache == "none" else f", {one.cache}")
