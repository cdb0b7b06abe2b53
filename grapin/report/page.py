"""The page: findings put into the template, with style, script and plotting library inside.

Plots are plotly's: it draws from plain values, needs nothing but its one script, which its Python package carries, and
is kept by a company and many users. Its 4.8 MB are the price of a file that opens anywhere. The page loads nothing and
runs only the three scripts whose digests it states, so that a graph's name cannot become one.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from string import Template
from typing import Any

from grapin.display import embedded
from grapin.errors import MissingDependency
from grapin.report.figures import (
    choices,
    crossing_figure,
    crossing_table,
    describe_machine,
    log_axis,
    time_figure,
    time_table,
)
from grapin.report.findings import Findings
from grapin.units import format_bytes, format_seconds


def check_report() -> None:
    """Refuse before anything is computed if no report could be made."""
    if find_spec("plotly") is None:
        raise MissingDependency("a report needs plotly: pip install 'grapin[report]'")


def render(findings: Findings) -> str:
    """Return the report as one HTML page."""
    check_report()
    from plotly.offline import get_plotlyjs

    compared = list(dict.fromkeys(one.system for one in findings.crossings))
    found = choices(findings)
    outcomes = found["outcomes"].values()
    data = {
        "figures": {"crossed": crossing_figure(findings), "times": time_figure(findings, compared)},
        "choices": found,
        "axis": log_axis([one["seconds"] for one in outcomes], 10, format_seconds),
    }
    scripts = [get_plotlyjs(), _file("view.js")]
    return Template(_file("page.html")).substitute(
        policy=escape(_policy(scripts)),
        style=_file("style.css"),
        graph=escape(findings.graph),
        verdicts="".join(f"<li>{escape(one)}</li>" for one in findings.verdicts()),
        facts="".join(
            f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in findings.facts.items()
        ),
        checks="".join(f"<li>{escape(check)}</li>" for check in findings.checks),
        crossing_table=crossing_table(findings),
        machines="".join(
            f"<dt>{escape(name)}</dt><dd>{escape(describe_machine(findings, name))}</dd>"
            for name in findings.machines
        ),
        memory=_memory_note(findings),
        time_table=time_table(findings, compared),
        version=version("grapin"),
        data=_embedded(data),
        plotly=scripts[0],
        view=scripts[1],
    )


def embed(findings: Findings, height: int = 800) -> str:
    """Return the report as an element of another page, a notebook's cell or a wiki, so many pixels high."""
    return embedded(render(findings), f"Report on {findings.graph}", height)


def _memory_note(findings: Findings) -> str:
    """Say so where a GPU could hold all edges: moving pages or partitions then costs next to nothing."""
    holding = [
        name for name, machine in findings.machines.items() if machine.gpu.memory >= findings.edge_bytes
    ]
    if not holding:
        return ""
    return (
        f'<p class="note">All edges ({format_bytes(findings.edge_bytes)}) would fit into the memory of '
        f"{escape(' and '.join(holding))}, so systems that bring pages keep them there and look better than on a graph "
        "that does not fit; <code>--set gpu.memory=SIZE</code> predicts a smaller GPU.</p>"
    )


def _file(name: str) -> str:
    return files("grapin.report").joinpath(name).read_text(encoding="utf-8")


def _embedded(data: dict[str, Any]) -> str:
    """Write data so that no text in it can end the element it stands in."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def _policy(scripts: Sequence[str]) -> str:
    digests = " ".join(f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts)
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {digests}"
