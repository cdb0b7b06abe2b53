"""Kernels bound to one program: compiled on first use, kept on disk, shared by equal programs."""

from types import SimpleNamespace
from typing import Any

import numba

from grapin.compiled import compiled
from grapin.kernels.cpu.monotone import correct, fitting, forward, published, repair, starting
from grapin.kernels.cpu.monotone.sweep import sweep_kernels
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


_KERNELS = (
    correct.orphan_worsened,
    correct.correct,
    correct.pull,
    forward.queue_losses,
    forward.queue_offers,
    forward.forward,
    forward.close_journal,
    published.invalidate,
    fitting.offered_too_much,
    starting.start_keys,
)
_bound: dict[str, SimpleNamespace] = {}


def bind_monotone(program: Monotone, code: Coding, *, stored_weights: bool, sides: int) -> SimpleNamespace:
    """Return the kernels for one program, by name; equal rules give the very same kernels."""
    reads = stored_weights and program.weighted
    name = f"{program.name}_{digest(program, code)}_{sides}{'w' if reads else ''}"
    if name not in _bound:
        inlined = numba.njit(nogil=True, error_model="numpy")
        rules = {
            "offer": make_offer(program, code, inlined),
            "start_key": make_start(program, code, inlined),
            "weight_at": stored_weight if reads else unit_weight,
            "SIDES": sides,
            "ARRAYS": 2 if reads else 1,
        }
        kernels = {kernel.__name__: compiled(rebind(kernel, name, **rules)) for kernel in _KERNELS}
        kernels["repair"] = compiled(rebind(repair.repair, name, **rules, **kernels))
        _bound[name] = SimpleNamespace(**kernels, **sweep_kernels(name, rules))
    return _bound[name]
