"""A failing case as a short script of plain Grapin calls, to be kept, debugged and put into a test."""

import json
from collections.abc import Iterator

from grapin.programs.finding import PROGRAMS
from grapin.testing.case import Case, Mutation, batch_parts
from grapin.testing.trying import Setup


def reproduction(setup: Setup, case: Case, complaint: str) -> str:
    """Return a script that fails with the complaint."""
    return "\n".join([*_beginning(setup, complaint), *_graph(case), *_stream(setup, case)]) + "\n"


def _beginning(setup: Setup, complaint: str) -> Iterator[str]:
    sentence = " ".join(complaint.split()).replace("\\", "\\\\").replace('"""', "'''")
    yield f'"""{sentence}"""\n'
    yield "import grapin"
    if setup.program not in PROGRAMS:
        yield "from grapin.programs.finding import find_program"
    yield "from grapin.testing import verify_engine\n"


def _graph(case: Case) -> Iterator[str]:
    yield "graph = grapin.Graph.from_edges("
    for name, column in zip(("source", "target", "weight"), case.columns(), strict=False):
        yield f"    {name}={column},"
    yield f"    vertices={case.vertices},"
    if not case.directed:
        yield "    directed=False,"
    yield f'    weights="{case.weights}",'
    yield ")"


def _stream(setup: Setup, case: Case) -> Iterator[str]:
    name = f"grapin.{setup.kind.__name__}"
    if setup.program not in PROGRAMS:
        name = setup.kind.__name__
        yield f"{name} = find_program({_quoted(setup.program)})"
    sources = case.sources[0] if len(case.sources) == 1 else list(case.sources)
    yield "engine = grapin.Engine("
    yield "    graph,"
    yield f"    {name}({f'source={sources}' if setup.has_sources else ''}),"
    yield f"    device={_quoted(setup.device)},"
    yield f"    system={_quoted(setup.system)},"
    if setup.cache is not None:
        yield f"    cache={_quoted(setup.cache)},"
    yield f"    threads={case.threads},"
    yield ")"
    yield "verify_engine(engine)"
    for mutations in case.batches:
        yield f"engine.apply({_batch(mutations)})"
        yield "verify_engine(engine)"


def _quoted(text: str) -> str:
    """Return a literal in the quotes that formatters choose."""
    return json.dumps(text, ensure_ascii=False)


def _batch(mutations: tuple[Mutation, ...]) -> str:
    parts = (f"{part}={rows}" for part, rows in batch_parts(mutations).items())
    return f"grapin.Batch({', '.join(parts)})"
