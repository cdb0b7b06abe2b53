"""Kernels bound to one program: compiled on first use, kept on disk, shared by equal programs."""

from types import SimpleNamespace
from typing import Any

import numba

from grapin.compiled import compiled
from grapin.kernels.cpu import repair
from grapin.kernels.rules import Coding, digest, make_offer, make_start, rebind
from grapin.programs.program import Monotone


@compiled
def stored_weight(weights: Any, place: int) -> Any:
    """The weight beside a neighbour."""
    return weights[place]


@compiled
def unit_weight(weights: Any, place: int) -> int:  # noqa: ARG001  (the same signature as the other)
    """Every edge weighs 1."""
    return 1


_bound: dict[str, SimpleNamespace] = {}


def bind_monotone(program: Monotone, code: Coding, *, stored_weights: bool, sides: int) -> SimpleNamespace:
    """Return the repair kernels for one program; equal rules give the very same kernels."""
    reads = stored_weights and program.weighted
    name = f"{program.name}_{digest(program, code)}_{sides}{'w' if reads else ''}"
    if name not in _bound:
        inlined = numba.njit(nogil=True, error_model="numpy")
        rules = {
            "offer": make_offer(program, code, inlined),
            "start_key": make_start(program, inlined),
            "weight_at": stored_weight if reads else unit_weight,
            "SIDES": sides,
            "ARRAYS": 2 if reads else 1,
        }
        names = ("orphan_worsened", "correct", "pull", "seed_forward", "seed_offers", "forward", "finish")
        kernels = {kernel: compiled(rebind(getattr(repair, kernel), name, **rules)) for kernel in names}
        _bound[name] = SimpleNamespace(**kernels)
    return _bound[name]
