"""Traffic that can be worked out by hand is counted exactly, as Nsight Compute would name it."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from ptx_running import GLOBAL_INDEX, aligned, kernel, run

from grapin.kernels.cuda.vgpu.effects import Effect
from grapin.kernels.cuda.vgpu.gpu import Launched, Model, VirtualGpu
from grapin.kernels.cuda.vgpu.traffic import Count, Home

THREADS = 4096
READ = "ld.param.u64 %d1, [p0]; mul.wide.u32 %d2, %r0, {step}; add.u64 %d1, %d1, %d2; ld.global.u32 %r5, [%d1];\n"
WRITE = "ld.param.u64 %d3, [p1]; mul.wide.u32 %d4, %r0, 4; add.u64 %d3, %d3, %d4; st.global.u32 [%d3], %r5;\n"


def requests(counts: Any, base: Count) -> list[int]:
    return [int(number) for number in counts[base : base + 4]]


def test_a_streaming_read_asks_for_each_line_once() -> None:
    source, target = aligned(THREADS), aligned(THREADS)
    text = kernel(GLOBAL_INDEX + READ.format(step=4) + WRITE, 2)
    launched = run(text, source, target, grid=THREADS // 128, block=128, homes={0: Home.HOST, 1: Home.HOST})
    warps = THREADS // 32
    for counts in (launched.total(Home.HOST), launched.total(Home.HOST, Effect.STORE)):
        assert counts[Count.INSTRUCTIONS] == warps
        assert counts[Count.LANES] == THREADS
        assert counts[Count.BYTES] == 4 * THREADS
        assert counts[Count.SECTORS] == 4 * warps
        assert counts[Count.LINES] == warps
        for stage in (Count.UNCACHED, Count.AFTER_L1, Count.AFTER_L2):
            assert requests(counts, stage) == [0, 0, 0, warps]
    assert len(launched.pages) == 2 * THREADS * 4 // 4096
    assert launched.total(Home.DEVICE).sum() == 0
    assert named(launched) == [warps, 4 * warps, 4 * warps, 4 * warps, 4 * warps]


def named(launched: Launched) -> list[int]:
    """Return requests, sectors, sectors that the L1 did not hold, that the L2 did not, and of host memory."""
    counts = launched.nsight()
    load = "l1tex__t_{}_pipe_lsu_mem_global_op_ld{}.sum"
    assert counts["lts__t_sectors_op_read.sum"] == counts[load.format("sectors", "_lookup_miss")]
    return [
        counts[load.format("requests", "")],
        counts[load.format("sectors", "")],
        counts["lts__t_sectors_op_read.sum"],
        counts["lts__t_sectors_op_read_lookup_miss.sum"],
        counts["lts__t_sectors_aperture_sysmem_op_read.sum"],
    ]


def test_a_strided_read_asks_for_a_sector_a_thread_and_finds_the_rest_in_the_l1() -> None:
    steps = 8
    source, target = aligned(THREADS * 32), aligned(THREADS)
    body = GLOBAL_INDEX + READ.format(step=128).replace("ld.global.u32 %r5, [%d1];", "") + "mov.u32 %r6, 0;\n"
    body += (
        "again: ld.global.u32 %r7, [%d1]; add.u64 %d1, %d1, 4; add.u32 %r5, %r5, %r7; add.u32 %r6, %r6, 1;\n"
    )
    body += f"setp.lt.u32 %p1, %r6, {steps}; @%p1 bra again;\n"
    launched = run(
        kernel(body + WRITE, 2), source, target, grid=THREADS // 128, block=128, homes={0: Home.HOST}
    )
    counts = launched.total(Home.HOST)
    assert counts[Count.INSTRUCTIONS] == steps * THREADS // 32
    assert counts[Count.SECTORS] == counts[Count.LINES] == steps * THREADS
    assert requests(counts, Count.UNCACHED) == [steps * THREADS, 0, 0, 0]
    assert requests(counts, Count.AFTER_L1) == [THREADS, 0, 0, 0]
    assert requests(counts, Count.AFTER_L2) == [THREADS, 0, 0, 0]
    assert named(launched) == [steps * THREADS // 32, steps * THREADS, THREADS, THREADS, THREADS]


def test_a_read_through_a_full_cache_asks_again_for_all_of_it() -> None:
    model = Model(multiprocessors=1, l1=4096, l1_ways=32, l2=8192, l2_ways=64)
    body = """ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
    mov.u32 %r3, 0; over: mov.u64 %d3, %d1; mov.u32 %r2, 0;
    again: ld.global.u32 %r5, [%d3]; add.u64 %d3, %d3, 128; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {lines};
    @%p1 bra again; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 3; @%p2 bra over;"""
    for lines, l1, l2 in ((32, 32, 32), (33, 99, 33), (64, 192, 64), (65, 195, 195)):
        source = aligned(32 * lines)
        launched = run(kernel(body.format(lines=lines), 1), source, homes={0: Home.HOST}, model=model)
        counts = launched.total(Home.HOST)
        assert requests(counts, Count.UNCACHED) == [0, 0, 0, 3 * lines]
        assert requests(counts, Count.AFTER_L1) == [0, 0, 0, l1]
        assert requests(counts, Count.AFTER_L2) == [0, 0, 0, l2]
        assert named(launched) == [3 * lines, 12 * lines, 4 * l1, 4 * l2, 4 * l1]


def test_a_launch_finds_an_empty_l1_and_the_l2_as_the_last_one_left_it() -> None:
    gpu, source = VirtualGpu(), aligned(32)
    text = kernel(GLOBAL_INDEX + READ.format(step=4), 1)
    first, second = (run(text, source, gpu=gpu, homes={0: Home.HOST}).total(Home.HOST) for _ in range(2))
    assert requests(first, Count.AFTER_L2) == [0, 0, 0, 1]
    assert requests(second, Count.AFTER_L1) == [0, 0, 0, 1]
    assert requests(second, Count.AFTER_L2) == [0, 0, 0, 0]


@given(places=st.lists(st.integers(0, 255), min_size=32, max_size=32))
def test_a_gather_is_coalesced_into_stretches_of_sectors_within_a_line(places: list[int]) -> None:
    source, indices = aligned(256), np.array(places, np.uint32)
    body = (
        GLOBAL_INDEX
        + """ld.param.u64 %d1, [p1]; mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2;
    ld.global.u32 %r3, [%d1]; ld.param.u64 %d3, [p0]; mul.wide.u32 %d4, %r3, 4; add.u64 %d3, %d3, %d4;
    ld.global.u32 %r4, [%d3];"""
    )
    counts = run(kernel(body, 2), source, indices, homes={0: Home.MANAGED}).total(Home.MANAGED)
    sectors = sorted({place // 8 for place in places})
    expected = [0] * 4
    length = 0
    for place, sector in enumerate(sectors):
        length += 1
        after = sectors[place + 1] if place + 1 < len(sectors) else -1
        if after != sector + 1 or after % 4 == 0:
            expected[length - 1] += 1
            length = 0
    assert requests(counts, Count.UNCACHED) == expected
    assert counts[Count.SECTORS] == len(sectors)
    assert counts[Count.LINES] == len({sector // 4 for sector in sectors})


def test_instructions_and_lanes_that_part_ways_are_counted() -> None:
    body = """mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 8; @%p1 bra few; add.u32 %r2, %r1, 1; bra.uni out;
    few: add.u32 %r2, %r1, 2; add.u32 %r2, %r2, 2; out: ret;"""
    launched = run(kernel(body, 0))
    assert (launched.branches, launched.diverged) == (1, 1)
    assert launched.instructions == 3 + 2 + 2 + 1
    assert launched.lane_instructions == 3 * 32 + 2 * 24 + 2 * 8 + 32
