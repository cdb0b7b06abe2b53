"""Graphs in pages, changed by kernels as they are compiled for a GPU: the same graph, under any schedule of warps."""

import os
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paged_streams import follow, start

from grapin.graph.page_store import PageStore
from grapin.kernels.cuda.assembly import missing
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.vgpu.device import backend
from grapin.kernels.cuda.vgpu.gpu import SCHEDULES, Options

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

DEEP = os.environ.get("GRAPIN_PROFILE") == "deep"
BACKEND = backend()
MOST_STEPS = 20_000_000
"""A launch of a test that takes so many steps will never end."""
OPTIONS = st.builds(
    Options,
    schedule=st.sampled_from(list(SCHEDULES)),
    seed=st.integers(0, 2**31),
    quantum=st.sampled_from([1, 8, 64]),
    weak=st.booleans(),
    most_steps=st.just(MOST_STEPS),
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = BACKEND.shape, BACKEND.gpu.options
    yield
    BACKEND.shape, BACKEND.gpu.options = before


@pytest.mark.parametrize("strategy", ["update-centric", "vertex-centric"])
@given(
    seed=st.integers(0, 2**31),
    shape=st.sampled_from([Shape(1, 32), Shape(2, 64)]),
    options=OPTIONS,
    directed=st.booleans() if DEEP else st.just(True),
)
@settings(max_examples=200 if DEEP else 6)
def test_after_any_batches_pages_hold_the_graph_of_the_model(
    strategy: str, seed: int, shape: Shape, options: Options, directed: bool
) -> None:
    BACKEND.shape, BACKEND.gpu.options = shape, options
    draws = random.Random(seed)
    graph, model = start(draws, PageStore(device="vgpu", strategy=strategy), directed=directed)
    follow(draws, graph, model, batches=3)
