"""What all tests share: how hard Hypothesis tries, poisoned memory, plugins, and where the real data lies."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from experiments.lib.assembly import missing
from grapin import __version__
from grapin.cli.main import main
from grapin.testing import poisoned_memory

ROOT = Path(__file__).resolve().parent.parent

# Generating and compiling on a busy machine is slow now and then; that is no defect of the test.
_PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "quick",
    max_examples=50,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,  # the same examples on every run: a red build is red for its author too
    suppress_health_check=_PATIENT,
)
settings.register_profile(
    "deep",
    max_examples=1000,
    stateful_step_count=30,
    deadline=None,
    print_blob=True,
    suppress_health_check=_PATIENT,
)
settings.load_profile(os.environ.get("GRAPIN_PROFILE", "quick"))


def pytest_configure() -> None:
    """Hear Ctrl-C: what a shell puts into the background begins deaf to it, and so would all that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _declare_plugins()


def _declare_plugins() -> None:
    """Let NetworkX find the backend that pyproject.toml declares, also where the package was installed before that."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    installed = {(one.group, one.name, one.value) for one in distribution("grapin").entry_points}
    wanted = {(group, name, value) for group, names in declared.items() for name, value in names.items()}
    if wanted <= installed:
        return
    folder = Path(tempfile.mkdtemp(prefix="grapin-plugins-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    described = folder / "grapin-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: grapin\nVersion: {__version__}\n")
    (described / "entry_points.txt").write_text(
        "".join(f"[{group}]\n{name} = {value}\n" for group, name, value in sorted(wanted))
    )
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests marked deep unless they are asked for with `-m`, and those of the CUDA compiler where it is absent."""
    reason = missing()
    for item in items:
        if item.get_closest_marker("deep") and not config.option.markexpr:
            item.add_marker(pytest.mark.skip(reason="deep: runs in `make test-deep`"))
        if reason is not None and item.path.is_relative_to(ROOT / "tests" / "cuda"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def _poison() -> Iterator[None]:
    with poisoned_memory():
        yield


@pytest.fixture(scope="session")
def compiled_already() -> None:
    """Compile what small runs call, once a process: a command that has to says so, and some tests read all it says."""
    assert main(["run", "rmat:4:4", "--device", "cpu", "--batches", "1", "--batch-size", "2"]) == 0


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of real graphs beside the checkout; skip the test where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder shared/data is not beside the checkout")
    return folder


@pytest.fixture
def refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., None]:
    """Hold that a command line is refused in one sentence, with exit code 2, and that nothing is written."""

    def check(*arguments: str, because: str) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(arguments) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.count("\n") == 1
        assert because in shown.err
        assert not list(tmp_path.iterdir())

    return check
