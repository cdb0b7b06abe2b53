"""Records: what a run of an experiment found and all it hangs on; the latest full ones are kept as answers.

Every run appends one line to `NAME.jsonl` in the folder `records`, which is not committed. `experiments/answers` is:
one `NAME.json` an experiment with its figure, from a full run that was told to `--keep` its answer.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from experiments.bars import Bar, Record, bars_of
from experiments.drawing import can_draw, drawn
from experiments.experiment import FOLDER, Experiment, lacking
from grapin.bench.machine import surroundings
from grapin.errors import InvalidFile
from grapin.outputs import write_whole

RECORDS = FOLDER.parent / "records"
ANSWERS = FOLDER / "answers"


def measured(
    experiment: Experiment, *, quick: bool, advance: Callable[[float], None] = lambda _: None
) -> Record:
    """Measure and return the record."""
    where = surroundings()  # before it: the commit that runs, not what is written meanwhile
    begin = perf_counter()
    bars = []
    try:
        for bar in experiment.measure(quick=quick):
            bars.append(bar)
            advance(1)
    except ModuleNotFoundError as error:
        raise lacking(experiment.name, error) from error
    return {
        "experiment": experiment.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "seconds": float(f"{perf_counter() - begin:.3g}"),
        **where,
        "device": "cpu",
        "seed": experiment.seed,
        "configuration": dict(experiment.configuration),
        "answer": experiment.answer(bars),
        "bars": [_plain(bar) for bar in bars],
    }


def said(experiment: Experiment, record: Record) -> str:
    """Return the answer in one sentence, from the rows: as it is told today, not when they were measured."""
    return experiment.answer(bars_of(record))


def write(experiment: Experiment, record: Record, folder: Path) -> list[Path]:
    """Append a record to those of its experiment in a folder and draw it; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.jsonl"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    line = json.dumps(record, ensure_ascii=False) + "\n"
    write_whole(str(path), lambda part: part.write_text(before + line, encoding="utf-8"))
    return [path, *_draw(experiment, record, folder)]


def keep(experiment: Experiment, record: Record) -> list[Path]:
    """Make a full record its experiment's answer; return the files."""
    if record["quick"]:
        raise ValueError(f"a quick run of {experiment.name} is no answer")
    ANSWERS.mkdir(exist_ok=True)
    path = ANSWERS / f"{experiment.name}.json"
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    write_whole(str(path), lambda part: part.write_text(text, encoding="utf-8"))
    return [path, *_draw(experiment, record, ANSWERS)]


def answer(name: str) -> Record | None:
    """Return the record that was kept of an experiment; None when there is none."""
    path = ANSWERS / f"{name}.json"
    if not path.is_file():
        return None
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidFile(
            f"{path} must be a record: `grapin experiments run {name} --keep` writes it"
        ) from error
    return record


def _draw(experiment: Experiment, record: Record, folder: Path) -> list[Path]:
    if not can_draw():
        return []
    path = folder / f"{experiment.name}.svg"
    image = drawn(experiment, record)
    write_whole(str(path), lambda part: part.write_bytes(image))
    return [path]


def _plain(bar: Bar) -> dict[str, Any]:
    figure = float(f"{bar.figure:.6g}") if math.isfinite(bar.figure) else None
    ratio = None if bar.ratio is None or figure is None else float(f"{bar.ratio:.4g}")
    return asdict(bar) | {"figure": figure, "ratio": ratio, "verdict": bar.verdict}
