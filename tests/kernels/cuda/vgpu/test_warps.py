"""Lanes part ways and meet again; barriers, shuffles, votes and atomics do what the PTX manual says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ptx_running import GLOBAL_INDEX, HEAD, aligned, kernel, run

from grapin.kernels.cuda.vgpu.effects import Effect
from grapin.kernels.cuda.vgpu.gpu import SCHEDULES
from grapin.kernels.cuda.vgpu.traffic import Count, Home

LANES = 32

RAGGED = kernel(
    GLOBAL_INDEX
    + """
mul.wide.u32 %d1, %r0, 4; ld.param.u64 %d2, [p0]; add.u64 %d2, %d2, %d1; ld.global.u32 %r3, [%d2];
mov.u32 %r4, 0; mov.u32 %r5, 0;
outer: setp.ge.u32 %p1, %r4, %r3; @%p1 bra done;
  and.b32 %r6, %r4, 1; setp.eq.u32 %p2, %r6, 0; @%p2 bra even;
  mov.u32 %r7, 0;
inner: add.u32 %r5, %r5, %r7; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r4; @%p3 bra inner;
  bra.uni next;
even: setp.gt.u32 %p4, %r5, 50; @%p4 bra done; add.u32 %r5, %r5, %r3;
next: add.u32 %r4, %r4, 1; bra.uni outer;
done: ld.param.u64 %d3, [p1]; add.u64 %d3, %d3, %d1; st.global.u32 [%d3], %r5;
""",
    2,
)
"""Nested loops, as long as each lane's number says, with a way out in the middle."""


def ragged(trips: int) -> int:
    total = step = 0
    while step < trips:
        if step % 2:
            total += sum(range(max(1, step)))
        elif total > 50:
            break
        else:
            total += trips
        step += 1
    return total


@given(
    trips=st.lists(st.integers(0, 12), min_size=70, max_size=70), schedule=st.sampled_from(list(SCHEDULES))
)
def test_lanes_that_part_ways_each_go_their_own_and_meet_where_their_ways_do(
    trips: list[int], schedule: str
) -> None:
    found = np.zeros(70, np.uint32)
    launched = run(RAGGED, np.array(trips, np.uint32), found, block=70, schedule=schedule, seed=sum(trips))
    assert found.tolist() == [ragged(one) for one in trips]
    stores = launched.total(Home.DEVICE, Effect.STORE)
    assert stores[Count.LANES] == 70
    if schedule == "plain":  # all lanes of a warp store together again
        assert stores[Count.INSTRUCTIONS] == 3
        assert launched.idle_lanes == 2 * (96 - 70)


def shuffled(mode: str, values: list[int], by: int, clamp: int) -> tuple[list[int], list[bool]]:
    """The manual's own pseudo-code."""
    segment, limit = clamp >> 8 & 31, clamp & 31
    found, valid = [], []
    for lane in range(LANES):
        highest = lane & segment | limit & ~segment
        lowest = lane & segment
        source, inside = {
            "up": (lane - by, lane - by >= highest),
            "down": (lane + by, lane + by <= highest),
            "bfly": (lane ^ by, (lane ^ by) <= highest),
            "idx": (lowest | by & ~segment, (lowest | by & ~segment) <= highest),
        }[mode]
        found.append(values[source if inside else lane])
        valid.append(inside)
    return found, valid


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("by", [0, 1, 5, 16])
def test_shuffles_take_values_from_where_the_manual_says(mode: str, width: int, by: int) -> None:
    clamp = (LANES - width) << 8 | (0 if mode == "up" else 31)
    values = np.random.default_rng(1).integers(0, 2**32, LANES).astype(np.uint32)
    found, flags = np.zeros(LANES, np.uint32), np.zeros(LANES, np.uint32)
    body = (
        GLOBAL_INDEX
        + f"""mul.wide.u32 %d1, %r0, 4; ld.param.u64 %d2, [p0]; add.u64 %d2, %d2, %d1;
    ld.global.u32 %r3, [%d2]; shfl.sync.{mode}.b32 %r4|%p1, %r3, {by}, {clamp}, -1; selp.u32 %r5, 1, 0, %p1;
    ld.param.u64 %d3, [p1]; add.u64 %d3, %d3, %d1; st.global.u32 [%d3], %r4;
    ld.param.u64 %d4, [p2]; add.u64 %d4, %d4, %d1; st.global.u32 [%d4], %r5;"""
    )
    run(kernel(body, 3), values, found, flags)
    expected = shuffled(mode, values.tolist(), by, clamp)
    assert (found.tolist(), flags.astype(bool).tolist()) == expected


