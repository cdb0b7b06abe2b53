"""Ctrl-C takes effect when a step is over, once; twice at once; and never changes another's handler."""

import signal
import subprocess
import sys
import threading

import pytest

import grapin
from grapin.interrupts import held_interrupts


def interrupted(times: int, done: list[str], error: Exception | None = None) -> None:
    with held_interrupts():
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        if error is not None:
            raise error
        done.append("all of it")


def test_an_interrupt_is_raised_behind_the_block_and_the_handler_is_as_before() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(1, done)
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_is_raised_at_once() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(2, done)
    assert not done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_is_what_is_raised() -> None:
    with pytest.raises(ValueError, match="mine"):
        interrupted(1, [], ValueError("mine"))


def test_a_handler_of_the_users_own_stays() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
            assert heard
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_are_left_alone() -> None:
    ran: list[bool] = []

    def run() -> None:
        with held_interrupts():
            ran.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ran


def test_a_batch_that_is_interrupted_is_applied_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = grapin.Engine(grapin.load("path:5"), grapin.BFS(0), device="reference")
    apply = grapin.Graph.apply

    def while_interrupted(graph: grapin.Graph, batch: grapin.Batch) -> grapin.Applied:
        signal.raise_signal(signal.SIGINT)
        return apply(graph, batch)

    monkeypatch.setattr(grapin.Graph, "apply", while_interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.apply(grapin.Batch(insert=[(0, 4, 1)]))
    assert engine.values[4] == 1


INTERRUPTED = """
import os, signal, sys, threading, time
from grapin.cli.main import main
main(["whatif", "rmat:10", "--batches", "2", "--batch-size", "10", "--system", "grapin"])  # compiled by now
def interrupt():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
code = main(["whatif", "rmat:13", "--batches", "4000", "--batch-size", "10", "--system", "grapin"])
sys.exit(code)
"""


@pytest.mark.parametrize("after", [0.4, 0.6, 0.8, 1.0])
def test_ctrl_c_while_a_graph_is_run_for_a_prediction_is_one_sentence(after: float) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(after)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 130, ended.stderr
    assert ended.stderr.splitlines()[-1] == "grapin: interrupted"
    assert "Traceback" not in ended.stderr
