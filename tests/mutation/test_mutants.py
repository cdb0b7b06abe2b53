"""What mutants are: the source with exactly one mistake, where it is said to be, and a sample that stays."""

import tomllib
from pathlib import Path
from types import CodeType

import mutants as module
import pytest
from mutants import PARTS, ROOT, Mutant, mutants, sample
from run import SEED, SIZE, SURVIVORS, page

FILES = ["kernels/cpu/monotone/buckets.py", "grapin/graph/index.py", "reference/verify.py", "sim/timeline.py"]


def _different(before: CodeType, after: CodeType) -> set[str]:
    """Return the functions that differ, those that only hold one that does left out."""
    inside = [
        _different(one, other)
        for one, other in zip(before.co_consts, after.co_consts, strict=False)
        if isinstance(one, CodeType) and isinstance(other, CodeType)
    ]
    found: set[str] = set().union(*inside)
    return found or ({before.co_qualname} if before != after else set())


@pytest.mark.parametrize("path", FILES)
def test_a_mutant_differs_from_the_source_in_the_function_it_names_and_nowhere_else(path: str) -> None:
    source = compile((ROOT / path).read_text(), str(ROOT / path), "exec")
    every = list(mutants(Path(path)))
    assert len(every) > 20
    assert len({one.key for one in every}) == len(every)
    for mutant in every[::7]:
        different = _different(source, mutant.code())
        assert different <= {mutant.function} | {
            name for name in different if name.startswith(f"{mutant.function}.<locals>.")
        }, mutant


def test_annotations_messages_and_assertions_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "LIMIT = 3\n"
        "def change(count: 'list[1 + 1]' = None) -> 'x < 1':\n"
        '    """Tell 1 < 2."""\n'
        "    assert count > 1\n"
        "    if count < 2:\n"
        "        raise ValueError(f'{count + 1} must be {3 * 4}')\n"
        "    return count\n"
    )
    monkeypatch.setattr(module, "_source", lambda _path: text)
    assert [one.change for one in mutants(Path("reference/made_up.py"))] == [
        "if count < 2 -> if not",
        "count < 2 -> LtE",
        "2 -> 3",
    ]


def test_the_sample_keeps_its_mutants_when_another_function_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {one.key for one in mutants(Path("reference/verify.py"), SEED)}
    read = module._source
    monkeypatch.setattr(
        module, "_source", lambda path: "def added(x: int) -> int:\n    return x + 1\n\n\n" + read(path)
    )
    after = {one.key for one in mutants(Path("reference/verify.py"), SEED)}
    assert before < after
    assert len(after - before) == 2


def test_the_sample_has_as_many_mutants_of_every_part() -> None:
    chosen = sample(SEED, SIZE)
    assert [sum(one.part == part for one in chosen) for part in PARTS] == [SIZE // len(PARTS)] * len(PARTS)


def test_the_page_counts_verdicts_and_lists_who_lives_with_the_reason() -> None:
    chosen = [
        Mutant("reference/verify.py", "f", 1, f"{number} -> {number + 1}", number, f"key {number}")
        for number in range(4)
    ]
    verdicts = {"key 0": "killed", "key 1": "survived", "key 2": "not reached"}
    found = {key: {"verdict": verdict} for key, verdict in verdicts.items()}
    text = page(chosen, found, {"key 1": "It is the same."})
    assert "| reference | 3 | 1 | 1 | 1 |" in text
    assert "1 of 3 are killed: 33%; 1 of the sample have not run." in text
    assert "| `reference/verify.py`, `f` | `1 -> 2` | It is the same. |" in text
    assert "`2 -> 3` | no reason yet" in text


def test_only_mutants_of_the_sample_are_explained() -> None:
    known = {one.key for one in sample(SEED, SIZE)}
    assert set(tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))) <= known
