"""Everything that must hold of an engine between batches: its answers are right, its cached lists are the store's."""

from grapin.engine import Engine
from grapin.engine.verify import verify_answer
from grapin.engine.verify_copies import verify_copies


def verify_engine(engine: Engine) -> None:
    """Raise `WrongAnswer`, naming vertex or list, unless answers and copies are right for the graph as it is now."""
    for answer in engine.answers:
        verify_answer(answer, engine.graph)
    cache = engine._cache  # noqa: SLF001  (how copies are kept is no business of users, but of tests)
    if cache is not None:
        verify_copies(cache, engine.graph.snapshot())
