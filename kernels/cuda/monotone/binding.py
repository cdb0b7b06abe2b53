"""Kernels bound to one program on one backend; equal rules share them."""

from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from grapin.kernels.cuda.backend import Backend, bind_functions
from grapin.kernels.cuda.monotone import closing, correct, forward, lowering, queues
from grapin.kernels.cuda.walk import bind_walk
from grapin.kernels.rules import Coding, digest, make_offer, make_start
from grapin.programs.program import Monotone

_bound: WeakKeyDictionary[Any, dict[tuple[Any, ...], SimpleNamespace]] = WeakKeyDictionary()


def stored_entry(weights: Any, entry: Any) -> Any:
    """The weight of an edge of a batch."""
    return weights[entry]


def unit_entry(weights: Any, entry: Any) -> int:  # noqa: ARG001  (the same signature as the other)
    """Every edge weighs 1."""
    return 1


def bind_monotone(
    backend: Backend,
    program: Monotone,
    code: Coding,
    *,
    stored_weights: bool,
    sides: int,
    searches: bool,
    cached: bool,
    **sizes: Any,
) -> SimpleNamespace:
    """Return the kernels for one program, by name; `sizes` may set `SHORT` and `LONG` of `walk.py`.

    Walks say how many arrays they read (`arrays`) and whether they may stop early (`peeks`).
    """
    variant = f"{program.name}_{digest(program, code)}"
    name = variant, stored_weights, sides, searches, cached, *sorted(sizes.items())
    made = _bound.setdefault(backend, {})
    if name not in made:
        made[name] = _bind(backend, variant, program, code, stored_weights, sides, searches, cached, sizes)
    return made[name]


def _bind(
    backend: Backend,
    variant: str,
    program: Monotone,
    code: Coding,
    stored_weights: bool,
    sides: int,
    searches: bool,
    cached: bool,
    sizes: dict[str, Any],
) -> SimpleNamespace:
    names = bind_functions(
        backend,
        (*queues.FUNCTIONS, *lowering.FUNCTIONS, *closing.FUNCTIONS, *correct.FUNCTIONS),
        offer=make_offer(program, code, backend.function),
        start_key=make_start(program, code, backend.function),
        weight_of=backend.function(stored_entry if stored_weights else unit_entry),
        SIDES=sides,
        SEARCHES=searches,
        **sizes,
    )
    kernels = (*queues.KERNELS, *forward.KERNELS, *correct.KERNELS, *closing.KERNELS)

    def walks(visit: Any, begin: Any, *, weights: bool = stored_weights, **more: Any) -> SimpleNamespace:
        inner = bind_functions(backend, (begin, visit), **names)
        more |= {"begin": inner[begin.__name__], "visit": inner[visit.__name__]}
        return bind_walk(
            backend, f"{visit.__name__}_{variant}", weights=weights, cached=cached, **names, **more
        )

    note = backend.function(correct.note_offer, **names)
    return SimpleNamespace(
        **{one.__name__: backend.kernel(one, variant, **names) for one in kernels},
        push=walks(forward.push, forward.own_key),
        consider=walks(
            correct.consider,
            forward.own_key,
            REDUCES=True,
            STOPS=True,
            enough=names["supported"],
            done=names["is_supported"],
            finish=note,
        ),
        release=walks(correct.release, correct.nothing, weights=False),
        gain=walks(correct.gain, correct.nothing, REDUCES=True, finish=note),
    )
