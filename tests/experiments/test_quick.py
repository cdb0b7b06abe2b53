"""Every experiment runs: on tiny graphs, in this process, with its record kept out of the checkout's."""

import json
from pathlib import Path

import pytest

from experiments.lib.bars import Bar
from experiments.lib.experiment import find, names
from grapin.cli.main import main
from grapin.errors import MissingDependency


@pytest.mark.parametrize("name", names())
def test_an_experiment_runs_quickly_and_records_and_draws_what_it_prints(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        experiment = find(name)
    except MissingDependency as error:
        pytest.skip(str(error))
    code = main(["experiments", "run", name, "--quick", "--out", str(tmp_path)])
    printed = capsys.readouterr()
    if code and "pip install" in printed.err:
        pytest.skip(printed.err)
    assert code == 0
    (record,) = map(json.loads, (tmp_path / f"{name}.jsonl").read_text().splitlines())
    assert record["experiment"] == name == experiment.name
    assert record["quick"]
    assert record["bars"]
    for bar in record["bars"]:
        assert bar["name"] in printed.out
        assert bar["remark"] in printed.out
    assert experiment.question in (tmp_path / f"{name}.svg").read_text().replace("&quot;", '"')


def test_a_figure_passes_up_to_its_limit_and_has_no_verdict_without_one() -> None:
    verdicts = [Bar("time", figure, "s", limit).verdict for figure, limit in ((1, 1), (2, 1), (3, None))]
    assert verdicts == ["pass", "FAIL", ""]
