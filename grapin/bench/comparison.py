"""Two files of records side by side: what became faster or slower, and what cannot be told apart."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grapin.bench.rank_test import LEVEL, Difference, compare_samples, corrected, least_probability
from grapin.bench.records import FIGURES, Summary
from grapin.bench.suite import Case
from grapin.errors import InvalidArgument

Records = dict[Case, dict[str, Any]]


@dataclass(frozen=True)
class Compared:
    """One figure of one case, then and now."""

    case: Case
    figure: str
    before: Summary
    now: Summary
    difference: Difference
    probability: float
    """Corrected for the number of comparisons."""
    attainable: bool
    """Whether so few repetitions could show any difference, however large."""

    @property
    def verdict(self) -> str:
        """`faster`, `slower`, or what is missing to say either."""
        if self.probability <= LEVEL:
            return "slower" if self.difference.ratio > 1 else "faster"
        return "no difference found" if self.attainable else "too few repetitions"


@dataclass(frozen=True)
class Comparison:
    """Everything that can be compared, and what cannot."""

    rows: list[Compared]
    only_before: list[Case]
    only_now: list[Case]
    machines_differ: bool


def compare(before: Records, now: Records) -> Comparison:
    """Compare the cases that both have; a case that was configured otherwise is refused, since it is other work."""
    common = check_comparable(before, {case: one["configuration"] for case, one in now.items()})
    pairs = [
        (case, figure, before[case][figure]["seconds"], now[case][figure]["seconds"])
        for case in common
        for figure in (FIGURES if case.system is not None else FIGURES[:1])
    ]
    differences = [compare_samples(first, second) for _case, _figure, first, second in pairs]
    probabilities = corrected([one.probability for one in differences])
    return Comparison(
        [
            Compared(
                case,
                figure,
                Summary.of(first),
                Summary.of(second),
                difference,
                probability,
                attainable=least_probability(len(first), len(second)) * len(pairs) <= LEVEL,
            )
            for (case, figure, first, second), difference, probability in zip(
                pairs, differences, probabilities, strict=True
            )
        ],
        [case for case in before if case not in now],
        [case for case in now if case not in before],
        any(before[case]["machine"] != now[case]["machine"] for case in common),
    )


def check_comparable(before: Records, now: Mapping[Case, dict[str, Any]]) -> list[Case]:
    """Return the cases that earlier records share with these, given with their configurations, or refuse."""
    common = [case for case in now if case in before]
    if not common:
        raise InvalidArgument(
            "the two records must have a case in common: graph, batch size, program, system, device"
        )
    for case in common:
        _check_configuration(case, before[case]["configuration"], now[case])
    return common


def _check_configuration(case: Case, before: dict[str, Any], now: dict[str, Any]) -> None:
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            raise InvalidArgument(
                f"{case}: {name} must be the same in both records, not {before.get(name)!r} and {now.get(name)!r}"
            )
