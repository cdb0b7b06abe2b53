"""`grapin check`: random streams held against the reference, and a short script where an answer is wrong.

With `--record` a long search goes on where it was stopped: one JSON object a line and a stretch of streams says what
was tried and what came of it. A stretch counts only for the program text it was tried with; a search after any change
to Grapin, or to a program or device of the user's own, starts from its first stretch.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import click

import grapin
from grapin import testing
from grapin.cli.main import WRONG
from grapin.cli.options import (
    Renamed,
    argument,
    cluster_option,
    count_processes,
    processes_option,
    read_edges,
    seed_option,
)
from grapin.cli.tables import print_table
from grapin.cli.workload import NOTHING
from grapin.device import DEVICES, check_cache, open_device
from grapin.errors import InvalidArgument, InvalidFile
from grapin.graph import Graph
from grapin.outputs import check_outputs, write_whole
from grapin.pool import check_cluster
from grapin.programs import PROGRAMS, find_program
from grapin.progress import progress
from grapin.system import RUNNABLE, find_runnable
from grapin.validation import check_integer

STRETCH = 500
"""Streams in a stretch: a stopped search loses at most what it takes to try so many."""
_FOLDERS = ("", "kernels", "reference")
"""Where the text is that can change an answer, seen from the package; two are links, which no pattern follows."""
_ANY_WEIGHTS = ("none", "0:1000", "0.0:1000.0")
_VIRTUAL = "vgpu"
_SIMULATED = "cudasim"
"""The device on which a hub of hundreds of neighbours takes seconds."""


def stretches(examples: int, seed: int) -> Iterator[tuple[int, int]]:
    """Yield the seed of each stretch and how many streams it has."""
    for number, begin in enumerate(range(0, examples, STRETCH)):
        yield seed + number, min(STRETCH, examples - begin)


def digest_of_sources(*names: str) -> str:
    """Return what stands for Grapin's own text and that of the files in names such as `my_program.py:MyClass`."""
    package = Path(grapin.__file__).parent
    paths = {path for folder in _FOLDERS for path in (package / folder).glob("**/*.py")}
    own = {Path(name.rpartition(".py")[0] + ".py") for name in names if ".py" in name}
    digest = hashlib.sha256()
    for path in (*sorted(paths), *sorted(own)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class SearchRecord:
    """A file of stretches, read at first and appended to as they are tried."""

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self._known: dict[str, int] = {}
        for number, line in enumerate(self._lines(), 1):
            try:
                one = json.loads(line)
                stretch, unanswered, failure = one["stretch"], int(one["unanswered"]), one["failure"]
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidFile(f"{file}, line {number}: must be a record of grapin check") from error
            if failure is None:
                self._known[_key(stretch)] = unanswered

    def unanswered(self, stretch: dict[str, Any]) -> int | None:
        """Return how many streams of a stretch have no answer, None if it is not known to be free of failures."""
        return self._known.get(_key(stretch))

    def add(self, stretch: dict[str, Any], unanswered: int, failure: str | None) -> None:
        """Write down what came of a stretch."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"stretch": stretch, "unanswered": unanswered, "failure": failure, "when": when}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if failure is None:
            self._known[_key(stretch)] = unanswered

    def _lines(self) -> list[str]:
        if not self._path.exists():
            return []
        text = self._path.read_text()
        if text and not text.endswith("\n"):  # stopped in the midst of a line: that stretch is tried again
            text = text[: text.rfind("\n") + 1]
            self._path.write_text(text)
        return text.splitlines()


def _key(stretch: dict[str, Any]) -> str:
    return json.dumps(stretch, sort_keys=True)


@click.command(cls=Renamed, renamed={"--graph": argument, "--save": "--out"})
@click.argument("graph", metavar="[GRAPH]", required=False)
@click.option(
    "--program",
    "programs",
    default=",".join(PROGRAMS),
    show_default=True,
    help="Programs, or FILE.py:CLASS for those of your own.",
)
@click.option(
    "--device",
    "devices",
    default="auto",
    show_default=True,
    help=f"auto, {', '.join(DEVICES)}, or FILE.py[:NAME] for one of your own (see grapin.device.Device).",
)
@click.option("--system", "systems", default="bounded", show_default=True, help=f"{', '.join(RUNNABLE)}.")
@click.option(
    "--cache",
    metavar="SIZE",
    help="Room for cached lists, as for grapin run; copies are held against the store too.",
)
@click.option(
    "--weights",
    metavar="RANGES",
    help="Weights to draw: none, LOW:HIGH in whole numbers such as 0:9, or in reals such as 0.0:1.0.  "
    f"[default: {','.join(_ANY_WEIGHTS)}]",
)
@click.option(
    "--hubs/--no-hubs",
    default=None,
    help="Give some vertices hundreds of neighbours, or none.  [default: hubs, but not on cudasim: they take long]",
)
@click.option(
    "--interleavings",
    default=0,
    show_default=True,
    help="On vgpu: try each stream under so many interleavings of warps, with weak memory in half of them.",
)
@click.option(
    "--examples", default=500, show_default=True, help="Streams for each program, device and system."
)
@click.option(
    "--out", "save", metavar="FILE", help="Write the script that reproduces a failure to this file."
)
@click.option(
    "--record",
    metavar="FILE",
    help="Append to this file which streams were tried, and skip those that it holds: a stopped search goes on.",
)
@processes_option
@cluster_option
@seed_option
def command(
    programs: str,
    devices: str,
    systems: str,
    cache: str | None,
    graph: str | None,
    weights: str | None,
    hubs: bool | None,
    interleavings: int,
    examples: int,
    save: str | None,
    record: str | None,
    processes: int | None,
    cluster: str | None,
    seed: int,
) -> int:
    """Hold programs, devices and systems against the reference on random streams of mutations.

    Streams start from GRAPH, or from graphs that are drawn.

    After every batch each value must be the reference's, and each parent must explain it. What fails is cut down to a
    short script that reproduces it; the exit code is 1 then. Lists of names are separated by commas, and each program
    is tried on each device under each system. How many processes or workers do it makes no difference to what is found.
    """
    check_integer("examples", examples, least=1)
    check_integer("seed", seed, least=0)
    check_integer("interleavings", interleavings, least=0)
    check_outputs(save, record, keep=(graph,))
    setups = _setups(programs.split(","), devices.split(","), systems.split(","), cache, interleavings)
    options = _drawing(graph, None if weights is None else weights.split(","), seed)
    options |= {"processes": count_processes(processes, cluster), "cluster": cluster}
    if cluster is not None:
        check_cluster(cluster)
    refutation = _refutation(setups, options["weights"], seed)
    if refutation is not None:
        click.echo(f"{refutation.setup.program}: its rule failed: {refutation.complaint}")
        _show_script("This", refutation.script(), save)
        return WRONG
    rows = []
    recorded = None if record is None else SearchRecord(record)
    conditions = {"graph": graph, "weights": weights}
    if graph is not None and graph != NOTHING and recorded is not None:
        raise InvalidArgument(f"record={record!r} must be left out where streams start from a graph of yours")
    for setup in setups:
        searched = _search(setup, options, recorded, conditions, hubs=hubs, examples=examples, seed=seed)
        if searched.failure is not None:
            _report(searched.failure, save)
            return WRONG
        counts = (f"{searched.examples:,}", f"{searched.unanswered:,}" if searched.unanswered else "none")
        rows.append((setup.program, setup.device, setup.system, *counts, "none"))
    print_table(
        "Every answer was the reference's, after every batch",
        ("program", "device", "system", "streams", "without answer", "failures"),
        rows,
        names=3,
    )
    if any(unanswered != "none" for *_, unanswered, _ in rows):
        click.echo("Without answer: a value outgrew 32 bits. Smaller --weights draw streams that tell more.")
    return 0


def _setups(
    programs: list[str], devices: list[str], systems: list[str], cache: str | None, interleavings: int
) -> "list[testing.Setup]":
    """Refuse names that lead nowhere, and a cache that is of no use, before anything is executed."""
    for program in programs:
        find_program(program)
    for device, system in product(devices, systems):
        opened, found = open_device(device), find_runnable(system)
        if cache is not None:
            check_cache(cache, Graph.empty(1), [], found, opened)
        if interleavings and opened.name != _VIRTUAL:
            raise InvalidArgument(
                f"interleavings={interleavings} must be left out on device={device!r}: "
                f"only {_VIRTUAL} can be told which warp comes next"
            )
    return [testing.Setup(*names, cache, interleavings) for names in product(programs, devices, systems)]


def _drawing(graph: str | None, weights: list[str] | None, seed: int) -> dict[str, Any]:
    """Return which weights to draw and, if there is one, the graph to start from."""
    ranges = [testing.Weights.read(each) for each in weights or _ANY_WEIGHTS]
    if graph is None or graph == NOTHING:
        return {"weights": ranges, "growing": graph == NOTHING}
    edges = read_edges(graph, seed)
    kind = "none" if edges.weight is None else edges.weight.dtype.name
    fitting = [each for each in ranges if each.kind == kind]
    if not fitting:
        raise InvalidArgument(f"weights={','.join(weights or ())!r} must fit the graph's weights ({kind})")
    start = {name: getattr(edges, name) for name in ("source", "target", "weight", "vertices", "directed")}
    return {"weights": fitting, "start": start | {"weights": kind}}


def _refutation(
    setups: "list[testing.Setup]", weights: "list[testing.Weights]", seed: int
) -> "testing.Refutation | None":
    """Return the first proof that a program of the user's own is not monotone; Grapin's are held to it by its tests."""
    own = {setup.program: setup for setup in setups if setup.program not in PROGRAMS}
    found = (testing.find_refutation(setup, weights=weights, random_seed=seed) for setup in own.values())
    return next((each for each in found if each is not None), None)


def _search(
    setup: "testing.Setup",
    options: dict[str, Any],
    recorded: SearchRecord | None,
    conditions: dict[str, Any],
    *,
    hubs: bool | None,
    examples: int,
    seed: int,
) -> "testing.Searched":
    """Try streams, with a record in stretches that each have a seed."""
    hubs = open_device(setup.device).name != _SIMULATED if hubs is None else hubs
    conditions = {**asdict(setup), **conditions, "hubs": hubs}
    if recorded is not None:
        conditions["sources"] = digest_of_sources(setup.program, setup.device)
    tried = unanswered = 0
    with progress(str(setup), examples) as advance:
        for begin, count in [(seed, examples)] if recorded is None else stretches(examples, seed):
            stretch = {**conditions, "seed": begin, "examples": count}
            known = None if recorded is None else recorded.unanswered(stretch)
            if known is not None:
                advance(count)
                tried, unanswered = tried + count, unanswered + known
                continue
            found = testing.search(
                setup,
                **options,
                hubs=hubs,
                examples=count,
                random_seed=begin,
                advance=advance,
                shrinking=lambda: click.echo(
                    f"{setup}: failed; looking for a shorter stream that fails ...", err=True
                ),
            )
            if recorded is not None:
                failure = None if found.failure is None else found.failure.script()
                recorded.add(stretch, found.unanswered, failure)
            tried, unanswered = tried + found.examples, unanswered + found.unanswered
            if found.failure is not None:
                return testing.Searched(found.failure, tried, unanswered)
    return testing.Searched(None, tried, unanswered)


def _report(failure: "testing.Failure", save: str | None) -> None:
    found, case = failure.found, failure.case
    click.echo(f"{failure.setup}: example {failure.examples} failed: {failure.complaint}")
    if failure.failing < 1:
        click.echo(f"It failed in {failure.failing:.0%} of further runs: threads may race.")
    shrunk = f"Shrunk from {_count(found)} to {_count(case)}; this" if found != case else "This"
    _show_script(shrunk, failure.script(), save)


def _show_script(which: str, script: str, save: str | None) -> None:
    click.echo(f"{which} script reproduces it:\n\n{script}", nl=False)
    if save is not None:
        write_whole(save, lambda path: path.write_text(script))
        click.echo(f"\nWritten to {save}")


def _count(case: "testing.Case") -> str:
    return f"{_plural(len(case.edges), 'edge')} and {_plural(case.mutations, 'mutation')}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
