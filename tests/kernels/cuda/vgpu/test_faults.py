"""What no kernel may do is said in one sentence, with kernel, line, thread and address."""

import numpy as np
import pytest
from ptx_running import GLOBAL_INDEX, kernel, run

from grapin.errors import InvalidArgument
from grapin.kernels.cuda.vgpu.gpu import KernelFault, Options, VirtualGpu

STORE = "mul.wide.u32 %d1, %r0, 4; ld.param.u64 %d2, [p0]; add.u64 %d2, %d2, %d1; st.global.u32 [%d2], %r0;"


def test_an_access_beyond_what_was_given_is_named_with_line_thread_and_address() -> None:
    array = np.zeros(70, np.uint32)
    with pytest.raises(KernelFault) as error:
        run(kernel(GLOBAL_INDEX + STORE, 1), array, grid=2, block=64)
    end = array.ctypes.data + array.nbytes
    assert str(error.value) == (
        f"kernel tested, PTX line 9, thread 6 of block 1: writes 4 bytes at {end:#x}, which is out of bounds of all "
        "memory it was given"
    )


def test_an_access_that_begins_within_bounds_and_ends_beyond_is_out_of_bounds() -> None:
    array = np.zeros(3, np.uint32)
    with pytest.raises(KernelFault, match=r"reads 8 bytes at 0x[0-9a-f]+, which is out of bounds"):
        run(kernel("ld.param.u64 %d1, [p0]; ld.global.u64 %d2, [%d1+8];", 1), array, block=1)


def test_a_misaligned_access_is_named() -> None:
    with pytest.raises(KernelFault, match=r"reads 4 bytes at 0x[0-9a-f]+, which is no multiple of 4"):
        run(kernel("ld.param.u64 %d1, [p0]; ld.global.u32 %r1, [%d1+2];", 1), np.zeros(8, np.uint32), block=1)


def test_shared_memory_ends_where_the_block_says() -> None:
    with pytest.raises(KernelFault, match=r"writes 4 bytes at .* out of bounds"):
        run(kernel("mov.u32 %r1, room; st.shared.u32 [%r1+64], %r1;", 0, before=".shared .b8 room[64];"))


RACE = """mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, room; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;
{barrier} xor.b32 %r4, %r1, {other}; shl.b32 %r4, %r4, 2; mov.u32 %r5, room; add.u32 %r5, %r5, %r4;
ld.shared.u32 %r6, [%r5];"""


@pytest.mark.parametrize(
    ("barrier", "other", "races"),
    [("", 32, True), ("bar.sync 0;", 32, False), ("", 1, True), ("bar.warp.sync -1;", 1, False), ("", 0, False),
     ("bar.warp.sync -1;", 32, True)],
)  # fmt: skip
def test_a_missing_barrier_is_a_race_whatever_the_schedule(barrier: str, other: int, races: bool) -> None:
    text = kernel(RACE.format(barrier=barrier, other=other), 0, before=".shared .b8 room[256];")
    for schedule in ("plain", "random"):
        if races:
            with pytest.raises(KernelFault, match=r"shared memory at 0x[0-9a-f]+ in a race with PTX line"):
                run(text, block=64, schedule=schedule)
        else:
            run(text, block=64, schedule=schedule)


def test_a_shuffle_that_some_lanes_do_not_reach_is_found() -> None:
    reads_absent = """mov.u32 %r1, %laneid; setp.gt.u32 %p1, %r1, 15; @%p1 bra out;
    shfl.sync.bfly.b32 %r2, %r1, 16, 31, 65535; out:"""
    with pytest.raises(KernelFault, match="a lane shuffles from a lane that does not take part"):
        run(kernel(reads_absent, 0))
    waits = """mov.u32 %r1, %laneid; setp.gt.u32 %p1, %r1, 15; @%p1 bra other; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
    bra.uni out; other: bar.sync 0; out:"""
    with pytest.raises(
        KernelFault, match="16 lanes for lanes of their warp and 16 lanes for their block wait for ever"
    ):
        run(kernel(waits, 0))
    outside = "mov.u32 %r1, %laneid; shfl.sync.bfly.b32 %r2, %r1, 1, 31, 65535;"
    with pytest.raises(KernelFault, match="a lane is not in the mask that it names"):
        run(kernel(outside, 0))


def test_lanes_of_one_warp_at_different_barriers_are_found() -> None:
    body = """mov.u32 %r1, %laneid; setp.gt.u32 %p1, %r1, 15; @%p1 bra other; bar.sync 0; bra.uni out;
    other: bar.sync 0; out:"""
    with pytest.raises(KernelFault, match="lanes of one warp wait at different barriers of the block"):
        run(kernel(body, 0))


def test_what_never_ends_is_ended() -> None:
    for body in ("again: bra again;", "ld.param.u64 %d1, [p0]; again: ld.global.u32 %r1, [%d1]; bra again;"):
        with pytest.raises(KernelFault, match="kernel tested did not end after"):
            run(kernel(body, 1), np.zeros(1, np.uint32), most_steps=10_000)


def test_a_trap_is_reported() -> None:
    with pytest.raises(KernelFault, match=r"warp 0 of block 0: trap"):
        run(kernel("trap;", 0))


def test_options_and_shapes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="schedule='fair' must be one of"):
        Options(schedule="fair")
    with pytest.raises(InvalidArgument, match="a block must have 1 to 1024 threads, not 2048"):
        run(kernel("", 0), block=2048)
    with pytest.raises(InvalidArgument, match=r"takes parameters of \[8\] bytes, not of \[8, 8\]"):
        run(kernel("", 1), 1, 2, gpu=VirtualGpu())
