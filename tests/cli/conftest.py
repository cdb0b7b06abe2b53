"""What tests of several commands share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grapin.cli.main import main


@pytest.fixture
def refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., None]:
    """Hold that a command line is refused in one sentence, with exit code 2, and that nothing is written."""

    def check(*arguments: str, because: str) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(arguments) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.count("\n") == 1
        assert because in shown.err
        assert not list(tmp_path.iterdir())

    return check
