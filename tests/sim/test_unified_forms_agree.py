"""The event form and the fast form of unified memory give the same answer, to the last page and tick."""

from dataclasses import replace

import numpy as np
from hypothesis import example, given

from grapin.sim import MACHINES
from grapin.sim.unified import UnifiedReplay
from grapin.sim.unified.events import replay_unified_events
from grapin.sim.unified.fast import replay_unified
from tests.sim.unified_traces import SMALL, Case, cases, make_trace, small_machine, stream_trace
from tests.sim.unified_traces import Phase as P


def both(case: Case) -> tuple[UnifiedReplay, UnifiedReplay]:
    options = {"advice": case.advice, "driver": case.driver, "memory": case.memory}
    events = replay_unified_events(case.trace, case.machine, **options)
    fast = replay_unified(case.trace, case.machine, **options)
    return events, fast


@given(cases)
def test_volumes_and_times_of_both_forms_are_equal(case: Case) -> None:
    events, fast = both(case)
    assert events == fast
