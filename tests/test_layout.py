"""The checkout and the package are laid out as the documentation says."""

import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import grapin

ROOT = Path(__file__).resolve().parent.parent
LINKED = ("kernels", "reference", "sim")


@pytest.mark.parametrize("name", LINKED)
def test_each_linked_folder_is_reachable_below_the_package(name: str) -> None:
    link = ROOT / "grapin" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..") / name
    assert (ROOT / name / "__init__.py").is_file()
    module = import_module(f"grapin.{name}")
    assert module.__file__ is not None
    assert Path(module.__file__).resolve() == (ROOT / name / "__init__.py").resolve()


@pytest.mark.parametrize("name", grapin.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(grapin, name) is not None
    assert name in dir(grapin)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'grapin' has no attribute 'grahp'"):
        grapin.grahp  # noqa: B018  # looking it up is the test


@pytest.mark.parametrize(
    "module", ["grapin", "grapin.batch", "grapin.reference", "grapin.testing", "grapin.testing.strategies"]
)
def test_importing_what_needs_no_compiled_code_loads_neither_numba_nor_simpy(module: str) -> None:
    program = f"import sys, {module}; print(sorted({{'numba', 'simpy'}} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def committed_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def test_no_file_speaks_of_the_machine_it_was_written_on() -> None:
    machine = [f"/{folder}/" for folder in ("work", "tmp", "home", "root", "Users")]
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in committed_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if any(place in line for place in machine)
    ]
    assert found == []


YOURS = {"NAME.py", "FILE.py", "my_device.py", "mine.py"}
"""Files that a text leaves to its reader."""


@pytest.mark.parametrize("suffix", [".md", ".py"])
def test_every_file_that_a_page_or_a_source_names_exists(suffix: str) -> None:
    files = committed_files()
    endings = {
        "/".join(path.parts[-length:]) for path in files for length in range(1, len(path.parts))
    }  # however much of its folders a text says
    told = [path for path in files if path.suffix == suffix and "tests" not in path.relative_to(ROOT).parts]
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in told
        for name in re.findall(r"`((?:[\w.-]+/)*[\w-]+\.py)`", path.read_text(encoding="utf-8"))
        if name not in endings and Path(name).name not in YOURS
    ]
    assert missing == []


def test_every_test_that_a_page_names_exists() -> None:
    pages = [path for path in committed_files() if path.suffix == ".md"]
    named = {
        (path.relative_to(ROOT), file, test)
        for path in pages
        for file, test in re.findall(r"(tests/[\w/]+\.py)::(\w+)", path.read_text(encoding="utf-8"))
    }
    assert named
    missing = [one for one in named if f"def {one[2]}(" not in (ROOT / one[1]).read_text(encoding="utf-8")]
    assert missing == []


@pytest.mark.deep
def test_the_wheel_holds_the_linked_folders_as_part_of_the_package(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    run = subprocess.run(build, capture_output=True, text=True, check=False)
    if run.returncode and "hatchling" in run.stderr + run.stdout:
        pytest.skip("the build tool hatchling could not be fetched")
    assert run.returncode == 0, run.stderr
    (wheel,) = tmp_path.glob("grapin-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in LINKED:
        assert f"grapin/{name}/__init__.py" in names
        assert f"{name}/__init__.py" not in names
    assert {"grapin/py.typed", "grapin/sim/machines.toml"} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "experiments/"))]
