"""`grapin state`: what is in the directory that a run keeps its state in; and the session of such a run."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grapin.cli.main import WRONG
from grapin.cli.options import json_option
from grapin.engine import Engine
from grapin.graph import Graph
from grapin.outputs import STANDARD_OUTPUT, check_outputs, write_whole
from grapin.programs.program import Program
from grapin.progress import progress
from grapin.session import Session
from grapin.stream import Arrived, Live
from grapin.units import format_bytes, format_count
from grapin.validation import refuse

if TYPE_CHECKING:
    from grapin.engine.state import Health

KEPT = 1000
"""Of a stream without an end, so many of the last batches are reported one by one."""


@click.command()
@click.argument("folder", metavar="DIR")
@json_option
@click.pass_context
def command(context: click.Context, /, folder: str, json_file: str | None) -> None:
    """Say what is in DIR, which `grapin run --state DIR` or engine.save wrote, and whether it is whole.

    Every array and every batch is read and held against its checksum. Nothing is repaired or removed.
    """
    from grapin.engine.state import health

    check_outputs(printable=json_file)
    found = health(Path(folder))
    if json_file is not None:
        text = json.dumps(asdict(found))
        if json_file == STANDARD_OUTPUT:
            click.echo(text)
        else:
            write_whole(json_file, lambda path: path.write_text(text + "\n"))
    else:
        for line in _lines(folder, found):
            click.echo(line)
    if found.damage is not None:
        click.echo(f"grapin: {found.damage}", err=True)
        context.exit(WRONG)


def _lines(folder: str, found: "Health") -> Iterator[str]:
    size = format_bytes(found.snapshot_bytes)
    batches = format_count(found.version - found.snapshot)
    yield f"{folder}: version {found.version} of {', '.join(found.programs)}"
    yield f"  snapshot   version {found.snapshot}, {size}, by Grapin {found.written_by}"
    yield f"  log        {batches} batches since, {format_bytes(found.log_bytes)}"
    for name in found.leftovers:
        yield f"  left over  {name}, by a process that was killed; the next snapshot removes it"
    if found.damage is None:
        yield "  whole      every array and every batch is as written"


def open_session(
    graph: Graph,
    programs: Sequence[Program],
    batches: Iterable[Any],
    settings: dict[str, Any],
    *,
    state: str | None,
    durability: str,
    run: Sequence[object],
    count: int | None,
) -> Session:
    """Return the session of a run, at its first batch or, where there is a state, behind the last one that it has.

    `run` is what tells the run from others: a state is gone on from with the same graph and the same stream.
    """
    live = batches if isinstance(batches, Live) else None
    keep = None if live is None else KEPT
    if state is None:
        return Session.warmed_up(graph, programs, islice(batches, count), keep=keep, **settings)
    from grapin.engine.state import holds_state

    name = hashlib.sha256(repr(run).encode()).hexdigest()[:12]
    folder = Path(state)
    if not holds_state(folder):
        session = Session.warmed_up(
            graph, programs, islice(_marked(batches, name, 0), count), keep=keep, **settings
        )
        session.engine.save(folder, durability=durability)
        return session
    with progress(f"Opening {state}"):
        engine = Engine.open(folder, list(programs), durability=durability, **settings)
    done, _, whose = (engine.mark or f"0 of {name}").partition(" of ")
    if whose != name:
        engine.close()
        refuse(
            "state", state, "be that of the same run: the same GRAPH, source of batches, batch size and seed"
        )
    if live is not None:
        live.begin(int(done))
    return Session(engine, islice(_marked(batches, name, int(done)), count), keep=keep)


def _marked(batches: Iterable[Any], name: str, done: int) -> Iterator[Arrived]:
    """Yield batches with marks to go on from: the place in a live stream, or how many there were."""
    if isinstance(batches, Live):
        for batch, when, mark in batches:
            yield Arrived(batch, when, f"{mark} of {name}")
        return
    for number, batch in enumerate(islice(batches, done, None), done + 1):
        yield Arrived(batch, None, f"{number} of {name}")
