"""Several processes give what one gives, also when one of them dies, and Ctrl-C ends them all."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sample_tasks import die, die_once, fail_at, found_after, is_found, scaled_sum, who, writes

from grapin.errors import InvalidArgument, ValueOverflow, WorkersLost
from grapin.pool import map_tasks

VALUES = np.arange(1000)


def test_results_come_in_the_order_asked_whatever_the_order_of_arrival() -> None:
    steps: list[float] = []
    alone = map_tasks(scaled_sum, [1, 2, 50, 3, 100], shared=(VALUES,))
    together = map_tasks(scaled_sum, [1, 2, 50, 3, 100], shared=(VALUES,), processes=3, advance=steps.append)
    assert together == alone == [factor * 499500 for factor in (1, 2, 50, 3, 100)]
    assert sum(steps) == 5


def test_one_process_or_one_task_is_done_here_and_no_task_nowhere() -> None:
    assert map_tasks(who, [1, 2]) == [os.getpid()] * 2
    assert map_tasks(who, [1], processes=8) == [os.getpid()]
    assert map_tasks(who, [], processes=8) == []


def test_a_task_whose_process_dies_is_done_by_another(tmp_path: Path) -> None:
    found = map_tasks(die_once, range(6), shared=(3, str(tmp_path / "died")), processes=2)
    assert found == [0, 10, 20, 30, 40, 50]
    assert (tmp_path / "died").exists()


def test_a_task_that_kills_every_process_is_given_up_with_a_remedy() -> None:
    with pytest.raises(WorkersLost, match=r"3 times in a row, a process ended .* try fewer processes"):
        map_tasks(die, [1, 2], processes=2)


def test_the_first_error_of_a_task_is_the_error_of_all() -> None:
    with pytest.raises(ValueError, match="task 2 is bad"):
        map_tasks(fail_at, range(4), shared=(2,), processes=2)


@pytest.mark.parametrize(
    "error", [ValueOverflow("sssp"), InvalidArgument("a=1 must be 2"), WorkersLost("gone")]
)
def test_an_error_arrives_from_another_process_with_its_sentence(error: Exception) -> None:
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived)) == (type(error), str(error))


def test_what_a_task_writes_into_shared_arrays_stays_in_its_process() -> None:
    mine = np.arange(3)
    for values, writeable in map_tasks(writes, [1, 2], shared=(mine,), processes=2):
        assert writeable
        assert values in ([1, 2, 3], [2, 3, 4])  # one process may do both
    assert mine.tolist() == [0, 1, 2]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_found_first_is_the_first_in_order_whatever_the_order_of_arrival(processes: int) -> None:
    # The fourth task has its result before the third.
    tasks = [(0.0, False), (0.1, False), (0.6, True), (0.0, True)]
    assert map_tasks(found_after, tasks, processes=processes, until=is_found) == [None, None, 0.6]
    assert map_tasks(found_after, tasks[:2], processes=processes, until=is_found) == [None, None]
    assert map_tasks(found_after, [], processes=processes, until=is_found) == []


def test_tasks_behind_what_is_found_are_given_up() -> None:
    begin = time.monotonic()
    assert map_tasks(found_after, [(0.0, True), (600.0, True)], processes=2, until=is_found) == [0]
    assert time.monotonic() - begin < 600


def test_processes_must_be_a_number_from_one_on() -> None:
    with pytest.raises(InvalidArgument, match="processes=0 must be at least 1"):
        map_tasks(who, [1], processes=0)


SCRIPT = """
from sample_tasks import sleep
from grapin.interrupts import heard_terminations
from grapin.pool import map_tasks
if __name__ == "__main__":
    try:
        with heard_terminations():
            map_tasks(sleep, [60.0, 60.0], shared=(MARKER,), processes=2)
    except KeyboardInterrupt as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, b"KeyboardInterrupt\n"), (signal.SIGTERM, b"Terminated\n")]
)
@pytest.mark.parametrize("reaches", ["the first process", "all processes"])
def test_a_signal_ends_all_processes_without_a_word_of_theirs(
    number: int, error: bytes, reaches: str, tmp_path: Path
) -> None:
    marker, script = tmp_path / "started", tmp_path / "script.py"
    script.write_text(SCRIPT.replace("MARKER", repr(str(marker))))
    found = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    run = subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(found)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not marker.exists():
        assert run.poll() is None
        time.sleep(0.02)
    if reaches == "all processes":
        os.killpg(run.pid, number)
    else:
        run.send_signal(number)
    # Over only when every process that inherited the pipes has ended.
    assert run.communicate(timeout=30) == (error, b"")
