"""Published graphs load with the sizes their publishers state."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grapin.files import load_edges

SIZES: dict[str, tuple[int, int]] = {
    "wiki-Vote.txt.zst": (7_115, 103_689),
    "facebook_combined.txt.gz": (4_039, 88_234),
    "soc-Epinions1.txt.gz": (75_879, 508_837),
    "web-NotreDame.txt.gz": (325_729, 1_497_134),
    "cnr-2000.txt.zst": (325_557, 3_216_152),
    "actor-costar.txt.zst": (382_219, 15_038_083),
    "world-highways.gr.zst": (560_282, 1_652_213),
    "email-Eu-core-temporal.txt.gz": (986, 332_334),
    "CollegeMsg.txt.gz": (1_899, 59_835),
    "soc-sign-bitcoinotc.csv.zst": (5_881, 35_592),
    "out.wine-includes.zst": (15_805, 95_093 + 51_294),
    "out.debian-deps.zst": (110_633, 651_261 + 259_511),
}
OPTIONS: dict[str, dict[str, Any]] = {"soc-sign-bitcoinotc.csv.zst": {"weights": "shift"}}


@pytest.mark.parametrize("name", SIZES)
def test_a_published_graph_has_its_published_size(name: str, shared_data: Path) -> None:
    edges = load_edges(shared_data / name, **OPTIONS.get(name, {}))
    assert (edges.vertices, len(edges)) == SIZES[name]


@pytest.mark.parametrize(
    ("name", "loops"), [("web-NotreDame.txt.gz", "27,455"), ("cnr-2000.txt.zst", "87,442")]
)
def test_self_loops_are_reported(name: str, loops: str, shared_data: Path) -> None:
    assert f"Self loops kept: {loops}." in load_edges(shared_data / name).notes


def test_temporal_files_have_times_and_no_weights(shared_data: Path) -> None:
    for name in ("email-Eu-core-temporal.txt.gz", "CollegeMsg.txt.gz"):
        edges = load_edges(shared_data / name)
        assert edges.time is not None
        assert edges.weight is None


def test_insertions_and_deletions_are_told_apart(shared_data: Path) -> None:
    edges = load_edges(shared_data / "out.wine-includes.zst")
    assert edges.removed is not None
    assert np.bincount(edges.removed).tolist() == [95_093, 51_294]
