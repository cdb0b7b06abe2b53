"""The page as text: what it must hold for any findings, whatever things are called."""

import json
import math
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample import CACHES, made_up

from grapin.report.figures import choices, log_axis, plain, system_colours
from grapin.report.findings import ALL
from grapin.report.page import render
from grapin.system import SYSTEMS
from grapin.units import format_bytes

pytest.importorskip("plotly", reason="a report needs plotly")

_HOSTILE = st.sampled_from(
    ["<script>alert(1)</script>", "</script><script>1", "<!--", "a&amp;b", '" onload="x', "'", "$data", "]]>"]
)
NAMES = (
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12) | _HOSTILE
)


class Page(HTMLParser):
    """The elements of a page, and the text in some of them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "br"}:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data


def _data(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.texts["script"][0])
    return found


@settings(max_examples=25)
@given(graph=NAMES, program=NAMES, machine=NAMES, system=NAMES)
def test_names_are_shown_as_they_are_and_never_become_elements(
    graph: str, program: str, machine: str, system: str
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("plotly.offline.get_plotlyjs", lambda: "")  # 4.8 MB that do not depend on names
        page = Page(render(made_up(graph, programs=[program], machines=[machine], system=system)))
        plainly = Page(render(made_up()))
    assert page.texts["h1"] == [graph]
    assert [one for one, _ in page.elements].count("script") == 3
    assert {tag for tag, _ in page.elements} == {tag for tag, _ in plainly.elements}
    assert list(_data(page)["choices"]["machines"]) == [machine]
    assert system in page.texts["th"]
    assert program in page.texts["th"]


def test_the_page_loads_nothing_and_names_the_scripts_that_may_run() -> None:
    page = Page(render(made_up()))
    policy = next(attributes["content"] for tag, attributes in page.elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert policy.count("sha256-") == 2
    for _, attributes in page.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:"))


@given(sizes=st.tuples(*[st.integers(0, 10**9)] * 3))
def test_what_can_be_chosen_is_what_was_predicted(sizes: tuple[int, ...]) -> None:
    findings = made_up(sizes=sizes)
    outcomes = choices(findings)["outcomes"]
    assert len(outcomes) == len(findings.predictions) * len(findings.answers)
    for one, prediction in findings.predictions:
        key = f"{one.machine.name}|{one.system.name}|{ALL}|{one.cache or 'none'}"
        assert outcomes[key]["seconds"] == prediction.seconds_a_batch
        assert outcomes[key]["bytes"] == prediction.batches.bytes / 2
        assert outcomes[key]["text"]["bytes"] == format_bytes(prediction.batches.bytes / 2)


@given(sizes=st.tuples(*[st.integers(0, 10**9)] * 3), cache=st.sampled_from(["none", *CACHES]))
def test_the_answers_add_up_to_all_of_them(sizes: tuple[int, ...], cache: str) -> None:
    outcomes = choices(made_up(sizes=sizes))["outcomes"]
    whole = outcomes[f"gh200|grapin|{ALL}|{cache}"]
    parts = [outcomes[f"gh200|grapin|{answer}|{cache}"] for answer in ("sssp", "pagerank")]
    assert whole["bytes"] == sum(one["bytes"] for one in parts)
    assert whole["bytes"] == sum(whole["kinds"].values())
    assert math.isclose(whole["seconds"], sum(one["seconds"] for one in parts))


def test_a_system_that_keeps_no_copies_is_predicted_without_a_cache_only() -> None:
    outcomes = choices(made_up())["outcomes"]
    assert f"a5000|emogi|{ALL}|none" in outcomes
    assert f"a5000|emogi|{ALL}|10%" not in outcomes


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((10, 30, 1), "grapin (published) 3.75 KiB (3 times as much)"),
        ((30, 10, 1), "grapin (published) 1.25 KiB (0.333 times as much)"),
        ((0, 10, 1), "moves 0 B from host to device, grapin (published) 1.25 KiB, emogi 128 B. Predicted"),
    ],
)
def test_a_verdict_says_who_moves_less_and_divides_by_nothing(sizes: tuple[int, ...], words: str) -> None:
    (sentence,) = made_up(programs=["bfs"], sizes=sizes).verdicts()
    assert words in sentence


def test_a_graph_that_a_gpu_could_hold_is_said_to_be_one() -> None:
    findings = made_up()
    assert "would fit into the memory of a5000 and gh200" in render(findings)
    object.__setattr__(findings, "edge_bytes", 2**50)
    assert "would fit" not in render(findings)


@given(
    values=st.lists(st.floats(0, 1e15, allow_subnormal=False), max_size=9), base=st.sampled_from([10, 1024])
)
def test_a_logarithmic_axis_shows_every_value_above_zero(values: list[float], base: int) -> None:
    axis = log_axis(values, base, format_bytes)
    low, high = axis["range"]
    assert all(low <= math.log10(value) <= high for value in values if value > 0)
    assert len(axis["tickvals"]) >= 2


def test_each_system_has_a_colour_of_its_own() -> None:
    systems = list(SYSTEMS)[:9]
    assert len(set(system_colours(systems).values())) == len(systems)
    assert system_colours(["emogi", "bounded"])["bounded"] == system_colours(systems)["bounded"]


@given(NAMES)
def test_what_plotly_reads_has_no_markup(name: str) -> None:
    assert not set("<>") & set(plain(name))
