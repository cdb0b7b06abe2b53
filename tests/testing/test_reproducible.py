"""What a seed draws does not hang on the modules that a process has loaded."""

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest

from grapin.testing import Case, Setup, Weights, failures, find_failure
from grapin.testing.case import Verdict


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Return the cases of a search."""
    tried: list[Case] = []

    def note(_setup: Setup, case: Case) -> Verdict:
        tried.append(case)
        return Verdict()

    with monkeypatch.context() as patched:
        patched.setattr(failures, "judge", note)
        setup = Setup("sssp", "reference")
        assert find_failure(setup, weights=[Weights("int32")], examples=60, hubs=False) is None
    return tried


@pytest.mark.parametrize("ours", [True, False])
def test_a_module_full_of_numbers_changes_nothing_but_would(
    ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not ours:
        monkeypatch.setattr(failures, "same_everywhere", nullcontext)
    name = f"numbers_of_{ours}"
    (tmp_path / f"{name}.py").write_text(f"NUMBERS = {list(range(101 + ours, 1000, 2))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = drawn(monkeypatch)
    import_module(name)
    assert (drawn(monkeypatch) == before) == ours