@given(values=st.lists(st.integers(0, 3), min_size=LANES, max_size=LANES), mask=st.integers(1, 2**32 - 1))
def test_votes_matches_and_reductions_see_the_lanes_of_their_mask(values: list[int], mask: int) -> None:
    body = (
        GLOBAL_INDEX
        + f"""mul.wide.u32 %d1, %r0, 4; ld.param.u64 %d2, [p0]; add.u64 %d2, %d2, %d1;
    ld.global.u32 %r3, [%d2]; mov.u32 %r10, {mask}; shr.u32 %r11, %r10, %r0; and.b32 %r11, %r11, 1;
    setp.eq.u32 %p9, %r11, 0; @%p9 bra out; ld.param.u64 %d3, [p1]; mul.wide.u32 %d4, %r0, 36; add.u64 %d3, %d3, %d4;
    setp.gt.u32 %p1, %r3, 1; vote.sync.ballot.b32 %r4, %p1, {mask}; st.global.u32 [%d3], %r4;
    vote.sync.any.pred %p2, %p1, {mask}; selp.u32 %r4, 1, 0, %p2; st.global.u32 [%d3+4], %r4;
    vote.sync.all.pred %p2, %p1, {mask}; selp.u32 %r4, 1, 0, %p2; st.global.u32 [%d3+8], %r4;
    vote.sync.uni.pred %p2, !%p1, {mask}; selp.u32 %r4, 1, 0, %p2; st.global.u32 [%d3+12], %r4;
    match.any.sync.b32 %r4, %r3, {mask}; st.global.u32 [%d3+16], %r4;
    match.all.sync.b32 %r4|%p3, %r3, {mask}; st.global.u32 [%d3+20], %r4;
    redux.sync.add.s32 %r4, %r3, {mask}; st.global.u32 [%d3+24], %r4;
    redux.sync.max.u32 %r4, %r3, {mask}; st.global.u32 [%d3+28], %r4; activemask.b32 %r4; st.global.u32 [%d3+32], %r4;
    out:"""
    )
    found = np.zeros((LANES, 9), np.uint32)
    run(kernel(body, 2), np.array(values, np.uint32), found)
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    chosen = [values[lane] for lane in lanes]
    high = [value > 1 for value in chosen]
    for lane in range(LANES):
        if lane not in lanes:
            assert not found[lane].any()
            continue
        alike = sum(1 << other for other in lanes if values[other] == values[lane])
        assert found[lane].tolist() == [
            sum(1 << other for other in lanes if values[other] > 1),
            any(high), all(high), all(high) or not any(high), alike, mask if len(set(chosen)) == 1 else 0,
            sum(chosen), max(chosen), mask,
        ]  # fmt: skip


SUM = kernel(
    GLOBAL_INDEX
    + """mov.u32 %r9, %tid.x; shl.b32 %r3, %r9, 2; mov.u32 %r4, room; add.u32 %r4, %r4, %r3;
mul.wide.u32 %d1, %r0, 4; ld.param.u64 %d2, [p0]; add.u64 %d2, %d2, %d1; ld.global.u32 %r5, [%d2];
st.shared.u32 [%r4], %r5; bar.sync 0; mov.u32 %r6, 64;
again: setp.ge.u32 %p1, %r9, %r6; @%p1 bra skip;
  shl.b32 %r7, %r6, 2; add.u32 %r7, %r7, %r4; ld.shared.u32 %r8, [%r7]; ld.shared.u32 %r5, [%r4];
  add.u32 %r5, %r5, %r8; st.shared.u32 [%r4], %r5;
skip: bar.sync 0; shr.u32 %r6, %r6, 1; setp.ne.u32 %p2, %r6, 0; @%p2 bra again;
setp.ne.u32 %p3, %r9, 0; @%p3 bra out; ld.shared.u32 %r5, [room]; ld.param.u64 %d3, [p1];
red.global.add.u32 [%d3], %r5; out:""",
    2,
    before=".shared .align 4 .b8 room[512];",
)
"""Each block of 128 threads sums its numbers in shared memory and adds the sum to one number."""


@given(seed=st.integers(0, 1000), schedule=st.sampled_from(list(SCHEDULES)), weak=st.booleans())
def test_blocks_sum_in_shared_memory_whatever_the_schedule(seed: int, schedule: str, weak: bool) -> None:
    numbers = np.random.default_rng(seed).integers(0, 2**20, 5 * 128).astype(np.uint32)
    total = np.zeros(1, np.uint32)
    run(
        SUM, numbers, total, grid=5, block=128, schedule=schedule, seed=seed, weak=weak, resident=1 + seed % 3
    )
    assert total[0] == numbers.sum() % 2**32


