"""The page about testing names all that there is to import."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_names_everything_there_is_to_import() -> None:
    import grapin.testing

    page = (ROOT / "docs" / "testing.md").read_text()
    steps = {"Counterexample", "Exploration", "Interleaved", "Weak", "atomic", "compare_and_swap", "fence"}
    steps |= {"minimum", "read", "write", "InvalidCase", "check_same_changes", "MutationStream"}
    assert {name for name in grapin.testing.__all__ if f"`{name}`" not in page} <= steps
