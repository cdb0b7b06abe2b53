"""A Dask cluster of processes that tests start and kill: one for all of them, with two workers when it is asked for."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

PATIENCE = 60
"""Seconds that a scheduler may take to see what became of its workers."""


@dataclass(frozen=True)
class Cluster:
    """A scheduler and workers that nobody starts again."""

    address: str
    workers: list[subprocess.Popen[bytes]]

    def start_worker(self) -> None:
        """Add a worker with one thread."""
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        self.workers.append(dask("worker", self.address, *options))

    def kill_worker(self) -> None:
        """Kill the worker that is there for the longest time."""
        self.workers[0].kill()
        self.workers.pop(0).wait()

    def stop(self) -> None:
        """Kill all workers."""
        while self.workers:
            self.kill_worker()

    def wait_for(self, count: int) -> None:
        """Wait until the scheduler sees so many workers."""
        with import_module("distributed").Client(self.address) as client:
            deadline = time.monotonic() + PATIENCE
            while len(client.nthreads()) != count:
                assert time.monotonic() < deadline, client.nthreads()
                time.sleep(0.02)


def dask(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler, perhaps with workers of an earlier test."""
    about = tmp_path_factory.mktemp("scheduler") / "about.json"
    # Without a port for it, the page that nobody looks at takes one that others want.
    page = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
    run = dask("scheduler", "--port", "0", "--host", "127.0.0.1", *page, "--scheduler-file", str(about))
    while not about.exists() or not about.read_text():
        assert run.poll() is None
        time.sleep(0.02)
    cluster = Cluster(json.loads(about.read_text())["address"], [])
    yield cluster
    cluster.stop()
    run.kill()
    run.wait()


@pytest.fixture
def two_workers(running: Cluster) -> Cluster:
    """Start those that an earlier test has killed."""
    running.workers[:] = [worker for worker in running.workers if worker.poll() is None]
    while len(running.workers) < 2:
        running.start_worker()
    running.wait_for(2)
    return running
