"""What notebooks show: a table for a value, a picture for a plot, a page within the page.

Notebooks ask a value for `_repr_html_`; where nobody asks, none of this runs.
Matplotlib is loaded when something is drawn.
"""

from collections.abc import Mapping
from html import escape
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grapin.errors import InvalidArgument, MissingDependency

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
_STYLE = "text-align:left;padding:0.1em 1em 0.1em 0"


class Shown:
    """A value that a notebook shows as a table of a few facts."""

    def _facts(self) -> Mapping[str, str]:
        """Return what there is to say, in the order in which it is read."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts())


def html_table(title: str, facts: Mapping[str, str]) -> str:
    """Return a table of two columns as HTML, all text escaped."""
    rows = "".join(
        f'<tr><th scope="row" style="{_STYLE}">{escape(name)}</th><td style="{_STYLE}">{escape(fact)}</td></tr>'
        for name, fact in facts.items()
    )
    return f'<table><caption style="{_STYLE};font-weight:bold">{escape(title)}</caption>{rows}</table>'


def embedded(page: str, title: str, height: int = 800) -> str:
    """Return a whole HTML page as an element of another: it keeps its styles and scripts, and sees nothing outside."""
    return (
        f'<iframe title="{escape(title)}" srcdoc="{escape(page)}" sandbox="allow-scripts" loading="lazy" '
        f'style="width:100%;height:{height}px;border:1px solid #ccc"></iframe>'
    )


def check_plot(file: str) -> None:
    """Refuse a file that cannot be drawn, before anything is computed."""
    if Path(file).suffix not in FORMATS:
        raise InvalidArgument(f"plot={file!r} must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    if find_spec("matplotlib") is None:
        raise MissingDependency("--plot needs matplotlib: pip install 'grapin[plot]'")


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of matplotlib, which a notebook shows by itself and `savefig` saves."""
    if find_spec("matplotlib") is None:
        raise MissingDependency("plots need matplotlib: pip install 'grapin[plot]'")
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that belongs to no window, shown as SVG."""

        def _repr_html_(self) -> str:
            text = StringIO()
            self.savefig(text, format="svg")
            return text.getvalue().partition("?>")[2]

    made: Any = Picture(figsize=(width, height), layout="constrained")
    figure: Figure = made
    return figure
