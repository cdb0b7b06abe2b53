"""From a case that fails to the smallest one that still does.

Hypothesis shrinks the choices that led to an example; here the rows themselves are cut down, so a failure on a graph
from a file becomes as small as one on a drawn graph. Each step is tried out, and kept if the case still fails.

A failing case as a short script of plain Grapin calls, to be kept, debugged and put into a test.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count, groupby
from typing import Any

import numpy as np

from grapin.programs import PROGRAMS
from grapin.testing.case import Case, Mutation, Setup, batch_parts

MOST_TRIES = 2000
"""So often a case is executed before the smallest one so far has to do."""

Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails, *, least_weight: float = 0, tries: int = MOST_TRIES) -> Case:
    """Return a case that fails and from which nothing can be left out; after Ctrl-C, the smallest one so far."""
    shrinker = _Shrinker(case, fails, least_weight, tries)
    with suppress(KeyboardInterrupt):
        shrinker.run()
    return shrinker.best


class _Shrinker:
    """The smallest case that was seen to fail."""

    def __init__(self, case: Case, fails: Fails, least_weight: float, tries: int) -> None:
        self.best = case
        self._fails = fails
        self._least = least_weight
        self._tries = tries

    def run(self) -> None:
        """Repeat all steps until none of them helps."""
        before = None
        while before != self.best:
            before = self.best
            self._leave_out(self.best.batches, lambda kept: replace(self.best, batches=kept))
            self._leave_out(_numbered(self.best), lambda kept: replace(self.best, batches=_regrouped(kept)))
            self._leave_out(self.best.edges, lambda kept: replace(self.best, edges=kept))
            self._leave_out(
                self.best.sources, lambda kept: replace(self.best, sources=kept or self.best.sources)
            )
            self._join_batches()
            self._try(replace(self.best, threads=1))
            self._try(_renumbered(self.best))
            self._lighten()

    def _try(self, case: Case) -> bool:
        if case == self.best or self._tries <= 0:
            return False
        self._tries -= 1
        if not self._fails(case):
            return False
        self.best = case
        return True

    def _leave_out(self, items: tuple[Any, ...], case_of: Callable[[tuple[Any, ...]], Case]) -> None:
        """Leave out stretches, at first long ones, then single items."""
        size = len(items)
        while size:
            begin = 0
            while begin < len(items):
                fewer = items[:begin] + items[begin + size :]
                if self._try(case_of(fewer)):
                    items = fewer
                else:
                    begin += size
            size //= 2

    def _join_batches(self) -> None:
        place = 0
        while place + 1 < len(self.best.batches):
            batches = self.best.batches
            joined = (batches[place] + batches[place + 1],)
            if not self._try(replace(self.best, batches=batches[:place] + joined + batches[place + 2 :])):
                place += 1

    def _lighten(self) -> None:
        """Make weights smaller, one after the other: the least, else by steps that become shorter as they fail."""
        weights = [row[2] for row in self.best.rows() if len(row) == 3]
        for number, weight in enumerate(weights):
            if any(self._weigh(number, weight, less) for less in (self._least, self._least + 1)):
                continue
            step = (weight - self._least) // 2
            while step >= 1:
                if self._weigh(number, weight, weight // 1 - step):
                    weight = weight // 1 - step
                else:
                    step //= 2

    def _weigh(self, number: int, weight: float, less: float) -> bool:
        lighter = self._least <= less < weight
        return lighter and self._try(_with_weight(self.best, number, type(weight)(less)))


def _with_weight(case: Case, number: int, weight: float) -> Case:
    """Return the case with another weight in the row that is the `number`-th to have one."""
    numbers = count()
    return case.with_rows(
        lambda row: (*row[:2], weight) if len(row) == 3 and next(numbers) == number else row
    )


def _numbered(case: Case) -> tuple[tuple[int, Mutation], ...]:
    return tuple((number, mutation) for number, batch in enumerate(case.batches) for mutation in batch)


def _regrouped(numbered: Sequence[tuple[int, Mutation]]) -> tuple[tuple[Mutation, ...], ...]:
    groups = groupby(numbered, key=lambda pair: pair[0])
    return tuple(tuple(mutation for _, mutation in group) for _, group in groups)


def _renumbered(case: Case) -> Case:
    """Return the same case without the vertices that nothing happens at, the others in the same order."""
    used = sorted({*case.sources, *(vertex for row in case.rows() for vertex in row[:2])})
    new = {vertex: number for number, vertex in enumerate(used)}
    renumbered = case.with_rows(lambda row: (*(new[vertex] for vertex in row[:2]), *row[2:]))
    return replace(
        renumbered,
        vertices=sum(vertex < case.vertices for vertex in used),
        sources=tuple(new[vertex] for vertex in case.sources),
    )


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
        yield "from grapin.programs import find_program"


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
