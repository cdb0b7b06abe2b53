"""`grapin doctor`: what can be used here, or why not and what to install; and whether a device gives right answers."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from grapin import __version__
from grapin.cli.main import WRONG
from grapin.cli.options import seed_option
from grapin.cli.tables import print_table
from grapin.device import DEVICES, device, open_device
from grapin.progress import progress
from grapin.system import SYSTEMS
from grapin.units import format_seconds
from grapin.validation import check_integer

_LIBRARIES = {
    "numpy": ("arrays", ""),
    "numba": ("compiled store and CPU device", ""),
    "pyarrow": ("CSV and Parquet files", ""),
    "zstandard": (".zst files", ""),
    "scipy": ("Matrix Market files, sparse matrices", "scipy"),
    "networkx": ("graphs from and to NetworkX", "networkx"),
    "hypothesis": ("grapin.testing, grapin check", "testing"),
    "plotly": ("the report of grapin demo", "report"),
    "matplotlib": ("--plot, figures of experiments", "plot"),
    "distributed": ("--cluster: work on a Dask cluster", "cluster"),
    "numba-cuda": ("devices cuda, vgpu and cudasim", "vgpu"),
    "cupy-cuda12x": ("device cuda with a driver for CUDA 12", "cuda12"),
    "cupy-cuda13x": ("device cuda with a driver for CUDA 13", "cuda13"),
}
"""What each library is for, and the extra that installs it."""
_SCALES = {"cuda": 14, "vgpu": 6, "cudasim": 5}
"""How large the self-test's graphs are, as powers of two: a GPU should be busy, what stands for one done within
minutes."""
_USUAL_SCALE = 10


@click.command()
@click.option(
    "--device",
    "name",
    help=f"Run the self-test of this device: auto, {', '.join(DEVICES)}, or FILE.py[:NAME].",
)
@click.option(
    "--scale", type=click.IntRange(3, 24), help="Vertices of the self-test's graphs, as a power of two."
)
@seed_option
def command(name: str | None, scale: int | None, seed: int) -> int:
    """Show which devices, systems and libraries there are; with --device, test one of them.

    The self-test keeps every program fresh under every system on small graphs, and compares each value with the
    reference. Exit code 1 says that something was wrong.
    """
    check_integer("seed", seed, least=0, most=2**63 - 1)
    if name is not None:
        name = open_device(name).name if name == "auto" else name
        return _test(name, scale or _SCALES.get(name.partition(":")[0], _USUAL_SCALE), seed)
    print_table(
        f"grapin {__version__}, Python {platform.python_version()}, {sys.platform}, {os.cpu_count()} cores",
        ("device", "here", "remark"),
        [_device_row(each) for each in DEVICES],
        numbers=False,
    )
    print_table(
        "systems",
        ("name", "what it does"),
        [(one.name, one.summary) for one in SYSTEMS.values() if one.runs or one.staged],
        numbers=False,
    )
    print_table("libraries", ("name", "version", "what for"), map(_library_row, _LIBRARIES), numbers=False)
    return 0


def _test(name: str, scale: int, seed: int) -> int:
    from grapin.engine.selftest import KINDS, PROGRAMS, selftest, ways

    open_device(name)
    if name == "cuda":
        from grapin.kernels.cuda.gpu import describe

        print_table("this GPU", ("what", "value"), list(describe().items()), numbers=False)
    trials = []
    tried = ways(name)
    with progress(f"testing {name}", len(KINDS) * len(PROGRAMS) * len(tried)) as advance:
        for trial in selftest(name, scale=scale, seed=seed):
            trials.append(trial)
            advance(1)
    print_table(
        f"self-test of {name} on graphs of {2**scale:,} vertices, seed {seed}",
        ("program", "graph", *tried),
        [
            (
                program,
                kind,
                *(
                    "wrong" if trial.wrong else format_seconds(trial.seconds)
                    for trial in trials
                    if (trial.program, trial.kind) == (program, kind)
                ),
            )
            for kind in KINDS
            for program in PROGRAMS
        ],
        names=2,
    )
    wrong = [trial for trial in trials if trial.wrong]
    for trial in wrong:
        click.echo(f"wrong: {trial.program} on the {trial.kind} graph under {trial.system}: {trial.wrong}")
    click.echo(
        f"{len(trials) - len(wrong)} of {len(trials)} trials gave the reference's answer after every batch."
    )
    return WRONG if wrong else 0


def _device_row(name: str) -> tuple[str, str, str]:
    reason = device(name).unavailable()
    chosen = "what auto takes" if name == open_device("auto").name else ""
    return (name, "yes", chosen) if reason is None else (name, "no", reason)


def _library_row(name: str) -> tuple[str, str, str]:
    purpose, extra = _LIBRARIES[name]
    try:
        return name, version(name), purpose
    except PackageNotFoundError:
        return name, "missing", f"{purpose}: pip install 'grapin[{extra}]'" if extra else purpose
