"""The site that `make docs` makes: every page is in its contents, and a reader finds the API by searching."""

import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from browser import CHROMIUM, Browser

import grapin

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(find_spec("sphinx") is None, reason="the site needs Sphinx")


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return run_path(str(ROOT / "docs" / "site" / "conf.py"))


def test_every_page_is_in_the_contents_once(settings: dict[str, Any]) -> None:
    listed = list(chain.from_iterable(settings["contents"]().values()))
    assert len(listed) == len(set(listed))
    assert {f"docs/{page.stem}" for page in (ROOT / "docs").glob("*.md")} < set(listed)
    for name in listed:
        assert (ROOT / f"{name}.md").is_file()
    assert settings["BESIDE"].keys() <= settings["CONTENTS"].keys()


def test_the_base_install_needs_nothing_of_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [one.partition(">")[0] for one in project["optional-dependencies"]["docs"]]
    assert not [one for one in project["dependencies"] if one.startswith(tuple(names))]


@pytest.mark.deep
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt install chromium")
def test_a_reader_opens_the_site_follows_its_contents_and_finds_by_searching(tmp_path: Path) -> None:
    site = tmp_path / "site"
    arguments = ("-q", "-W", "--keep-going", "-c", "docs/site", "-d", str(tmp_path / "trees"), ".", str(site))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with Browser() as browser:
        browser.open(site / "README.html")
        assert browser.run("document.querySelector('h1').textContent").startswith("Grapin")
        links = browser.run(
            "[...document.querySelectorAll('a[href]')].map(link => link.href.split('#')[0])"
            ".filter(link => link.startsWith('file:'))"
        )
        gone = [link for link in set(links) if not Path(link.removeprefix("file://")).exists()]
        assert not gone
        assert {"tour.html", "what-if.html", "api.html"} <= {link.rpartition("/")[2] for link in links}

        browser.open(site / "docs" / "site" / "api.html")
        for name in grapin.__all__:
            if name not in ("reference", "sim", "stream", "testing"):
                assert browser.run(f"document.getElementById('grapin.{name}') !== null"), name
        assert "Change the graph by a batch" in browser.run("document.body.innerText")

        browser.open(site / "search.html", "?q=widest")
        found = "[...document.querySelectorAll('#search-results li a')].map(link => link.href)"
        browser.run(
            f"new Promise(done => {{ const look = () => ({found}).length ? done() : setTimeout(look, 50); look(); }})"
        )
        assert any(link.partition("?")[0].endswith(".html") for link in browser.run(found))
        assert browser.complaints == []
