"""Mutation testing: which of a sample of mutants do the quick tests kill, and why do the others live?

    python tests/mutation/run.py                # goes on where it was stopped
    python tests/mutation/run.py --survivors    # those that lived meet as many examples as in CI
    python tests/mutation/run.py --write        # docs/mutants.md, from what was found

Kernels run as the Python they are, so a mutant is met without compilation. First every test of the folders below runs
once without a mutant: what takes longer than its time or needs a compiler is left out, and which functions a test
enters is kept. A mutant then meets the tests that enter its function, quickest first, in a process of its own, until
one fails.
"""

import argparse
import gc
import json
import os
import resource
import select
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from mutants import PARTS, ROOT, Mutant, sample

SEED, SIZE = 28, 200
FOLDERS = {
    "reference": ("reference", "engine"),
    "store": ("graph", "test_named.py"),
    "CPU kernels": ("kernels", "engine"),
    "model": ("sim",),
}
"""Where the tests of a part are."""
_SLOW = (
    "--ignore=tests/kernels/cuda",
    *("--ignore-glob=tests/graph/*pages*", "--ignore-glob=tests/graph/*release*"),
    "--ignore-glob=tests/graph/*paged*",
)
"""A GPU's kernels are not among what is mutated, and take longest as plain Python."""
TEST_SECONDS = 2.0
"""A test that takes longer without compilation is not among the quick ones."""
MUTANT_SECONDS = 20.0
"""So long do the tests of a mutant take together when nothing is wrong."""
PATIENCE = 4.0
"""A mutant is killed when its tests take so many times as long: most of these never end."""
MOST_WAITED = 8
"""Times its processor time that a process may take on a machine that has other work."""
RECORDS = ROOT / "records"
FOUND = RECORDS / "mutants.jsonl"
SURVIVORS = Path(__file__).with_name("survivors.toml")
PAGE = ROOT / "docs" / "mutants.md"

COMMON = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(ROOT), "-o", "addopts="),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning", "--tb=no", "--continue-on-collection-errors"),
    *("-W", "ignore:overflow encountered:RuntimeWarning"),  # hashing, which machine code does without a word
    *("-p", "no:unraisableexception", "-p", "no:threadexception"),
)
"""Hypothesis is loaded before pytest is, so that it is loaded once."""

settings.register_profile(
    "mutants",
    max_examples=10,
    stateful_step_count=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # that a mutant fails is enough; how briefly is not asked
    suppress_health_check=list(HealthCheck),
)


class TookTooLong(BaseException):
    """A test had its time; not an Exception, which Hypothesis would take for a failure and try again."""


class Watch:
    """A plugin of pytest: gives each test its time, and keeps which functions it entered, or the first that failed."""

    def __init__(self, *, profile: bool, seconds: float) -> None:
        self.profile, self.seconds = profile, seconds
        self.found: dict[str, dict[str, Any]] = {}
        self.failed = ""
        self._entered: set[CodeType] = set()
        self._seconds = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """Time one test; what its fixtures enter counts with it."""
        signal.signal(signal.SIGPROF, _time_is_up)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        begun = time.process_time()
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self._seconds = time.process_time() - begun

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Keep what one test enters from its fixtures on."""
        self._entered.clear()
        if self.profile:
            sys.setprofile(self._profile)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            if item.nodeid in self.found:
                names = sorted(filter(None, map(_name, self._entered)))
                self.found[item.nodeid] = {"seconds": self._seconds, "functions": names}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hear how one part of a test ended."""
        if report.failed:
            self.failed = self.failed or report.nodeid
            self.found.pop(report.nodeid, None)
        elif report.when == "call" and report.passed:
            self.found[report.nodeid] = {}

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._entered.add(frame.f_code)


def _time_is_up(*_: object) -> None:
    raise TookTooLong


