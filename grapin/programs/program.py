"""`Program`: what is kept fresh, said once and executed by every device.

A **monotone** program gives each vertex the best value that any path brings: an edge turns the value of its
source into an offer to its target, and the best offer wins. BFS, shortest and widest paths, components and
reliability are of this kind. What makes repair possible, and what `check_monotone` tests, is that an edge never
improves a value (`edge(value, weight)` is not better than `value`) and keeps order (a better value makes an offer
that is at least as good).

An **accumulative** program (`accumulative.py`) gives each vertex a sum over in-edges that shrinks along paths, such as
PageRank.

A program of your own is a class like the ones beside this file: plain Python, no Numba.
"""

from collections.abc import Iterable, Mapping
from inspect import getattr_static
from types import FunctionType
from typing import Any, ClassVar, Literal

from grapin.errors import InvalidArgument
from grapin.programs.starting import read_sources
from grapin.validation import check_choice, nearest, refuse

_LIKE_A_SLIP = 0.8
"""How alike two names are (1 for equal ones) for one to be the other misspelt: 'bettr' is, 'limit' is not."""


class Program:
    """What every program has: a name to find it by."""

    name: ClassVar[str]

    @classmethod
    def has_sources(cls) -> bool:
        """Tell whether values start from some vertices only, which are given when a program is made."""
        return False


class Monotone(Program):
    """The best value over all paths from the sources; subclasses say what travels over an edge.

    `source` is one vertex, several, or a mapping from vertex to the value it starts with.
    """

    values: ClassVar[Literal["int", "float", "weight"]] = "int"
    """What a value is: a whole number below 2**32 - 1, a 32-bit float of at least 0, or what the weights are."""
    better: ClassVar[Literal["smaller", "larger"]] = "smaller"
    """With "larger", 0 is the value of what is not reached."""
    source_value: ClassVar[float] = 0
    """The value a source starts with; infinity stands for better than any edge."""
    weighted: ClassVar[bool] = True
    """False when `edge` does not look at the weight: then weights are never read."""
    both_ways: ClassVar[bool] = False
    """True when values travel against the direction of edges too."""
    start: ClassVar[Any] = None
    """A function of the vertex when every vertex starts with a value of its own; then there are no sources."""

    @classmethod
    def has_sources(cls) -> bool:
        """Tell whether values start from some vertices only."""
        return cls.start is None

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        """Return what the source of an edge, having `value`, offers to the target."""
        raise NotImplementedError

    def __init__(self, source: int | Iterable[int] | Mapping[int, float] | None = None) -> None:
        check_class(type(self))
        if type(self).start is not None:
            if source is not None:
                raise InvalidArgument(f"source={source!r} must not be given: {self.name} starts everywhere")
            self.sources: dict[int, float] = {}
            return
        if source is None:
            raise InvalidArgument(
                f"source must be given: {self.name} needs at least one vertex to start from"
            )
        self.sources = read_sources(source, type(self))

    def __repr__(self) -> str:
        if type(self).start is not None:
            return f"{type(self).__name__}()"
        listed: Any = list(self.sources)
        if any(value != self.source_value for value in self.sources.values()):
            return f"{type(self).__name__}(source={self.sources})"
        return f"{type(self).__name__}(source={listed[0] if len(listed) == 1 else listed})"


def check_class(kind: type[Monotone]) -> None:
    """Raise `InvalidArgument` unless a class says all that a monotone program must say, in words that exist."""
    check_names(kind, Monotone)
    if not isinstance(getattr(kind, "name", None), str) or not kind.name:
        raise InvalidArgument(
            f"{kind.__name__}.name must be given: how reports call it, such as 'my-program'"
        )
    _check_edge(kind)
    check_choice(f"{kind.__name__}.values", kind.values, ("int", "float", "weight"))
    check_choice(f"{kind.__name__}.better", kind.better, ("smaller", "larger"))
    for name in ("weighted", "both_ways"):
        if not isinstance(getattr(kind, name), bool):
            refuse(f"{kind.__name__}.{name}", getattr(kind, name), "be True or False")


def check_names(kind: type[Program], family: type[Program]) -> None:
    """Refuse what is nearly the name of something that a program may say: a slip would leave the default in force."""
    known = {name for name in (*vars(family), "name") if not name.startswith("_")}
    own = [cls for cls in kind.__mro__ if issubclass(cls, family) and cls is not family]
    for name in (name for cls in own for name in vars(cls) if name not in known and name[0] != "_"):
        suggestion = nearest(name, known, _LIKE_A_SLIP)
        if suggestion:
            raise InvalidArgument(
                f"{kind.__name__}.{name} must be something that a program has{suggestion}, "
                f"or begin with an underscore as something of your own"
            )


def _check_edge(kind: type[Monotone]) -> None:
    if kind.edge is Monotone.edge:
        raise InvalidArgument(
            f"{kind.__name__}.edge must be given: a static method edge(value, weight) that returns what the source of "
            "an edge, having value, offers to the target"
        )
    static = getattr_static(kind, "edge")
    if not isinstance(static, staticmethod) or not isinstance(kind.edge, FunctionType):
        raise InvalidArgument(
            f"{kind.__name__}.edge must be a static method of value and weight: @staticmethod, then "
            "def edge(value, weight)"
        )
