"""Calibrating on times made with a known machine finds that machine again, and says what the times do not tell."""

from functools import cache
from pathlib import Path

import pytest

import grapin
from grapin.errors import InvalidArgument, MissingDependency
from grapin.sim import MACHINES, Machine, find_machine, replay
from grapin.sim import calibrate as module
from grapin.sim.calibrate import Calibration, Observed, calibrate
from grapin.stream import workload
from grapin.trace import Trace

pytest.importorskip("scipy")

KNOWN = MACHINES["a5000"].with_settings({"link.generation": 3, "link.lanes": 4})
HIDDEN = {"link.round_trip": 2.6e-6, "link.efficiency": 0.7, "host.fault_batch": 55e-6}


@cache
def traced(system: str) -> Trace:
    stream = workload(grapin.generate("rmat:11:16"), batches=4, size=60, seed=2)
    engine = grapin.Engine(stream.graph(), grapin.SSSP(1), system=system, threads=1, trace=True)
    for batch in stream:
        engine.apply(batch)
    return engine.trace


def observed(system: str, machine: Machine) -> Observed:
    found = replay(traced(system), system, machine)
    return Observed(traced(system), system, [costs.seconds.total for costs in found.phases[1:]])


def fitted(*systems: str) -> Calibration:
    return calibrate([observed(system, KNOWN.with_settings(HIDDEN)) for system in systems], KNOWN)


def test_two_runs_that_differ_give_round_trip_and_efficiency_back() -> None:
    found = fitted("bounded", "grapin")
    assert set(found.fitted) == {"link.round_trip", "link.efficiency"}
    for name, (before, after) in found.fitted.items():
        assert before != pytest.approx(HIDDEN[name], rel=0.1)
        assert after == pytest.approx(HIDDEN[name], rel=1e-3)
    assert found.unidentifiable == ("host.fault_batch",)
    assert found.error_before > 0.05
    assert found.error_after < 1e-4


def test_with_a_run_through_page_faults_all_numbers_come_back() -> None:
    found = fitted("bounded", "grapin", "grapin-page")
    assert {name: after for name, (_, after) in found.fitted.items()} == pytest.approx(HIDDEN, rel=0.01)
    assert found.unidentifiable == ()


def test_what_the_times_do_not_tell_stays_as_it_was_with_its_source() -> None:
    found = fitted("bounded")
    assert list(found.fitted) == ["link.round_trip"]
    assert found.machine.link.efficiency == KNOWN.link.efficiency
    assert found.machine.host == KNOWN.host
    assert found.machine.link.sources["efficiency"] == KNOWN.link.sources["efficiency"]
    assert found.machine.link.sources["round_trip"] == "calibrated"


def test_a_calibrated_machine_is_saved_and_found_again(tmp_path: Path) -> None:
    machine = fitted("bounded", "grapin").machine
    machine.save(tmp_path / "mine.toml")
    assert find_machine(tmp_path / "mine.toml") == machine


def test_one_disturbed_batch_does_not_decide() -> None:
    runs = [observed(system, KNOWN.with_settings(HIDDEN)) for system in ("bounded", "grapin")]
    disturbed = Observed(runs[1].trace, "grapin", [*runs[1].seconds[:-1], 5 * runs[1].seconds[-1]])
    found = calibrate([runs[0], disturbed], KNOWN)
    assert found.fitted["link.round_trip"][1] == pytest.approx(HIDDEN["link.round_trip"], rel=0.15)


@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [
        ([1.0] * 3, "seconds of 3 batches must be of the 4 batches in the trace"),
        ([1.0, 0.0, 1.0, 1.0], "must be times above 0"),
        ([1.0, float("nan"), 1.0, 1.0], "must be times above 0"),
    ],
)
def test_times_that_cannot_be_are_refused(seconds: list[float], sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=sentence):
        Observed(traced("bounded"), "bounded", seconds)


def test_times_that_tell_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TELLING", 10.0)
    with pytest.raises(InvalidArgument, match=r"follow none of link\.round_trip, link\.efficiency"):
        fitted("bounded")


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    with pytest.raises(MissingDependency, match=r"grapin\[scipy\]"):
        calibrate([], KNOWN)