def _name(code: CodeType) -> str | None:
    path = os.path.relpath(os.path.realpath(code.co_filename), ROOT)
    inside = any(path.startswith(folder) for folders in PARTS.values() for folder in folders)
    return f"{path}:{code.co_qualname}" if inside else None


class Mutated(SourceFileLoader):
    """Loads one module as the mutant has it, and every other as it is."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(ROOT / mutant.path))
        self._code = mutant.code()

    def get_code(self, fullname: str) -> CodeType:
        """Return the mutant's code."""
        return self._code

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Find the mutant where it is asked for."""
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None


def run_tests(tests: Sequence[str], watch: Watch, *options: str) -> None:
    """Run tests in this process; what they print goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    pytest.main([*COMMON, *options, *tests], plugins=[watch])


def in_process(work: Callable[[], str], seconds: float) -> str | None:
    """Return what a function returns in a process of its own; None when that takes more processor time, or dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1,) * 2)
        try:
            os.write(writer, work().encode())
        except BaseException as error:  # noqa: BLE001 - the parent raises it: no mutant may die of our own mistakes
            os.write(writer, f"!{error!r}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    waited = time.monotonic()
    while not select.select([reader], [], [], 1.0)[0]:
        if time.monotonic() - waited > MOST_WAITED * seconds:  # it sleeps, or waits for itself
            break
    with suppress(ProcessLookupError):
        text = os.read(reader, 65536) if select.select([reader], [], [], 0)[0] else b""
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    if text.startswith(b"!"):
        raise RuntimeError(text.decode())
    return text.decode() or None


def quick_tests(part: str) -> dict[str, dict[str, Any]]:
    """Return the tests that pass quickly without compilation, with their times and the functions they enter."""
    found: dict[str, dict[str, Any]] = {}
    for folder in FOLDERS[part]:
        file = RECORDS / f"mutants-tests-{folder}.json"
        if not file.exists():

            def look(folder: str = folder, file: Path = file) -> str:
                watch = Watch(profile=True, seconds=TEST_SECONDS)
                run_tests([f"tests/{folder}"], watch, *_SLOW)
                file.write_text(json.dumps(watch.found))
                return "done"

            RECORDS.mkdir(exist_ok=True)
            in_process(look, 1800)
        found |= json.loads(file.read_text())
    return found


def change(mutant: Mutant) -> None:
    """Give every function of the mutant's file that exists its code; what is loaded later is loaded so."""
    sys.meta_path.insert(0, Mutated(mutant))
    made = {_place(code): code for code in _codes(mutant.code())}
    for function in gc.get_objects():
        if type(function) is FunctionType and os.path.realpath(function.__code__.co_filename) == str(
            ROOT / mutant.path
        ):
            code = made[_place(function.__code__)]
            if code != function.__code__ and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _place(code: CodeType) -> tuple[Any, ...]:
    return code.co_qualname, code.co_firstlineno, next(iter(code.co_positions()), None)


