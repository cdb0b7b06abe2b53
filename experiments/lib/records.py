"""Records: what a run of an experiment found and all it hangs on; the latest full ones are kept as answers.

Every run appends one line to `NAME.jsonl` in the folder `records`, which is not committed. `experiments/answers` is:
one `NAME.json` an experiment, and its figure and page, from a full run that was told to `--keep` its answer. The table
in `experiments/README.md`, pages and figures are made from these.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

from experiments.lib.bars import Bar, Record, bars_of
from experiments.lib.drawing import can_draw, drawn
from experiments.lib.experiment import FOLDER, Experiment, find, lacking, names
from grapin.bench.records import surroundings
from grapin.errors import InvalidFile
from grapin.outputs import write_whole
from grapin.units import format_seconds

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
    return _write(experiment, record, path, before + json.dumps(record, ensure_ascii=False) + "\n")


def keep(experiment: Experiment, record: Record) -> list[Path]:
    """Make a full record its experiment's answer; return the files."""
    if record["quick"]:
        raise ValueError(f"a quick run of {experiment.name} is no answer")
    ANSWERS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    return _write(experiment, record, ANSWERS / f"{experiment.name}.json", text)


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


def _write(experiment: Experiment, record: Record, path: Path, text: str) -> list[Path]:
    """Write a record and, where the library for it is here, its figure beside it."""
    contents = {path: text.encode()}
    if can_draw():
        contents[path.with_suffix(".svg")] = drawn(experiment, record)
    for file, content in contents.items():
        write_whole(str(file), lambda part, content=content: part.write_bytes(content))  # type: ignore[misc]
    return list(contents)


def _plain(bar: Bar) -> dict[str, Any]:
    figure = float(f"{bar.figure:.6g}") if isfinite(bar.figure) else None
    ratio = None if bar.ratio is None or figure is None else float(f"{bar.ratio:.4g}")
    return asdict(bar) | {"figure": figure, "ratio": ratio, "verdict": bar.verdict}


README = FOLDER / "README.md"
BEGIN = "<!-- The table of answers; `grapin experiments readme` writes it. -->"
END = "<!-- End of the table. -->"


def figures() -> dict[Path, bytes]:
    """Return the figure of every answer as it should be; none where the library that draws is missing."""
    kept = _kept() if can_draw() else ()
    return {ANSWERS / f"{one.name}.svg": drawn(one, record) for one, record in kept}


def pages() -> dict[Path, str]:
    """Return the README and the page of every answer as they should be."""
    experiments = [find(name) for name in names()]
    records = {one.name: record for one, record in _kept()}
    before = README.read_text(encoding="utf-8")
    if BEGIN not in before or END not in before:
        raise InvalidFile(
            f"{README} must have the lines {BEGIN!r} and {END!r}, between which the table is written"
        )
    head, _, rest = before.partition(BEGIN)
    table = [
        "| experiment | question | beside | answer | took |",
        "|---|---|---|---|--:|",
        *(_line(one, records.get(one.name)) for one in experiments),
    ]
    found = {README: "\n".join([head + BEGIN, "", *table, "", END + rest.partition(END)[2]])}
    for one in experiments:
        if one.name in records:
            found[ANSWERS / f"{one.name}.md"] = _page(one, records[one.name])
    return found


def rebuild() -> list[Path]:
    """Write what differs and return it; figures first, because a page shows the one that is there."""
    changed = []
    for wanted in (figures, pages):
        for path, content in wanted().items():
            whole = content if isinstance(content, bytes) else content.encode()
            if not path.is_file() or path.read_bytes() != whole:
                write_whole(str(path), lambda part, whole=whole: part.write_bytes(whole))  # type: ignore[misc]
                changed.append(path)
    return changed


def _kept() -> list[tuple[Experiment, Record]]:
    found = ((find(name), answer(name)) for name in names())
    return [(one, record) for one, record in found if record is not None]


def _line(experiment: Experiment, record: Record | None) -> str:
    module = f"[`{experiment.name}`]({experiment.name}.py)"
    if record is None:
        told, took = "not yet run in full", ""
    else:
        told = f"[{said(experiment, record)}](answers/{experiment.name}.md)"
        took = format_seconds(record["seconds"])
    return f"| {module} | {experiment.question} | {experiment.source} | {told} | {took} |"


def _page(experiment: Experiment, record: Record) -> str:
    machine = record["machine"]
    told = said(experiment, record)
    lines = [
        f"# {experiment.question}",
        "",
        f"{told[0].upper()}{told[1:]}.",
        "",
        f"| what | ours | {experiment.rival} | ratio | unit | limit | | remark |",
        "|---|--:|--:|--:|---|--:|---|---|",
        *(_row(bar) for bar in bars_of(record)),
        "",
    ]
    if experiment.source:
        lines += [f"{experiment.rival[0].upper()}{experiment.rival[1:]}: {experiment.source}.", ""]
    if experiment.difference:
        lines += [f"Why they differ: {experiment.difference}", ""]
    figure = ANSWERS / f"{experiment.name}.svg"
    if figure.is_file():
        lines += [f"![{_described(experiment, figure.read_text(encoding='utf-8'))}]({figure.name})", ""]
    settings = ", ".join(f"{name} {value}" for name, value in record["configuration"].items())
    lines.append(
        f"From `grapin experiments run {experiment.name} --keep`, which took {format_seconds(record['seconds'])}: "
        f"grapin {record['grapin']}, commit {record['commit']}, {machine['processor']}, {machine['cores']} cores, "
        f"Python {machine['python']}, seed {record['seed']}{', ' + settings if settings else ''}; {record['when']}.\n"
    )
    return "\n".join(lines)


def _described(experiment: Experiment, image: str) -> str:
    """Say what a figure marks, as far as its legend tells."""
    beside, limits = (f">{label}</text>" in image for label in (experiment.rival, "limit"))
    return "Figures of the table: ours" + f" beside {experiment.rival}" * beside + ", with limits" * limits


def _row(bar: Bar) -> str:
    figures = (bar.figure, bar.published, bar.ratio)
    numbers = ("" if one is None or not isfinite(one) else f"{one:.3g}" for one in figures)
    limit = "" if bar.limit is None else f"{bar.limit:g}"
    cells = (bar.name, *numbers, bar.unit, limit, bar.verdict, bar.remark)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
