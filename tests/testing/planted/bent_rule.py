"""A program with a planted bug: its rule is monotone for values below 100 only."""

from typing import Any

from grapin import Monotone


class BentRule(Monotone):
    """Lengths as in SSSP, until they reach 100."""

    name = "bent rule"

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        """Ignore weights from 100 on."""
        return value + weight if value < 100 else value + 1
