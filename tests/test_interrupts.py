"""Ctrl-C and SIGTERM take effect when a step is over, once; twice at once; and never change another's handler."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time

import pytest

import grapin
from grapin.interrupts import (
    Interrupts,
    Terminated,
    heard_terminations,
    held_interrupts,
    remembered_interrupts,
)


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


def test_a_handler_of_the_users_own_stays_whoever_is_asked() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        with Interrupts() as interrupts, remembered_interrupts() as repeat, held_interrupts():
            signal.raise_signal(signal.SIGINT)
            assert heard
            assert not interrupts.seen
            repeat()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_what_is_held_within_what_is_noted_is_noted_behind_it_and_twice_is_at_once(
    number: int, kind: type[BaseException]
) -> None:
    with heard_terminations():
        with Interrupts() as interrupts:
            with held_interrupts():
                signal.raise_signal(number)
                assert not interrupts.seen
            assert interrupts.noted == number
            with pytest.raises(kind), held_interrupts():
                signal.raise_signal(number)
        with Interrupts(), held_interrupts():
            signal.raise_signal(number)
            with pytest.raises(kind):
                signal.raise_signal(number)
        with pytest.raises(kind), held_interrupts(), held_interrupts():
            signal.raise_signal(number)


def test_a_termination_is_heard_for_as_long_as_the_block_runs() -> None:
    with pytest.raises(Terminated), heard_terminations():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(KeyboardInterrupt) as raised, heard_terminations(), held_interrupts():
        signal.raise_signal(signal.SIGINT)
    assert raised.type is KeyboardInterrupt
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_termination_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with heard_terminations(), Interrupts() as interrupts:
            signal.raise_signal(signal.SIGTERM)
            assert not interrupts.seen
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_an_interrupt_that_got_lost_is_raised_again(number: int, kind: type[BaseException]) -> None:
    def gc_callback() -> None:  # the name of Hypothesis's function, in which nothing is raised
        signal.raise_signal(number)

    with heard_terminations(), remembered_interrupts() as repeat:
        repeat()
        gc_callback()
        with pytest.raises(kind):
            repeat()


def test_a_process_that_is_forked_ends_by_a_termination_that_its_program_hears() -> None:
    with heard_terminations(), held_interrupts():
        forked = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        forked.start()
        forked.terminate()
        forked.join(20)
        assert forked.exitcode == -signal.SIGTERM
