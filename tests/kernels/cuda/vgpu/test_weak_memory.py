"""Weak memory shows what a missing fence allows, and nothing that fences forbid: litmus tests with known outcomes."""

import numpy as np
import pytest
from ptx_running import kernel, run

SEEDS = 60
"""Enough that each outcome that is allowed was seen with a third of them."""

MESSAGE = """mov.u32 %r1, %ctaid.x; ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; setp.ne.u32 %p1, %r1, 0;
@%p1 bra reader; st.global.u32 [%d1], 1; {after_data} st.global.u32 [%d1+64], 1; bra.uni out;
reader: mov.u32 %r5, 0;
again: add.u32 %r5, %r5, 1; {flag} %r2, [%d1+64]; setp.eq.u32 %p2, %r2, 0; setp.lt.u32 %p3, %r5, 40;
and.pred %p2, %p2, %p3; @%p2 bra again; {before_data} ld.global.u32 %r3, [%d1];
st.global.u32 [%d2], %r2; st.global.u32 [%d2+4], %r3; out:"""


def outcomes(text: str, words: int, weak: bool = True) -> set[tuple[int, ...]]:
    found = set()
    for seed in range(SEEDS):
        shared, seen = np.zeros(32, np.uint32), np.zeros(words, np.uint32)
        run(
            text,
            shared,
            seen,
            grid=2,
            block=1,
            schedule="random",
            quantum=2,
            seed=seed,
            weak=weak,
        )
        found.add(tuple(seen.tolist()))
    return found


@pytest.mark.parametrize(
    ("writer", "reader", "lost"),
    [("fence.acq_rel.gpu;", "fence.acq_rel.gpu;", False), ("", "fence.acq_rel.gpu;", True),
     ("membar.gl;", "", True), ("", "", True)],
)  # fmt: skip
def test_a_message_arrives_whole_if_both_sides_have_a_fence(writer: str, reader: str, lost: bool) -> None:
    text = kernel(MESSAGE.format(after_data=writer, before_data=reader, flag="ld.volatile.global.u32"), 2)
    found = outcomes(text, 2)
    assert ((1, 0) in found) == lost
    assert (1, 1) in found


def test_without_weak_memory_no_message_is_lost() -> None:
    text = kernel(MESSAGE.format(after_data="", before_data="", flag="ld.global.u32"), 2)
    assert (1, 0) not in outcomes(text, 2, weak=False)


def test_a_load_may_be_stale_but_never_goes_back_in_time() -> None:
    body = """mov.u32 %r1, %ctaid.x; ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mov.u32 %r5, 0;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra reader; write: add.u32 %r5, %r5, 1; st.global.u32 [%d1], %r5;
    setp.lt.u32 %p2, %r5, 6; @%p2 bra write;
    bra.uni out; reader: ld.global.u32 %r2, [%d1]; st.global.u32 [%d2], %r2; add.u64 %d2, %d2, 4; add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 6; @%p2 bra reader; out:"""
    found = outcomes(kernel(body, 2), 6)
    assert all(list(one) == sorted(one) for one in found)
    assert len(found) > 10


def test_a_warp_sees_its_own_stores_at_once_and_all_are_there_at_the_end() -> None:
    body = """ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
    mov.u32 %r2, 0; again: ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, 1; st.global.u32 [%d1], %r3; add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 5; @%p1 bra again;"""
    for seed in range(5):
        counts = np.zeros(64, np.uint32)
        run(kernel(body, 1), counts, block=64, schedule="random", weak=True, seed=seed)
        assert counts.tolist() == [5] * 64
