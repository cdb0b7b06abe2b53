"""The kernels of PageRank on one backend, bound once."""

from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from grapin.kernels.cuda.backend import Backend, bind_functions
from grapin.kernels.cuda.pagerank import flows, passes, residuals, rounds
from grapin.kernels.cuda.walk import bind_walk

_bound: WeakKeyDictionary[Any, dict[tuple[Any, ...], SimpleNamespace]] = WeakKeyDictionary()


def bind_pagerank(backend: Backend, *, cached: bool, **sizes: Any) -> SimpleNamespace:
    """Return the kernels by name; `sizes` may set `SHORT` and `LONG` of `walk.py`."""
    made = _bound.setdefault(backend, {})
    name = cached, *sorted(sizes.items())
    if name not in made:
        names = bind_functions(backend, (*residuals.FUNCTIONS, *rounds.FUNCTIONS), **sizes)
        kernels = (*flows.KERNELS, *passes.KERNELS, *rounds.KERNELS)
        made[name] = SimpleNamespace(
            push=bind_walk(backend, "pagerank", weights=False, cached=cached, **names),
            **{one.__name__: backend.kernel(one, "pagerank", **names) for one in kernels},
        )
    return made[name]
