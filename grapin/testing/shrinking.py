"""From a case that fails to the smallest one that still does.

Hypothesis shrinks the choices that led to an example; here the rows themselves are cut down, so a failure on a graph
from a file becomes as small as one on a drawn graph. Each step is tried out, and kept if the case still fails.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count, groupby
from typing import Any

from grapin.testing.case import Case, Mutation

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
