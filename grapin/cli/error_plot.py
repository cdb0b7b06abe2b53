"""Predicted over measured as a figure: a point for each kind, one where both agree."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from grapin.measured.comparing import Row


def plot_errors(compared: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Draw the ratio of every kind that was measured and is not 0, a marker for each run."""
    from matplotlib.figure import Figure

    shown = {
        title: {f"{row.kind} ({row.source})": row.predicted / row.measured for row in rows if row.measured}
        for title, rows in compared.items()
    }
    names = list(dict.fromkeys(name for ratios in shown.values() for name in ratios))
    figure = Figure(figsize=(9, 1.8 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(1.0, color="#8d8d8d", linewidth=1)
    for marker, (title, ratios) in zip("osD^vP*X" * len(shown), shown.items(), strict=False):
        places = [names.index(name) for name in ratios]
        axes.plot(list(ratios.values()), places, marker, label=title, alpha=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("predicted over measured")
    figure.legend(loc="outside lower center")
    figure.savefig(path)
