"""A failing case as a short script of plain Grapin calls, to be kept, debugged and put into a test."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from grapin.programs.finding import PROGRAMS
from grapin.testing.case import Case, Mutation, batch_parts
from grapin.testing.trying import Setup


def reproduction(setup: Setup, case: Case, complaint: str) -> str:
    """Return a script that fails with the complaint."""
    return "\n".join([*_beginning(setup, complaint), *_graph(case), *_stream(setup, case)]) + "\n"


def rule_reproduction(setup: Setup, complaint: str, *, value: Any, better_value: Any, weight: Any) -> str:
    """Return a script in which a program's rule fails with the complaint, for two values and a weight."""
    name = _class_name(setup)
    program = f"{name}({'source=0' if setup.has_sources else ''})"
    given = {"value": value, "better_value": better_value, "weight": weight}
    arguments = ", ".join(f"{name}={_number(number)}" for name, number in given.items())
    real = any(isinstance(number, np.float32) for number in given.values())
    lines = [
        _sentence(complaint),
        *(["import numpy as np\n"] if real else []),
        *(["import grapin"] if setup.program in PROGRAMS else []),
        *_finding_import(setup),
        "from grapin.testing import check_edge\n",
        *_found_class(setup),
        f"check_edge({program}, {arguments})",
    ]
    return "\n".join(lines) + "\n"


def _beginning(setup: Setup, complaint: str) -> Iterator[str]:
    yield _sentence(complaint)
    yield "import grapin"
    yield from _finding_import(setup)
    yield "from grapin.testing import verify_engine\n"


def _sentence(complaint: str) -> str:
    """Return the docstring that a script begins with."""
    sentence = " ".join(complaint.split()).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{sentence}"""\n'


def _finding_import(setup: Setup) -> Iterator[str]:
    if setup.program not in PROGRAMS:
        yield "from grapin.programs.finding import find_program"


def _found_class(setup: Setup) -> Iterator[str]:
    if setup.program not in PROGRAMS:
        yield f"{_class_name(setup)} = find_program({_quoted(setup.program)})"


def _class_name(setup: Setup) -> str:
    return f"grapin.{setup.kind.__name__}" if setup.program in PROGRAMS else setup.kind.__name__


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
    yield from _found_class(setup)
    sources = case.sources[0] if len(case.sources) == 1 else list(case.sources)
    yield "engine = grapin.Engine("
    yield "    graph,"
    yield f"    {_class_name(setup)}({f'source={sources}' if setup.has_sources else ''}),"
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


def _number(number: Any) -> str:
    """Return a literal of a value or weight."""
    return f"np.float32({number})" if isinstance(number, np.float32) else str(number)


def _quoted(text: str) -> str:
    """Return a literal in the quotes that formatters choose."""
    return json.dumps(text, ensure_ascii=False)


def _batch(mutations: tuple[Mutation, ...]) -> str:
    parts = (f"{part}={rows}" for part, rows in batch_parts(mutations).items())
    return f"grapin.Batch({', '.join(parts)})"
