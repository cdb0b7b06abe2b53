"""What notebooks show of values: tables of facts, escaped, and pictures."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.display import embedded, html_table
from grapin.engine import Engine
from grapin.sim import replay
from grapin.sim.prediction import PARTS, Costs, Prediction, Seconds


class _Cells(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.attributes: dict[str, str | None] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes = dict(attrs)
        if tag in {"th", "td", "caption"}:
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")))


@given(TEXT, st.dictionaries(TEXT, TEXT))
def test_a_table_has_the_texts_it_was_given_whatever_they_are(title: str, facts: dict[str, str]) -> None:
    read = _Cells(html_table(title, facts))
    assert read.cells == [title, *(text for row in facts.items() for text in row)]
    assert read.tags <= {"table", "caption", "tr", "th", "td"}


@given(TEXT)
def test_an_embedded_page_is_the_page_and_may_not_leave_its_frame(page: str) -> None:
    read = _Cells(embedded(page, "<title>"))
    assert read.tags == {"iframe"}
    assert read.attributes["srcdoc"] == page
    assert read.attributes["sandbox"] == "allow-scripts"


@pytest.fixture(scope="module")
def engine() -> Engine:
    graph = grapin.Graph.from_edges([0, 0, 1, 4], [1, 2, 2, 5], [3, 7, 2, 1], vertices=7)
    made = Engine(graph, [grapin.SSSP(0), grapin.ConnectedComponents(), grapin.PageRank()], trace=True)
    made.apply(grapin.Batch(insert=[(2, 3, 9)], delete=[(4, 5)]))
    return made


def _facts(value: Any) -> dict[str, str]:
    title, *cells = _Cells(value._repr_html_()).cells
    assert title == type(value).__name__
    return dict(zip(cells[::2], cells[1::2], strict=True))


def test_a_graph_an_engine_and_a_trace_tell_what_they_are(engine: Engine) -> None:
    assert _facts(engine.graph)["edges"] == "4, directed"
    assert _facts(engine.graph)["weights"] == "int32"
    assert _facts(engine)["programs"] == "sssp, cc, pagerank"
    assert _facts(engine.trace)["edges read"] == f"{engine.trace.counters().edges:,}"


def test_a_report_tells_what_each_program_did() -> None:
    graph = grapin.Graph.from_edges([0, 1], [1, 2])
    report = Engine(graph, grapin.BFS(0)).apply(grapin.Batch(insert=[(0, 2)], delete=[(2, 1)]))
    facts = _facts(report)
    assert facts["edges"] == "1 inserted, 0 deleted, 0 re-weighted, 1 mutations ignored"
    assert facts["bfs"].startswith("1 values changed in ")


def _bars(axes: Any) -> dict[int, float]:
    """Return how high the bar of each whole number is."""
    return {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}


def test_a_prediction_tells_and_draws_its_batches(engine: Engine) -> None:
    pytest.importorskip("matplotlib")
    prediction = replay(engine.trace, "bounded", "a5000")
    assert _facts(prediction)["machine"] == "a5000"
    figure = prediction.plot()
    times, sizes = figure.axes
    assert times.get_xlabel() == sizes.get_xlabel() == "batch"
    assert list(_bars(sizes).values()) == pytest.approx(
        [costs.bytes / 2**20 for costs in (prediction.start, prediction.batches)]
    )
    picture: Any = figure
    assert "<svg" in picture._repr_html_()


def test_parts_of_a_batch_are_stacked_over_its_programs() -> None:
    pytest.importorskip("matplotlib")
    phases = tuple(Costs(seconds=Seconds(link=link, device=1e-3)) for link in (1e-3, 2e-3, 4e-3, 8e-3))
    figure = Prediction("bounded", "a5000", "none", 1e9, (5, 5, 6, 6), phases).plot()
    times: Any = figure.axes[0]
    heights = {bars.get_label(): [bar.get_height() for bar in bars] for bars in times.containers}
    assert set(heights) == {"link", "device"} <= set(PARTS)
    assert heights["link"] == pytest.approx([3, 12])
    assert heights["device"] == pytest.approx([2, 2])
    assert [bar.get_y() for bar in times.containers[1]] == pytest.approx([3, 12])


def test_an_engine_draws_how_many_vertices_have_which_value(engine: Engine) -> None:
    pytest.importorskip("matplotlib")
    distances, components, ranks = engine.plot().axes
    assert distances.get_title() == "sssp: 4 of 7 vertices reached"
    assert _bars(distances) == {0: 1, 3: 1, 5: 1, 14: 1}
    assert _bars(components) == {4: 1, 1: 3}
    assert sum(_bars(ranks).values()) > 0


def test_many_values_share_bars_and_lose_none() -> None:
    pytest.importorskip("matplotlib")
    ends = np.arange(500)
    engine = Engine(grapin.Graph.from_edges(ends, ends + 1), grapin.BFS(0))
    (axes,) = engine.plot().axes
    assert len(axes.patches) == 60
    assert sum(bar.get_height() for bar in axes.patches) == 501  # type: ignore[attr-defined]