def meet(mutant: Mutant, tests: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Let one mutant meet the tests that enter its function."""
    name = f"{mutant.path}:{mutant.function}"
    able = sorted((one["seconds"], test) for test, one in tests.items() if name in one["functions"])
    chosen, planned = [], 0.0
    for seconds, test in able:
        if planned + seconds <= MUTANT_SECONDS:
            chosen.append(test)
            planned += seconds
    begun = time.perf_counter()
    verdict, by = "not reached", ""
    if chosen:

        def work() -> str:
            change(mutant)
            watch = Watch(profile=False, seconds=PATIENCE * TEST_SECONDS)
            run_tests(chosen, watch, "-x")
            return json.dumps({"failed": watch.failed, "passed": len(watch.found)})

        said = in_process(work, 20 + PATIENCE * planned)
        if said is None:
            verdict, by = "killed", "time"
        else:
            ended = json.loads(said)
            # A mutant without which a test's file cannot be imported passes nothing and fails nothing.
            by = ended["failed"] or ("" if ended["passed"] else "importing it")
            verdict = "killed" if by else "survived"
    took = round(time.perf_counter() - begun, 1)
    return {"key": mutant.key, "verdict": verdict, "by": by, "tests": len(chosen), "seconds": took}


def known() -> dict[str, dict[str, Any]]:
    """Return what was found until now; the last of several counts."""
    lines = FOUND.read_text().splitlines() if FOUND.exists() else []
    return {one["key"]: one for one in map(json.loads, lines)}


def page(chosen: Sequence[Mutant], found: Mapping[str, Any], reasons: Mapping[str, str]) -> str:
    """Return the result as Markdown: the score of each part, and every survivor with its reason."""
    met = [one for one in chosen if one.key in found]
    lines = [
        "# Mutants",
        "",
        "Which small mistakes in the code would the quick tests notice? A seeded sample of mutants, each one operator,",
        "number, condition or statement away from the source, meets the tests that enter its function, as plain Python",
        "(`tests/mutation`). Written by `make mutants`.",
        "",
        f"The quick tests pass within {TEST_SECONDS:g} s of processor time without compilation, on few examples. A",
        "mutant that lives here may die in a slower test, or in one of another folder: that is tried for those alone",
        "that `run.py --survivors` has met since. *Not reached* are those whose function no quick test enters.",
        "",
        "| part | mutants | killed | survived | not reached |",
        "|---|--:|--:|--:|--:|",
    ]
    for part in (*PARTS, "together"):
        verdicts = [found[one.key]["verdict"] for one in met if part in (one.part, "together")]
        counts = (len(verdicts), *(verdicts.count(kind) for kind in ("killed", "survived", "not reached")))
        lines.append(f"| {part} | {' | '.join(map(str, counts))} |")
    killed = sum(found[one.key]["verdict"] == "killed" for one in met)
    share = killed / max(1, len(met))
    lines += [
        "",
        f"{killed} of {len(met)} are killed: {share:.0%}; {len(chosen) - len(met)} of the sample have not run.",
    ]
    alive = [one for one in met if found[one.key]["verdict"] != "killed"]
    if alive:
        lines += ["", "## Those that live", "", "| where | mistake | why |", "|---|---|---|"]
    for one in alive:
        change = one.change.replace("|", "\\|")
        lines.append(
            f"| `{one.path}`, `{one.function}` | `{change}` | {reasons.get(one.key, 'no reason yet')} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: Iterable[str] | None = None) -> None:
    """Run what is left of the sample, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--survivors", action="store_true", help="run those again that lived")
    parser.add_argument("--write", action="store_true", help="write the page of what was found")
    asked = parser.parse_args(None if arguments is None else list(arguments))
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "GRAPIN_PROFILE": "mutants"}  # before Numba is loaded
    chosen = sample(SEED, SIZE)
    if asked.write:
        PAGE.write_text(page(chosen, known(), tomllib.loads(SURVIVORS.read_text())), encoding="utf-8")
        return
    if asked.survivors:
        settings.register_profile("mutants", settings.get_profile("mutants"), max_examples=50)
    for part in FOLDERS:
        left = [one for one in chosen if one.part == part and _unmet(one, known(), survivors=asked.survivors)]
        if left:
            tests = quick_tests(part)
            # What all processes need is loaded here once: pytest finds it loaded, and a mutant changes what there is.
            with redirect_stdout(StringIO()):
                pytest.main([*COMMON, "--collect-only", *{name.partition("::")[0] for name in tests}])
        for mutant in left:
            found = meet(mutant, tests)
            with FOUND.open("a") as file:
                file.write(json.dumps(found) + "\n")
            place = f"{mutant.path}:{mutant.line}"
            print(f"{found['verdict']:11} {found['seconds']:6.1f} s {place} {mutant.change}", flush=True)


def _unmet(mutant: Mutant, found: Mapping[str, Any], *, survivors: bool) -> bool:
    past = found.get(mutant.key)
    return past is None or (survivors and past["verdict"] != "killed")


if __name__ == "__main__":
    main()
