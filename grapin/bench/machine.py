"""What a time depends on besides the code: the commit, the machine, the libraries, the GPU and its link."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_LIBRARIES = ("numpy", "numba", "numba-cuda", "scipy", "networkit", "python-graphblas")
_CHECKOUT = Path(__file__).resolve().parents[2]
_FOUND = ("experiments/answers", "experiments/README.md", "records")
"""What runs themselves write into the checkout: no change of the code that the next one runs."""
CHANGES = "+changes"


def surroundings() -> dict[str, Any]:
    """Return what every record of a run says of where it was made."""
    return {
        "grapin": _version("grapin"),
        "commit": commit(),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "libraries": {name: found for name in _LIBRARIES if (found := _version(name)) is not None},
        },
    }


def gpu(device: str) -> dict[str, str] | None:
    """Return what the GPU tells of itself and of its link; None where none executes."""
    if device != "cuda":
        return None
    from grapin.kernels.cuda.describe import describe

    return describe()


def commit() -> str | None:
    """Return the commit of the checkout that is running, `+changes` behind it where code differs; None outside one.

    Answers and records that earlier runs wrote are no such difference; a Python file that is not committed is.
    """
    # An installed package may lie within somebody else's checkout, whose commit says nothing of ours.
    if not (_CHECKOUT / ".git").exists():
        return None
    found = _git("rev-parse", "--short=12", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{path}" for path in _FOUND)
    )
    new = _git("ls-files", "--others", "--exclude-standard", "--", "*.py")
    return None if found is None else found + (CHANGES if changed or new else "")


def processor() -> str:
    """Return the processor's name as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - the arguments are ours
            ("git", "-C", str(_CHECKOUT), *arguments),  # noqa: S607 - git is where the user has it
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
