"""The kernels of PageRank on one backend, bound once."""

from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from grapin.kernels.cuda import lists, walk
from grapin.kernels.cuda.backend import Backend, bind_functions
from grapin.kernels.cuda.pagerank import flows, passes, residuals, rounds

_bound: WeakKeyDictionary[Any, dict[tuple[Any, ...], SimpleNamespace]] = WeakKeyDictionary()


def bind_pagerank(backend: Backend, **sizes: Any) -> SimpleNamespace:
    """Return the kernels by name; `sizes` may set `SHORT` and `LONG` of `walk.py`."""
    made = _bound.setdefault(backend, {})
    name = tuple(sorted(sizes.items()))
    if name not in made:
        names = bind_functions(
            backend,
            (*lists.FUNCTIONS, *residuals.FUNCTIONS, *rounds.FUNCTIONS, *walk.FUNCTIONS),
            weight_at=backend.function(lists.unit_weight, CACHED=False),
            **sizes,
        )
        kernels = (*flows.KERNELS, *passes.KERNELS, *rounds.KERNELS, *walk.KERNELS)
        made[name] = SimpleNamespace(
            **{one.__name__: backend.kernel(one, "pagerank", **names) for one in kernels}
        )
    return made[name]
