"""Property-based testing, ready to import: strategies, a state machine, comparisons, interleavings, poisoned memory.

Hold your own store, device, system or program against the reference under random mutation streams:

    from hypothesis import given
    from grapin.testing import mutation_streams

    @given(mutation_streams(weights="int32"))
    def test_my_distances_stay_right(stream): ...

`explore` tries every interleaving of a protocol between threads. Strategies and the machine need Hypothesis;
`explore`, `poisoned_memory` and the comparisons do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grapin.errors import MissingDependency
from grapin.testing.interleavings import (
    Counterexample,
    Exploration,
    Interleaved,
    Weak,
    atomic,
    compare_and_swap,
    explore,
    fence,
    minimum,
    read,
    write,
)
from grapin.testing.poison import poisoned_memory

if TYPE_CHECKING:
    from grapin.engine.verify import (
        check_same_changes,
        check_same_graph,
        verify_answer,
        verify_engine,
    )
    from grapin.programs.check import check_edge
    from grapin.testing.case import Case, Setup
    from grapin.testing.failures import Failure, Searched, cases, find_failure, search
    from grapin.testing.machines import EngineMachine, StoreMachine
    from grapin.testing.monotone import Refutation, check_monotone, find_refutation
    from grapin.testing.mutations import (
        InvalidCase,
        batches,
        clearances,
        hub_bursts,
        hub_churns,
        invalid_batches,
    )
    from grapin.testing.strategies import MutationStream, edge_lists, graphs, mutation_streams
    from grapin.testing.weights import Weights

_HOMES = {
    "Case": "grapin.testing.case",
    "EngineMachine": "grapin.testing.machines",
    "Failure": "grapin.testing.failures",
    "InvalidCase": "grapin.testing.mutations",
    "MutationStream": "grapin.testing.strategies",
    "Refutation": "grapin.testing.monotone",
    "Searched": "grapin.testing.failures",
    "Setup": "grapin.testing.case",
    "StoreMachine": "grapin.testing.machines",
    "Weights": "grapin.testing.weights",
    "batches": "grapin.testing.mutations",
    "cases": "grapin.testing.failures",
    "check_edge": "grapin.programs.check",
    "check_monotone": "grapin.testing.monotone",
    "check_same_changes": "grapin.engine.verify",
    "check_same_graph": "grapin.engine.verify",
    "clearances": "grapin.testing.mutations",
    "edge_lists": "grapin.testing.strategies",
    "find_failure": "grapin.testing.failures",
    "find_refutation": "grapin.testing.monotone",
    "graphs": "grapin.testing.strategies",
    "hub_bursts": "grapin.testing.mutations",
    "hub_churns": "grapin.testing.mutations",
    "invalid_batches": "grapin.testing.mutations",
    "mutation_streams": "grapin.testing.strategies",
    "search": "grapin.testing.failures",
    "verify_answer": "grapin.engine.verify",
    "verify_engine": "grapin.engine.verify",
}

__all__ = [
    "Case",
    "Counterexample",
    "EngineMachine",
    "Exploration",
    "Failure",
    "Interleaved",
    "InvalidCase",
    "MutationStream",
    "Refutation",
    "Searched",
    "Setup",
    "StoreMachine",
    "Weak",
    "Weights",
    "atomic",
    "batches",
    "cases",
    "check_edge",
    "check_monotone",
    "check_same_changes",
    "check_same_graph",
    "clearances",
    "compare_and_swap",
    "edge_lists",
    "explore",
    "fence",
    "find_failure",
    "find_refutation",
    "graphs",
    "hub_bursts",
    "hub_churns",
    "invalid_batches",
    "minimum",
    "mutation_streams",
    "poisoned_memory",
    "read",
    "search",
    "verify_answer",
    "verify_engine",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'grapin.testing' has no attribute {name!r}")
    try:
        module = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise MissingDependency(
            f"grapin.testing.{name} needs Hypothesis: pip install 'grapin[testing]'"
        ) from error
    return getattr(module, name)
