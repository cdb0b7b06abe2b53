"""The report as a reader has it: opened in Chromium, looked at, and used by keyboard."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from sample import made_up

from grapin.report import embed, render

pytest.importorskip("plotly", reason="a report needs plotly")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt install chromium")

HOSTILE = "<img src=x onerror='window.injected=1'><b>"
_PLOTS = ("crossed", "times", "systems", "caches")
_TAB, _DOWN = ("Tab", 9), ("ArrowDown", 40)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render(made_up(HOSTILE, machines=["a5000", "<i>gh200"])), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


def _said(browser: Browser) -> str:
    return str(browser.run("document.getElementById('said').textContent"))


def _rows(browser: Browser) -> str:
    return str(browser.run("document.getElementById('rows').innerText"))


def _dots(browser: Browser) -> list[float]:
    return list(browser.run("document.getElementById('systems').data[0].x"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_a_complaint_and_draws_every_plot(
    browser: Browser, report: Path, scheme: str
) -> None:
    browser.open(report, scheme=scheme)
    for plot in _PLOTS:
        marks = f"document.querySelectorAll('#{plot} :is(.point, .textpoint)').length"
        assert browser.run(marks) > 0, plot
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
    assert browser.complaints == []


def test_keys_alone_switch_what_the_view_shows(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.run("document.getElementById('what-if').focus()")
    seen = [(_said(browser), _dots(browser), _rows(browser))]
    for name in ("machine", "system", "cache", "answer"):
        browser.press(*_TAB)
        assert browser.run("document.activeElement.id") == name
        browser.press(*_DOWN)
        seen.append((_said(browser), _dots(browser), _rows(browser)))
    assert all(before[0] != after[0] for before, after in pairwise(seen))
    # Which system is chosen changes what is said and marked; all else changes every number as well.
    for place in (1, 3, 4):
        assert seen[place - 1][1] != seen[place][1]
        assert seen[place - 1][2] != seen[place][2]
    assert browser.run("document.querySelector('tr[aria-selected=true]').innerText").startswith("grapin")
    assert browser.complaints == []


def test_the_address_keeps_the_choices(browser: Browser, report: Path) -> None:
    browser.open(report, "#system=grapin&cache=40%25&machine=nowhere")
    assert "grapin with a cache of 40% of the edges" in _said(browser)
    assert "On a5000" in _said(browser)


def test_names_are_shown_as_they_are_in_text_and_plots(browser: Browser, report: Path) -> None:
    browser.open(report)
    assert browser.run("document.querySelector('h1').textContent") == HOSTILE
    assert "<i>gh200, bounded" in browser.run("document.querySelector('#times').textContent")
    assert browser.run("window.injected") is None
    assert browser.complaints == []


def test_a_policy_stops_a_script_that_would_get_in(browser: Browser, report: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(report.read_text().replace("<main>", "<main><script>window.injected = 1</script>"))
    browser.open(broken)
    assert browser.run("window.injected") is None
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)
    browser.complaints.clear()


def test_a_narrow_window_is_not_wider_than_it_is(browser: Browser, report: Path) -> None:
    browser.open(report, width=360)
    assert browser.run("document.documentElement.scrollWidth") <= 360


def test_paper_is_white_and_nothing_is_cut_off(browser: Browser, report: Path) -> None:
    browser.open(report, scheme="dark")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert (
        browser.run("Math.max(...[...document.querySelectorAll('.main-svg')].map((one) => one.clientWidth))")
        <= 703
    )
    browser.ask(
        "Emulation.setDeviceMetricsOverride", width=703, height=900, deviceScaleFactor=1, mobile=False
    )
    assert browser.run("document.documentElement.scrollWidth") <= 703
    browser.ask("Emulation.setEmulatedMedia", media="")


def test_embedded_in_another_page_it_draws_and_its_view_can_be_used(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    frame = embed(made_up(HOSTILE)).replace('loading="lazy" ', "").replace('sandbox="allow-scripts" ', "")
    file.write_text(f"<!doctype html><h1>A page</h1>{frame}", encoding="utf-8")
    browser.open(file)
    inside = "document.querySelector('iframe').contentDocument"
    said = f"{inside}.getElementById('said').textContent"
    before = browser.run(said)
    assert browser.run(f"{inside}.querySelectorAll('#systems .point').length") > 0
    browser.run(
        f"(() => {{ const view = {inside}.getElementById('system'); view.value = 'grapin'; "
        "view.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    assert browser.run(said) != before
    assert browser.run("location.hash") == ""
    assert browser.run("window.injected === undefined")
    assert browser.complaints == []
