"""A cluster gives what one process gives, also when a worker is killed on the way."""

import json
import shlex
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sample_tasks import die_once, fail_at, scaled_sum

from grapin import pool as module
from grapin.cli.main import main
from grapin.errors import InvalidArgument
from grapin.pool import map_tasks
from grapin.sim import sweep
from grapin.sim.predict import combine
from grapin.trace import Trace

pytest.importorskip("distributed")
pytest_plugins = ("running_cluster",)
if TYPE_CHECKING:  # pytest wants to be the first to load its plugins
    from running_cluster import Cluster


@pytest.fixture(scope="module")
def trace() -> Trace:
    """A start and two repairs that read lists here and there."""
    draws = np.random.default_rng(0)
    phase = np.repeat(np.arange(3, dtype=np.int32), [2000, 200, 100])
    count = len(phase)
    vertex = draws.integers(0, 500, count).astype(np.int32)
    reads = {
        "phase": phase,
        "iteration": np.sort(draws.integers(0, 5, count)).astype(np.int32),
        "vertex": vertex,
        "inward": np.zeros(count, np.bool_),
        "start": vertex.astype(np.int64) * 64,
        "length": (vertex % 60).astype(np.int32),
        "arrays": np.full(count, 2, np.uint8),
        "whole": np.ones(count, np.bool_),
        "cached": np.zeros(count, np.bool_),
    }
    version, same = np.arange(3), np.ones(3, np.int64)
    sizes = {"vertices": 500 * same, "edges": 15000 * same, "out_slots": 32000 * same, "in_slots": 0 * same}
    changes = {name: np.zeros(0, np.int64) for name in ("version", "vertex", "start", "mutations")}
    changes |= {"inward": np.zeros(0, np.bool_), "length": np.zeros(0, np.int32)}
    about = {"programs": ["sssp"], "system": "bounded", "repair": "bounded", "device": "cpu"}
    return Trace(reads, {"version": version, "program": 0 * same, **sizes}, changes, about)


def test_results_come_in_the_order_asked_and_each_counts(two_workers: "Cluster") -> None:
    steps: list[float] = []
    tasks = [1, 2, 50, 3, 100]
    found = map_tasks(
        scaled_sum, tasks, shared=(np.arange(1000),), cluster=two_workers.address, advance=steps.append
    )
    assert found == [factor * 499500 for factor in tasks]
    assert sum(steps) == 5


def test_a_sweep_is_that_of_one_process_also_when_a_worker_is_killed_on_the_way(
    two_workers: "Cluster", trace: Trace
) -> None:
    combinations = combine(["a5000", "h100"], ["bounded"], ["1K", "10%", "50%"], ["link.lanes=4,8,16"])
    arrived: list[float] = []

    def kill_at_the_first(amount: float) -> None:
        if not arrived:
            two_workers.kill_worker()
        arrived.append(amount)

    traces = {"bounded": trace}
    alone = sweep(traces, combinations)
    assert sweep(traces, combinations, cluster=two_workers.address) == alone
    assert sweep(traces, combinations, cluster=two_workers.address, advance=kill_at_the_first) == alone
    assert len(arrived) == len(combinations) == 18


def test_a_task_that_kills_its_worker_is_done_by_the_other(two_workers: "Cluster", tmp_path: Path) -> None:
    marker = tmp_path / "died"
    found = map_tasks(die_once, range(6), shared=(3, str(marker)), cluster=two_workers.address)
    assert found == [0, 10, 20, 30, 40, 50]
    assert marker.exists()


def test_the_first_error_of_a_task_is_the_error_of_all(two_workers: "Cluster") -> None:
    with pytest.raises(ValueError, match="task 2 is bad"):
        map_tasks(fail_at, range(4), shared=(2,), cluster=two_workers.address)


def test_what_if_asks_a_cluster(
    two_workers: "Cluster", trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace.save(tmp_path / "trace.npz")
    asked = ["whatif", str(tmp_path / "trace.npz"), "--machine", "a5000,h100", "--json", "-"]
    assert main(asked) == 0
    alone = capsys.readouterr().out
    assert main([*asked, "--cluster", two_workers.address]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(alone)


def test_workers_with_another_version_are_refused(
    two_workers: "Cluster", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "version", lambda _name: "99.0")
    with pytest.raises(
        InvalidArgument, match=r"must have grapin 99\.0 on every worker, but tcp://.* has 0\."
    ):
        map_tasks(fail_at, [1], shared=(2,), cluster=two_workers.address)


def test_a_cluster_without_workers_is_refused(
    running: "Cluster", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running.stop()
    running.wait_for(0)
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 2)
    assert main(["whatif", "path:9", "--cluster", running.address]) == 2
    assert f"must have workers: start some with `dask worker {running.address}`" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "somewhere", ""])
def test_an_address_without_a_scheduler_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 1)
    assert main(["whatif", "path:9", "--cluster", address]) == 2
    shown = capsys.readouterr()
    must = "must be the address of a Dask scheduler that runs, such as tcp://host:8786"
    assert shown.err == f"grapin: --cluster {shlex.quote(address)} {must}\n"
    assert shown.out == ""


def test_without_dask_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    assert main(["whatif", "path:9", "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert "pip install 'grapin[cluster]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "banner", [b"HTTP/1.1 400 Bad Request\r\n\r\n" * 20, bytes(64), b"SSH-2.0-OpenSSH\r\n"]
)
def test_another_service_at_the_address_is_refused_like_none(
    banner: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    caller, _ = server.accept()
                    with caller:
                        caller.sendall(banner)

        threading.Thread(target=answer, daemon=True).start()
        assert main(["whatif", "path:9", "--cluster", f"tcp://127.0.0.1:{server.getsockname()[1]}"]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("grapin: --cluster tcp://127.0.0.1:")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("protocol", ["tcp://", ""])
def test_a_port_that_stays_silent_is_refused_in_time_like_none(
    protocol: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        begun = time.monotonic()
        address = f"{protocol}127.0.0.1:{server.getsockname()[1]}"
        assert main(["whatif", "path:9", "--cluster", address]) == 2
        assert time.monotonic() - begun < 30
    shown = capsys.readouterr()
    assert "must be the address of a Dask scheduler that runs" in shown.err
    assert shown.err.count("\n") == 1
