"""The table of all answers in `experiments/README.md`, and a page for each; made from the records that were kept."""

from math import isfinite
from pathlib import Path

from experiments.bars import Bar
from experiments.experiment import FOLDER, Experiment, find, names
from experiments.records import ANSWERS, Record, answer, bars_of
from grapin.cli.outputs import write_whole
from grapin.errors import InvalidFile
from grapin.units import format_seconds

README = FOLDER / "README.md"
BEGIN = "<!-- The table of answers; `grapin experiments readme` writes it. -->"
END = "<!-- End of the table. -->"


def pages() -> dict[Path, str]:
    """Return the README and the page of every answer as they should be."""
    experiments = [find(name) for name in names()]
    records = {one.name: record for one in experiments if (record := answer(one.name)) is not None}
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
    """Write what differs and return it."""
    changed = []
    for path, text in pages().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_whole(str(path), lambda part, text=text: part.write_text(text, encoding="utf-8"))  # type: ignore[misc]
            changed.append(path)
    return changed


def _line(experiment: Experiment, record: Record | None) -> str:
    module = f"[`{experiment.name}`]({experiment.name}.py)"
    if record is None:
        said, took = "not yet run in full", ""
    else:
        said, took = f"[{record['answer']}](answers/{experiment.name}.md)", format_seconds(record["seconds"])
    return f"| {module} | {experiment.question} | {experiment.source} | {said} | {took} |"


def _page(experiment: Experiment, record: Record) -> str:
    machine = record["machine"]
    lines = [
        f"# {experiment.question}",
        "",
        f"{record['answer'][0].upper()}{record['answer'][1:]}.",
        "",
        "| what | ours | published | ratio | unit | limit | | remark |",
        "|---|--:|--:|--:|---|--:|---|---|",
        *(_row(bar) for bar in bars_of(record)),
        "",
    ]
    if experiment.source:
        lines += [f"Published: {experiment.source}.", ""]
    if experiment.difference:
        lines += [f"Why they differ: {experiment.difference}", ""]
    if (ANSWERS / f"{experiment.name}.svg").is_file():
        lines += [f"![The rows of the table as bars]({experiment.name}.svg)", ""]
    settings = ", ".join(f"{name} {value}" for name, value in record["configuration"].items())
    lines.append(
        f"From `grapin experiments run {experiment.name} --keep`, which took {format_seconds(record['seconds'])}: "
        f"grapin {record['grapin']}, commit {record['commit']}, {machine['processor']}, {machine['cores']} cores, "
        f"Python {machine['python']}, seed {record['seed']}{', ' + settings if settings else ''}; {record['when']}.\n"
    )
    return "\n".join(lines)


def _row(bar: Bar) -> str:
    figures = (bar.figure, bar.published, bar.ratio)
    numbers = ("" if one is None or not isfinite(one) else f"{one:.3g}" for one in figures)
    limit = "" if bar.limit is None else f"{bar.limit:g}"
    cells = (bar.name, *numbers, bar.unit, limit, bar.verdict, bar.remark)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
