"""NetworkX's own tests pass with Grapin as their backend, and Grapin is what computes in them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from grapin.networkx import FUNCTIONS

HERE = Path(__file__).parent
SUITE = Path(nx.__path__[0])
FILES = (
    "algorithms/components/tests/test_connected.py",
    "algorithms/components/tests/test_weakly_connected.py",
    "algorithms/link_analysis/tests/test_pagerank.py",
    "algorithms/shortest_paths/tests/test_generic.py",
    "algorithms/shortest_paths/tests/test_unweighted.py",
    "algorithms/shortest_paths/tests/test_weighted.py",
    "algorithms/tests/test_dag.py",
    "algorithms/traversal/tests/test_bfs.py",
)
PINNED = json.loads((HERE / "suite.json").read_text())
"""By test, the functions that Grapin computes in it; a test that NetworkX no longer has is taken out here."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[str]]]:
    """Run the tests with every graph converted; what Grapin does not compute, NetworkX does, as a user may have it."""
    computed = tmp_path_factory.mktemp("suite") / "computed.json"
    options = ("-q", "-c", os.devnull, "--import-mode=append", "-p", "no:cacheprovider", "-p", "counting")
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *options,
            "--rootdir",
            SUITE.parent,
            *(SUITE / file for file in FILES),
        ],
        env=os.environ
        | {
            "NETWORKX_TEST_BACKEND": "grapin",
            "NETWORKX_FALLBACK_TO_NX": "1",
            "GRAPIN_COMPUTED": str(computed),
            "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert computed.is_file(), ran.stdout + ran.stderr
    return ran.stdout, json.loads(computed.read_text())


def test_they_pass(run: tuple[str, dict[str, list[str]]]) -> None:
    printed, _ = run
    last = printed.strip().splitlines()[-1]
    assert "passed" in last
    assert not {"failed", "error", "xfailed", "skipped"} & set(last.replace(",", "").split()), printed


def test_grapin_computes_what_is_pinned(run: tuple[str, dict[str, list[str]]]) -> None:
    assert run[1] == PINNED


def test_every_function_that_the_backend_claims_is_tried(run: tuple[str, dict[str, list[str]]]) -> None:
    tried = {name for names in run[1].values() for name in names}
    assert set(FUNCTIONS) - tried == set()
