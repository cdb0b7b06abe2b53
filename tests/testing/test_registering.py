"""Hypothesis draws our types by itself, and its import stays light."""

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.programs import Program
from grapin.testing.registering import register

ROOT = Path(__file__).resolve().parents[2]


@given(st.from_type(grapin.Batch), st.from_type(grapin.EdgeList), st.from_type(Program))
def test_types_are_drawn_without_saying_how(
    batch: grapin.Batch, edges: grapin.EdgeList, program: Program
) -> None:
    assert isinstance(batch, grapin.Batch)
    assert isinstance(edges, grapin.EdgeList)
    assert isinstance(program, (grapin.Monotone, grapin.Accumulative, grapin.Triangles))


def test_hypothesis_is_told_where_to_find_this_and_loads_no_compiler_for_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["hypothesis"]["grapin"]
    assert declared == f"{register.__module__}:{register.__name__}"
    assert [entry.value for entry in entry_points(group="hypothesis", name="grapin")] == [declared]
    program = (
        "import sys, hypothesis\n"
        "assert 'grapin.testing.registering' in sys.modules\n"
        "assert not {'numba', 'simpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
