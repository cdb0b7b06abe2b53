"""Every instruction computes what the PTX manual says: random programs against the same in Python."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_running import HEAD, kernel, run

from grapin.kernels.cuda.vgpu.ptx import Module, UnsupportedPtx
from grapin.kernels.cuda.vgpu.translation import translate

LANES = 32
WIDTHS = (16, 32, 64)
Numbers = tuple[int, ...]


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def read(value: int, kind: str) -> int:
    bits = int(kind[1:])
    return signed(value, bits) if kind[0] == "s" else value & ((1 << bits) - 1)


def divide(a: int, b: int, bits: int) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int, bits: int) -> int:
    return a if b == 0 else a - b * divide(a, b, bits)


def shift_right(a: int, by: int, bits: int) -> int:
    return a >> min(by, bits)


def extract(a: int, place: int, length: int, kind: str) -> int:
    bits, place, length = int(kind[1:]), place & 255, length & 255
    pattern = a & ((1 << bits) - 1)
    negative = kind[0] == "s" and length > 0
    sign = pattern >> min(place + length - 1, bits - 1) & 1 if negative else 0
    return sum(
        ((pattern >> (place + i) & 1) if i < length and place + i < bits else sign) << i for i in range(bits)
    )


def insert(a: int, b: int, place: int, length: int, bits: int) -> int:
    for i in range(length & 255):
        at = (place & 255) + i
        if at < bits:
            b = b & ~(1 << at) | (a >> i & 1) << at
    return b


def highest(a: int, bits: int, *, shift: bool) -> int:
    pattern = (~a if a < 0 else a) & ((1 << bits) - 1)
    if not pattern:
        return -1
    return bits - pattern.bit_length() if shift else pattern.bit_length() - 1


def permute(a: int, b: int, choice: int) -> int:
    whole, found = (b << 32) | a, 0
    for place in range(4):
        nibble = choice >> (4 * place) & 15
        byte = whole >> (8 * (nibble & 7)) & 255
        found |= ((255 if byte >> 7 else 0) if nibble & 8 else byte) << (8 * place)
    return found


def logic(table: int) -> Callable[[int, int, int], int]:
    def found(a: int, b: int, c: int) -> int:
        return sum(
            (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32)
        )

    return found


def funnel(low: int, high: int, by: int, *, left: bool, wrap: bool) -> int:
    by = by & 31 if wrap else min(by, 32)
    whole = (high << 32) | low
    return (whole << by) >> 32 if left else whole >> by


def integers() -> list[tuple[str, str, str, Any]]:
    """Instruction, type of its result, types of its operands, and what it computes."""
    found: list[tuple[str, str, str, Any]] = []
    for bits in WIDTHS:
        for kind in (f"u{bits}", f"s{bits}"):
            found += [
                (f"add.{kind}", kind, f"{kind} {kind}", lambda a, b: a + b),
                (f"sub.{kind}", kind, f"{kind} {kind}", lambda a, b: a - b),
                (f"mul.lo.{kind}", kind, f"{kind} {kind}", lambda a, b: a * b),
                (f"mul.hi.{kind}", kind, f"{kind} {kind}", lambda a, b, n=bits: (a * b) >> n),
                (f"mad.lo.{kind}", kind, f"{kind} {kind} {kind}", lambda a, b, c: a * b + c),
                (f"div.{kind}", kind, f"{kind} {kind}", lambda a, b, n=bits: divide(a, b, n)),
                (f"rem.{kind}", kind, f"{kind} {kind}", lambda a, b, n=bits: remainder(a, b, n)),
                (f"min.{kind}", kind, f"{kind} {kind}", min),
                (f"max.{kind}", kind, f"{kind} {kind}", max),
                (f"shr.{kind}", kind, f"{kind} u32", lambda a, b, n=bits: shift_right(a, b, n)),
                (f"sad.{kind}", kind, f"{kind} {kind} {kind}", lambda a, b, c: c + abs(a - b)),
            ]
            if bits < 64:
                wide = f"{kind[0]}{2 * bits}"
                found += [(f"mul.wide.{kind}", wide, f"{kind} {kind}", lambda a, b: a * b)]
                found += [(f"mad.wide.{kind}", wide, f"{kind} {kind} {wide}", lambda a, b, c: a * b + c)]
            if bits > 16:
                find = f"bfind.{kind}", f"bfind.shiftamt.{kind}"
                found += [(find[0], "u32", kind, lambda a, n=bits: highest(a, n, shift=False))]
                found += [(find[1], "u32", kind, lambda a, n=bits: highest(a, n, shift=True))]
                found += [
                    (f"bfe.{kind}", kind, f"{kind} u32 u32", lambda a, b, c, k=kind: extract(a, b, c, k))
                ]
            for other in WIDTHS:
                found += [(f"cvt.{kind}.{sign}{other}", kind, f"{sign}{other}", lambda a: a) for sign in "us"]
        unsigned, some = f"u{bits}", f"b{bits}"
        found += [
            (f"and.{some}", unsigned, f"{unsigned} {unsigned}", lambda a, b: a & b),
            (f"or.{some}", unsigned, f"{unsigned} {unsigned}", lambda a, b: a | b),
            (f"xor.{some}", unsigned, f"{unsigned} {unsigned}", lambda a, b: a ^ b),
            (f"not.{some}", unsigned, unsigned, lambda a: ~a),
            (f"cnot.{some}", unsigned, unsigned, lambda a: int(a == 0)),
            (f"shl.{some}", unsigned, f"{unsigned} u32", lambda a, b: a << min(b, 64)),
            (f"neg.s{bits}", unsigned, f"s{bits}", lambda a: -a),
            (f"abs.s{bits}", unsigned, f"s{bits}", abs),
        ]
        if bits > 16:
            found += [
                (f"popc.{some}", "u32", unsigned, lambda a: a.bit_count()),
                (f"clz.{some}", "u32", unsigned, lambda a, n=bits: n - a.bit_length()),
                (f"brev.{some}", unsigned, unsigned, lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2)),
                (
                    f"bfi.{some}",
                    unsigned,
                    f"{unsigned} {unsigned} u32 u32",
                    lambda a, b, c, d, n=bits: insert(a, b, c, d, n),
                ),
            ]
    found += [
        ("add.sat.s32", "s32", "s32 s32", lambda a, b: max(-(2**31), min(2**31 - 1, a + b))),
        ("sub.sat.s32", "s32", "s32 s32", lambda a, b: max(-(2**31), min(2**31 - 1, a - b))),
        ("cvt.sat.u16.s32", "u16", "s32", lambda a: max(0, min(65535, a))),
        ("cvt.sat.s32.u64", "s32", "u64", lambda a: min(2**31 - 1, a)),
        ("prmt.b32", "u32", "u32 u32 u32", permute),
    ]
    found += [
        (f"shf.{way}.{mode}.b32", "u32", "u32 u32 u32",
         lambda a, b, c, left=way == "l", wrap=mode == "wrap": funnel(a, b, c, left=left, wrap=wrap))
        for way in "lr" for mode in ("wrap", "clamp")
    ]  # fmt: skip
    found += [
        (f"setp.{name}.{kind}", "pred", f"{kind} {kind}", relation)
        for kind in ("u32", "s32", "u64", "s64", "s16")
        for name, relation in (
            ("eq", int.__eq__), ("ne", int.__ne__), ("lt", int.__lt__),
            ("le", int.__le__), ("gt", int.__gt__), ("ge", int.__ge__),
        )
    ]  # fmt: skip
    return found


INTEGERS = integers()
EDGES = (0, 1, 2, 31, 32, 33, 63, 64, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
words = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1))


@given(data=st.data())
@settings(max_examples=12)
def test_random_programs_of_integers_compute_what_python_does(data: st.DataObject) -> None:
    inputs = [data.draw(st.lists(words, min_size=LANES, max_size=LANES)) for _ in range(3)]
    values = [list(one) for one in inputs]
    lines, widths = [], [64, 64, 64]
    for number in range(len(inputs), len(inputs) + 24):
        name, result, operands, compute = data.draw(st.sampled_from(INTEGERS), label="instruction")
        kinds = operands.split()
        chosen = [data.draw(st.integers(0, number - 1)) for _ in kinds]
        names = []
        for place, (kind, source) in enumerate(zip(kinds, chosen, strict=True)):
            wide = int(kind[1:])
            names.append(f"%x{number}_{place}")
            lines.append(f".reg .b{wide} {names[-1]};")
            if wide == 64:
                lines.append(f"mov.b64 {names[-1]}, %w{source};")
            else:
                lines.append(f"cvt.u{wide}.u64 {names[-1]}, %w{source};")
        bits = 1 if result == "pred" else int(result[1:])
        kind = "pred" if result == "pred" else f"b{bits}"
        lines.append(f".reg .{kind} %y{number}; .reg .b64 %w{number};")
        lines.append(f"{name} %y{number}, {', '.join(names)};")
        if result == "pred":
            lines.append(f"selp.b64 %w{number}, 1, 0, %y{number};")
        else:
            lines.append(f"{'mov.b64' if bits == 64 else f'cvt.u64.u{bits}'} %w{number}, %y{number};")
        widths.append(bits)
        values.append(
            [
                int(compute(*(read(values[s][lane], k) for s, k in zip(chosen, kinds, strict=True))))
                & ((1 << bits) - 1)
                for lane in range(LANES)
            ]
        )
    head = "".join(
        f".reg .b64 %w{i}; add.u64 %d{i + 1}, %d0, {i * 8 * LANES}; ld.global.u64 %w{i}, [%d{i + 1}];\n"
        for i in range(len(inputs))
    )
    tail = "".join(f"st.global.u64 [%d10+{i * 8 * LANES}], %w{i};\n" for i in range(len(values)))
    body = (
        "mov.u32 %r0, %tid.x; mul.wide.u32 %d9, %r0, 8; ld.param.u64 %d0, [p0]; add.u64 %d0, %d0, %d9;"
        "ld.param.u64 %d10, [p1]; add.u64 %d10, %d10, %d9;\n" + head + "\n".join(lines) + "\n" + tail
    )
    given_numbers = np.array(inputs, np.uint64)
    results = np.zeros((len(values), LANES), np.uint64)
    run(kernel(body, 2), given_numbers, results)
    assert results.tolist() == values


def test_lop3_computes_every_table() -> None:
    tables = (0, 1, 0x80, 0x96, 0xE8, 0xCA, 0xFE, 0xFF)
    lines = "".join(
        f"lop3.b32 %r5, %r1, %r2, %r3, {table}; st.global.u32 [%d1+{4 * i}], %r5;\n"
        for i, table in enumerate(tables)
    )
    found = np.zeros(len(tables), np.uint32)
    a, b, c = 0x12345678, 0x9ABCDEF0, 0x0F1E2D3C
    body = f"mov.u32 %r1, {a}; mov.u32 %r2, {b}; mov.u32 %r3, {c}; ld.param.u64 %d1, [p0];\n{lines}"
    run(kernel(body, 1), found, block=1)
    assert found.tolist() == [logic(table)(a, b, c) for table in tables]


def test_carries_pass_from_one_instruction_to_the_next() -> None:
    body = """ld.param.u64 %d0, [p0]; ld.global.u64 %d1, [%d0]; ld.global.u64 %d2, [%d0+8]; ld.global.u64 %d3, [%d0+16];
    ld.global.u64 %d4, [%d0+24];
    add.cc.u64 %d5, %d1, %d3; addc.u64 %d6, %d2, %d4; st.global.u64 [%d0+32], %d5; st.global.u64 [%d0+40], %d6;
    sub.cc.u64 %d5, %d1, %d3; subc.u64 %d6, %d2, %d4; st.global.u64 [%d0+48], %d5; st.global.u64 [%d0+56], %d6;
    mad.lo.cc.u64 %d5, %d1, %d3, %d2; madc.hi.u64 %d6, %d1, %d3, %d4;
    st.global.u64 [%d0+64], %d5; st.global.u64 [%d0+72], %d6;"""
    a, b = 0xF123456789ABCDEF0123456789ABCDEF, 0x0FEDCBA9876543210FEDCBA987654321
    words = [a & 2**64 - 1, a >> 64, b & 2**64 - 1, b >> 64]
    found = np.array(words + [0] * 6, np.uint64)
    run(kernel(body, 1), found, block=1)
    whole = [int(low) | int(high) << 64 for low, high in found[4:].reshape(3, 2)]
    product = words[0] * words[2] + words[1] + (words[3] << 64)
    assert whole == [(a + b) % 2**128, (a - b) % 2**128, product % 2**128]


def single(number: float) -> float:
    return float(np.float32(number))


FLOATS = (0.0, -0.0, 1.5, -2.75, 1e-40, 3e38, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"))


@given(data=st.data(), wide=st.booleans())
@settings(max_examples=12)
def test_floats_are_computed_as_numpy_does(data: st.DataObject, wide: bool) -> None:
    numbers = st.one_of(st.sampled_from(FLOATS), st.floats())
    kind = "f64" if wide else "f32"
    real: Any = np.float64 if wide else np.float32
    width = 8 if wide else 4
    with np.errstate(all="ignore"):
        lists = st.lists(numbers, min_size=LANES, max_size=LANES)
        a: Any
        b: Any
        a, b = (np.array(data.draw(lists)).astype(real) for _ in range(2))
        expected = [
            a + b,
            a - b,
            a * b,
            a / b,
            np.sqrt(np.abs(a)),
            -a,
            np.abs(a),
            np.rint(a),
            np.trunc(a),
            np.floor(a),
        ]
        expected += [np.ceil(a), np.where(a < b, a, b), np.where(~(a < b), a, b), np.copysign(a, b)]
        lesser = (a < b) | (a == b) & np.signbit(a)  # minus zero is less than plus zero
        expected += [np.where(np.isnan(a), b, np.where(np.isnan(b) | lesser, a, b))]
        expected += [np.where(np.isnan(a), b, np.where(np.isnan(b) | ~lesser, a, b))]
    x = "%g" if wide else "%f"
    lines = [
        f"add.rn.{kind} {x}3, {x}1, {x}2", f"sub.rn.{kind} {x}3, {x}1, {x}2", f"mul.rn.{kind} {x}3, {x}1, {x}2",
        f"div.rn.{kind} {x}3, {x}1, {x}2", f"abs.{kind} {x}4, {x}1; sqrt.rn.{kind} {x}3, {x}4",
        f"neg.{kind} {x}3, {x}1", f"abs.{kind} {x}3, {x}1", f"cvt.rni.{kind}.{kind} {x}3, {x}1",
        f"cvt.rzi.{kind}.{kind} {x}3, {x}1", f"cvt.rmi.{kind}.{kind} {x}3, {x}1", f"cvt.rpi.{kind}.{kind} {x}3, {x}1",
        f"setp.lt.{kind} %p1, {x}1, {x}2; selp.{kind} {x}3, {x}1, {x}2, %p1",
        f"setp.geu.{kind} %p1, {x}1, {x}2; selp.{kind} {x}3, {x}1, {x}2, %p1",
        f"copysign.{kind} {x}3, {x}2, {x}1", f"min.{kind} {x}3, {x}1, {x}2", f"max.{kind} {x}3, {x}1, {x}2",
    ]  # fmt: skip
    stores = "".join(
        f"{line}; st.global.{kind} [%d2+{width * LANES * i}], {x}3;\n" for i, line in enumerate(lines)
    )
    body = (
        f"mov.u32 %r0, %tid.x; mul.wide.u32 %d9, %r0, {width}; ld.param.u64 %d0, [p0]; add.u64 %d0, %d0, %d9;"
        "ld.param.u64 %d1, [p1]; add.u64 %d1, %d1, %d9; ld.param.u64 %d2, [p2]; add.u64 %d2, %d2, %d9;"
        f"ld.global.{kind} {x}1, [%d0]; ld.global.{kind} {x}2, [%d1];\n{stores}"
    )
    found = np.zeros((len(lines), LANES), real)
    run(kernel(body, 3), a, b, found)
    for line, ours, theirs in zip(lines, found, expected, strict=True):
        same = (ours == theirs) & (np.signbit(ours) == np.signbit(theirs)) | np.isnan(ours) & np.isnan(theirs)
        assert same.all(), (line, a[~same], b[~same], ours[~same], theirs[~same])


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
def test_floats_become_integers_clamped(kind: str) -> None:
    numbers = np.array(
        [0.0, 1.5, -1.5, 2.5, 1e10, -1e10, 1e300, -1e300, np.inf, -np.inf, np.nan, 4294967295.0]
    )
    width = int(kind[1:]) // 8
    body = f"""mov.u32 %r0, %tid.x; mul.wide.u32 %d9, %r0, 8; ld.param.u64 %d0, [p0]; add.u64 %d0, %d0, %d9;
    mul.wide.u32 %d8, %r0, {width}; ld.param.u64 %d1, [p1]; add.u64 %d1, %d1, %d8; ld.global.f64 %g1, [%d0];
    .reg .b{8 * width} %i; cvt.rni.{kind}.f64 %i, %g1; st.global.{kind} [%d1], %i;"""
    found = np.zeros(len(numbers), f"{'i' if kind[0] == 's' else 'u'}{width}")
    run(kernel(body, 2), numbers, found, block=len(numbers))
    least, most = np.iinfo(found.dtype).min, np.iinfo(found.dtype).max
    nothing = least if kind == "s64" else 2**63 if kind == "u64" else 0
    expected = [
        nothing
        if np.isnan(one)
        else max(least, min(most, round(one) if np.isfinite(one) else most if one > 0 else least))
        for one in numbers
    ]
    assert found.tolist() == expected


def test_immediate_numbers_are_read_in_all_their_spellings() -> None:
    spelled = {
        "7": 7,
        "-3": 2**64 - 3,
        "0x1F": 31,
        "017": 15,
        "0D3FF8000000000000": 0x3FF8000000000000,
        "9U": 9,
    }
    lines = "".join(
        f"mov.b64 %d1, {text}; st.global.u64 [%d0+{8 * i}], %d1;" for i, text in enumerate(spelled)
    )
    lines += "mov.f64 %g1, 0D3FF8000000000000; st.global.f64 [%d0+48], %g1;"
    lines += "mov.f32 %f1, 0f40490FDB; st.global.f32 [%d0+56], %f1;"
    found = np.zeros(8, np.uint64)
    run(kernel(f"ld.param.u64 %d0, [p0];{lines}", 1), found, block=1)
    assert found[:6].tolist() == list(spelled.values())
    assert found[6:7].view(np.float64)[0] == 1.5
    assert struct.unpack("<f", struct.pack("<I", int(found[7])))[0] == single(3.14159274)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("add.rz.f64 %g1, %g2, %g3;", "only rounding to the nearest is known"),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [surface, {%r1}];", "'tex'"),
        ("barrier.arrive 0, 64;", "barriers that are arrived at and not waited for"),
    ],
)
def test_an_instruction_that_is_not_known_is_named_with_its_kernel_and_line(line: str, why: str) -> None:
    with pytest.raises(
        UnsupportedPtx, match=r"kernel tested, PTX line \d+: the virtual GPU does not know"
    ) as error:
        translate(kernel(line, 0))
    assert why in str(error.value)
    assert line.split(maxsplit=1)[0] in str(error.value)


def test_a_function_that_calls_itself_is_refused() -> None:
    text = f"{HEAD}.func f() {{ call.uni f; ret; }}\n.visible .entry tested() {{ call.uni f; ret; }}\n"
    with pytest.raises(UnsupportedPtx, match="f calls itself"):
        Module(text).kernel("tested")
