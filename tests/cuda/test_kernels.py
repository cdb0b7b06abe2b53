"""Every kernel compiles and assembles for every GPU we name, fits, and is made of what it should be."""

import os
from functools import cache

import pytest

from experiments.lib.assembly import assemble
from experiments.lib.kernel_catalogue import Entry, catalogue, page_kernels, shipped
from experiments.lib.multiprocessors import LIMITS
from experiments.occupancy import LEAST_OCCUPIED, occupied
from grapin.engine.selftest import PROGRAMS
from grapin.kernels.cuda.assembly import compile_kernel, to_each_ptx, to_ptx

DEEP = os.environ.get("GRAPIN_PROFILE") == "deep"
COMMON = (8, 0)
"""All kernels are compiled for it, and run from it in test_ptx.py; each is compiled for one of the others as well."""


def others(place: int) -> list[tuple[int, int]]:
    """Return for what else the kernel at this place of the catalogue is compiled: in a deep run, everything."""
    rest = [capability for capability in LIMITS if capability != COMMON]
    return rest if DEEP else [rest[place % len(rest)]]


PAGES = "pages"
"""Stands for what changes graphs in pages, which no program needs."""


@cache
def kernels_of(program: str) -> list[Entry]:
    """Watching the simulator takes seconds a program."""
    if program != PAGES:
        return list(catalogue(program))
    # With and without weights in either layout, for one list or two a vertex; one binding of each compiles in a minute.
    every = list(page_kernels())
    return every if DEEP else list({entry.name: entry for entry in every}.values())


@pytest.fixture(scope="module", params=[*PROGRAMS, PAGES])
def entries(request: pytest.FixtureRequest) -> list[Entry]:
    return kernels_of(request.param)


def test_every_kernel_compiles_assembles_and_fits_on_every_gpu(entries: list[Entry]) -> None:
    for place, entry in enumerate(entries):
        compiled = to_each_ptx(entry.function, entry.types, [COMMON, *others(place)])
        for capability in LIMITS:
            if capability < COMMON and capability not in compiled:
                continue  # PTX runs on newer GPUs, not on older ones
            needs = assemble(compiled.get(capability, compiled[COMMON]), capability)
            where = f"{entry.name} of {entry.program} for {capability}: {needs}"
            assert needs.spilled == 0, where
            assert needs.stack == 0, where
            if capability in LEAST_OCCUPIED:
                assert occupied(needs, capability) >= LEAST_OCCUPIED[capability], where


def test_no_kernel_has_local_memory_or_asks_for_the_lane_in_a_way_that_splits_loops(
    entries: list[Entry],
) -> None:
    for entry in entries:
        ptx = to_ptx(entry.function, entry.types, COMMON)
        assert ".local" not in ptx, entry.name
        assert "%laneid" not in ptx, entry.name


def test_words_are_lowered_by_a_64_bit_atomic_minimum(entries: list[Entry]) -> None:
    if entries[0].program in {"pagerank", "triangles", PAGES}:
        pytest.skip("sums and counts have no words, and neither have graphs")
    offers = [entry for entry in entries if entry.function.__name__.startswith(("walk_push", "offer_edges"))]
    assert offers
    for entry in offers:
        ptx = to_ptx(entry.function, entry.types, COMMON)
        # Offers worse than their maker's key are lowered by a minimum, equal ones swapped in; labels, which never get
        # worse, may leave the compiler nothing but the swap.
        assert "atom.global.min.u64" in ptx or (entry.program == "cc" and "atom.global.cas.b64" in ptx), (
            entry.name
        )


def test_the_catalogue_holds_every_kernel_there_is() -> None:
    assert {entry.name for program in (*PROGRAMS, PAGES) for entry in kernels_of(program)} == shipped()


def test_a_kernel_compiled_for_one_gpu_after_another_is_what_is_compiled_for_it_alone() -> None:
    entry = kernels_of("bfs")[0]
    kernel, types = entry.function, entry.types
    chosen = [COMMON, min(LIMITS), max(LIMITS)]
    together = dict(compile_kernel(kernel, types, chosen))
    assert together == {one: ptx for each in chosen for one, ptx in compile_kernel(kernel, types, [each])}
    assert len(set(together.values())) == len(chosen)
