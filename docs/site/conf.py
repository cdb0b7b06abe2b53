"""How Sphinx makes the site: the pages as they lie in the checkout, README first, and the API from its docstrings."""

from pathlib import Path

from sphinx.application import Sphinx

from grapin import __version__

project = "Grapin"
release = __version__
root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "docs/**.md",
    "experiments/README.md",
    "experiments/answers/*.md",
]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"Grapin {release}"
html_copy_source = False
html_show_search_summary = False  # summaries are fetched, which a browser does not do for files
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
suppress_warnings = [
    "misc.highlighting_failure",  # doctests that show an error's line
    "myst.xref_missing",  # links to folders of the checkout; that every other link leads somewhere, tests hold
    "ref.python",  # a type that is called like a property of two classes
    "toc.not_included",  # an answer's page is reached from the table of experiments
]

CONTENTS = {
    "Use it": "tour programs devices-and-systems answers state tables networkx report cache pages on-a-gpu faq",
    "Trust it": "testing interleavings mutants",
    "Ask what-if, and measure": "what-if model executed counters benchmark",
    "How it is made": "architecture virtual-gpu status references",
}
"""The pages of `docs` in the order in which they are read; one that is not named comes last."""
BESIDE = {
    "Use it": ["docs/site/api"],
    "Ask what-if, and measure": ["experiments/README"],
    "How it is made": ["CHANGELOG"],
}
"""What else stands in a section, behind its pages."""


def contents() -> dict[str, list[str]]:
    """Return the pages of each section."""
    sections = {title: names.split() for title, names in CONTENTS.items()}
    named = {name for names in sections.values() for name in names}
    pages = sorted(page.stem for page in Path(__file__).parents[1].glob("*.md"))
    sections[list(sections)[-1]] += [page for page in pages if page not in named]
    return {
        title: [f"docs/{name}" for name in names] + BESIDE.get(title, []) for title, names in sections.items()
    }


def setup(app: Sphinx) -> None:
    """Add to the first page what leads to all others, and make it what a browser opens first."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _open_first_page)


def _add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    if page != root_doc:
        return
    for title, listed in contents().items():
        entries = "\n".join(f"/{name}" for name in listed)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n"


def _open_first_page(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        page = f'<!doctype html><title>Grapin</title><meta http-equiv="refresh" content="0; url={root_doc}.html">'
        Path(app.outdir, "index.html").write_text(page + "\n", encoding="utf-8")
