"""`grapin doctor`: what can be used here and, for what cannot, why and what to install."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click
from rich.markup import escape

from grapin import __version__
from grapin.cli.tables import print_table
from grapin.engine.devices import DEVICES, device, open_device
from grapin.systems import SYSTEMS

_LIBRARIES = {
    "numpy": ("arrays", ""),
    "numba": ("compiled store and CPU device", ""),
    "pyarrow": ("CSV and Parquet files", ""),
    "zstandard": (".zst files", ""),
    "scipy": ("Matrix Market files, sparse matrices", "scipy"),
    "networkx": ("graphs from and to NetworkX", "networkx"),
    "hypothesis": ("grapin.testing", "testing"),
}
"""What each library is for, and the extra that installs it."""


@click.command()
def command() -> None:
    """Show which devices, systems and libraries there are on this machine."""
    print_table(
        f"grapin {__version__}, Python {platform.python_version()}, {sys.platform}, {os.cpu_count()} cores",
        ("device", "here", "remark"),
        [_device_row(name) for name in DEVICES],
        numbers=False,
    )
    print_table(
        "systems",
        ("name", "what it does"),
        [(one.name, one.summary) for one in SYSTEMS.values()],
        numbers=False,
    )
    print_table("libraries", ("name", "version", "what for"), map(_library_row, _LIBRARIES), numbers=False)


def _device_row(name: str) -> tuple[str, str, str]:
    reason = device(name).unavailable()
    chosen = "what auto takes" if name == open_device("auto").name else ""
    return (name, "yes", chosen) if reason is None else (name, "no", reason)


def _library_row(name: str) -> tuple[str, str, str]:
    purpose, extra = _LIBRARIES[name]
    try:
        return name, version(name), purpose
    except PackageNotFoundError:
        # Not rich markup: a bracket would be taken for a style.
        return name, "missing", escape(f"{purpose}: pip install 'grapin[{extra}]'" if extra else purpose)