GRID = kernel(
    GLOBAL_INDEX
    + """ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mul.wide.u32 %d3, %r0, 4; add.u64 %d3, %d1, %d3;
st.global.u32 [%d3], %r0; call cudaCGSynchronize, (%d1, %d2);
mov.u32 %r4, %nctaid.x; mul.lo.u32 %r4, %r4, %r2; sub.u32 %r4, %r4, 1; sub.u32 %r4, %r4, %r0;
mul.wide.u32 %d4, %r4, 4; add.u64 %d4, %d1, %d4; ld.global.u32 %r5, [%d4]; mul.wide.u32 %d5, %r0, 4;
add.u64 %d5, %d2, %d5; st.global.u32 [%d5], %r5;""",
    2,
    before=".extern .func cudaCGSynchronize (.param .b64 a, .param .b64 b);",
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_of_the_grid_waits_for_all_blocks(schedule: str) -> None:
    values, found = np.zeros(6 * 64, np.uint32), np.zeros(6 * 64, np.uint32)
    run(GRID, values, found, grid=6, block=64, schedule=schedule, weak=True, resident=1)
    assert found.tolist() == list(range(6 * 64))[::-1]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.u32", 5 + sum(range(64))), ("min.s32", 0), ("max.u32", 63), ("and.b32", 0), ("or.b32", 63 | 5),
        ("xor.b32", 5), ("add.u64", 5 + sum(range(64))), ("min.u64", 0), ("max.s64", 63), ("inc.u32", (5 + 64) % 64),
    ],
)  # fmt: skip
def test_atomics_of_many_warps_all_count(operation: str, expected: int) -> None:
    kind = operation.split(".")[1]
    wide = kind.endswith("64")
    operand = "%d0" if wide else "63" if operation.startswith("inc") else "%r0"
    before = "%d5" if wide else "%r5"
    words = np.array([5], np.uint64 if wide else np.uint32)
    body = GLOBAL_INDEX + f"ld.param.u64 %d1, [p0]; atom.global.{operation} {before}, [%d1], {operand};"
    run(kernel(body, 1), words, block=64, schedule="random", seed=3)
    assert words[0] == expected


def test_floats_are_added_and_swapped_atomically() -> None:
    doubles, single = np.zeros(1), np.full(1, 0.5, np.float32)
    body = (
        GLOBAL_INDEX
        + """cvt.rn.f64.u32 %g1, %r0; cvt.rn.f32.u32 %f1, %r0; ld.param.u64 %d1, [p0];
    ld.param.u64 %d2, [p1]; atom.global.add.f64 %g2, [%d1], %g1; red.global.add.f32 [%d2], %f1;"""
    )
    run(kernel(body, 2), doubles, single, block=64)
    assert (doubles[0], single[0]) == (2016.0, 2016.5)


def test_a_function_that_is_called_is_put_in_place_of_the_call() -> None:
    text = (
        HEAD
        + """.func (.param .b32 result) twice(.param .b32 x) { .reg .b32 %r<3>; .reg .pred %p;
    ld.param.b32 %r1, [x]; setp.eq.u32 %p, %r1, 3; @%p bra three; add.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2; ret; three: st.param.b32 [result], 33; ret; }
    .visible .entry tested(.param .u64 p0) { .reg .b32 %r<9>; .reg .b64 %d<9>; mov.u32 %r1, %tid.x;
    { .reg .b32 %r1; mov.u32 %r1, 5; } { .param .b32 in; .param .b32 out; st.param.b32 [in], %r1;
    call.uni (out), twice, (in); ld.param.b32 %r2, [out]; }
    { .param .b32 in; .param .b32 out; st.param.b32 [in], %r2; call (out), twice, (in); ld.param.b32 %r3, [out+0]; }
    ld.param.u64 %d1, [p0]; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r3; ret; }"""
    )
    found = np.zeros(LANES, np.uint32)
    run(text, found)
    once = [33 if lane == 3 else 2 * lane for lane in range(LANES)]
    assert found.tolist() == [33 if value == 3 else 2 * value for value in once]


def test_vectors_of_16_bytes_are_read_and_written_whole() -> None:
    source, target = aligned(4 * LANES), aligned(4 * LANES)
    source[:] = np.arange(4 * LANES)
    body = (
        GLOBAL_INDEX
        + """mul.wide.u32 %d1, %r0, 16; ld.param.u64 %d2, [p0]; add.u64 %d2, %d2, %d1;
    ld.param.u64 %d3, [p1]; add.u64 %d3, %d3, %d1; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d2];
    st.global.v4.u32 [%d3], {%r7, %r6, %r5, %r4};"""
    )
    launched = run(kernel(body, 2), source, target)
    assert target.reshape(-1, 4)[:, ::-1].ravel().tolist() == source.tolist()
    loads = launched.total(Home.DEVICE)
    assert (loads[Count.INSTRUCTIONS], loads[Count.BYTES], loads[Count.SECTORS], loads[Count.LINES]) == (
        1,
        512,
        16,
        4,
    )


def test_each_lane_has_local_memory_of_its_own_and_names_of_memory_have_addresses() -> None:
    body = """.local .align 8 .b8 own[16]; mov.u64 %d1, own; cvta.local.u64 %d2, %d1; mov.u32 %r1, %tid.x;
    st.local.u32 [%d1+4], %r1; ld.u32 %r2, [%d2+4]; mov.u64 %d3, table; cvta.global.u64 %d3, %d3;
    and.b32 %r3, %r1, 3; mul.wide.u32 %d4, %r3, 4; add.u64 %d4, %d3, %d4; ld.global.u32 %r4, [%d4];
    add.u32 %r5, %r2, %r4; ld.param.u64 %d5, [p0]; mul.wide.u32 %d6, %r1, 4; add.u64 %d5, %d5, %d6;
    st.global.u32 [%d5], %r5;"""
    found = np.zeros(LANES, np.uint32)
    run(kernel(body, 1, before=".global .align 4 .u32 table[4] = {100, 200, 300, 400};"), found)
    assert found.tolist() == [lane + 100 * (lane % 4 + 1) for lane in range(LANES)]
