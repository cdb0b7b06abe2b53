"""A suite says what runs, by name or from a file; what it cannot run is one sentence."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.bench.peers import LIBRARIES
from grapin.bench.peers import PROGRAMS as KNOWN_TO_PEERS
from grapin.bench.suite import SUITES, Suite, find_suite
from grapin.errors import GrapinError, InvalidFile, MissingDependency
from grapin.programs import PROGRAMS
from grapin.system import RUNNABLE


def some(names: Any) -> Any:
    return st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=3, unique=True).map(tuple)


@given(some(PROGRAMS), some(RUNNABLE), st.sets(st.integers(1, 99), min_size=1, max_size=3), st.booleans())
def test_every_program_runs_once_under_every_system_with_every_batch_size(
    programs: tuple[str, ...], systems: tuple[str, ...], sizes: set[int], peer: bool
) -> None:
    suite = Suite(
        "any",
        ("path:9", "star:9"),
        programs,
        systems,
        ("cpu",),
        tuple(sizes),
        peers=("scipy",) if peer else (),
    )
    cases = [case for one in suite.workloads() for case in suite.cases(*one)]
    assert len(set(cases)) == len(cases)
    own = [case for case in cases if case.system is not None]
    assert len(own) == 2 * len(sizes) * len(programs) * len(systems)
    asked = len(set(programs) & set(KNOWN_TO_PEERS)) if peer else 0
    assert len(cases) - len(own) == 2 * len(sizes) * asked


@pytest.mark.parametrize("name", SUITES)
def test_a_built_in_suite_is_found_by_name_and_says_which_device_runs(name: str) -> None:
    suite = find_suite(name, {"seed": 7})
    assert suite.seed == 7
    assert "auto" not in suite.devices
    assert suite.graphs == SUITES[name].graphs


def test_a_file_is_read_and_options_replace_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('graphs = ["path:9"]\nprograms = ["bfs", "cc"]\nbatch_sizes = [2]\nthreads = 1\n')
    suite = find_suite(str(file), {"programs": ("sssp",), "devices": ("reference",)})
    assert (suite.name, suite.graphs, suite.programs) == ("mine", ("path:9",), ("sssp",))
    assert (suite.batch_sizes, suite.threads, suite.devices) == ((2,), 1, ("reference",))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("graphs = [", "is not a suite written as TOML"),
        ('programs = ["bfs"]', "graphs must be given"),
        ('graphs = ["path:9"]\nprogram = ["bfs"]', "(did you mean 'programs'?)"),
        ('graphs = "path:9"\nprograms = ["bfs"]', "graphs='path:9' must be a list in brackets"),
        ('graphs = [9]\nprograms = ["bfs"]', "graphs=[9] must be text in quotes"),
        ('graphs = ["path:9"]\nprograms = ["bsf"]', "(did you mean 'bfs'?)"),
        ('graphs = ["path:9"]\nprograms = []', "programs=[] must name at least one"),
        ('graphs = ["path:9"]\nprograms = ["bfs"]\nrepetitions = 51', "repetitions=51 must be at most 50"),
        ('graphs = ["path:9"]\nprograms = ["bfs"]\nbatch_sizes = [0]', "batch_sizes=0 must be at least 1"),
        ('graphs = ["path:9"]\nprograms = ["bfs"]\npeers = ["sciqy"]', "(did you mean 'scipy'?)"),
        (
            'graphs = ["path:9"]\nprograms = ["bfs"]\ninsertions = 2',
            "insertions=2 must be a number from 0 to 1",
        ),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_it(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(InvalidFile) as caught:
        find_suite(str(file), {})
    assert str(caught.value).startswith(f"{file}: ")
    assert sentence in str(caught.value)


def test_a_suite_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(GrapinError, match="must be one of default, quick, or a file"):
        find_suite("qick", {})
    with pytest.raises(InvalidFile, match="there is no such file"):
        find_suite("nowhere.toml", {})


def test_a_peer_that_is_not_installed_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(LIBRARIES, "no_such_library", "no-such-library")
    with pytest.raises(MissingDependency, match="pip install no-such-library"):
        find_suite("quick", {"peers": ("no_such_library",)})
