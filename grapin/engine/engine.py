"""`Engine`: a graph, the programs kept fresh on it, and the device and system that do it."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.counters import QueryReport, Report, Work
from grapin.device import Asked, Query, check_tracing, open_cache, open_device
from grapin.display import Shown, new_figure
from grapin.engine.answer import Answer, Vertex
from grapin.engine.log import encode
from grapin.errors import AnswersLost, InvalidArgument
from grapin.graph import Graph
from grapin.graph.change import Applied
from grapin.graph.packed import Allocate
from grapin.interrupts import held_interrupts
from grapin.named import NamedBatch
from grapin.programs.check import check_program
from grapin.programs.program import Program
from grapin.system import System, find_runnable
from grapin.trace import Trace, told_of, writer_of
from grapin.units import format_bytes
from grapin.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from grapin.engine.state import Saved, State


class Engine(Shown):
    """Keeps the values of one or several programs up to date while batches change one graph.

    >>> graph = Graph.from_edges([0, 1], [1, 2])
    >>> engine = Engine(graph, grapin.BFS(source=0))
    >>> report = engine.apply(Batch(insert=[(0, 2)]))
    >>> engine.values.tolist()
    [0, 1, 1]

    `cache="10%"` gives the device room for copies of a tenth of all edges, chosen as the system says (see
    `grapin.cache`); `report.counters` then says what still crossed the link.

    `threads` is what the CPU device may use: as many as there are cores, or one where a trace is kept. Values are the
    same for any number; which of two equally good parents a vertex gets is not, and with it which lists a later repair
    reads. One thread gives the same trace, and so the same prediction, in every run.

    `apply` changes the graph. A graph that was changed elsewhere, by itself or by another engine, is noticed: from then
    on this engine refuses to show its answers, or to go on from them.

    An engine stays in the process it was made in. What lasts and travels are its graph, its values and its reports.

    `trace=True` keeps in memory which lists are read, some 30 bytes per list, more with every batch; `trace="run.npz"`
    writes that to the file on the way, in parts, with a few MiB in memory, and `finish_trace` completes the file.
    """

    def __init__(
        self,
        graph: Graph,
        programs: Program | Sequence[Program],
        *,
        device: str = "auto",
        system: str | System = "bounded",
        threads: int | None = None,
        trace: bool | str | Path = False,
        cache: Asked | None = None,
    ) -> None:
        self._set_up(
            graph, programs, None, device=device, system=system, threads=threads, trace=trace, cache=cache
        )

    def _set_up(
        self,
        graph: Graph,
        programs: Program | Sequence[Program],
        saved: "Saved | None",
        *,
        device: str,
        system: str | System,
        threads: int | None,
        trace: bool | str | Path,
        cache: Asked | None,
    ) -> None:
        """Check what is given, and compute the first values, where they were not saved."""
        self._state: State | None = None
        self._lock = RLock()
        """Held while a batch is applied and while an answer is read: another thread waits for a whole one."""
        if not isinstance(graph, Graph):
            raise InvalidArgument(
                f"graph={graph!r:.60} must be a Graph: grapin.load reads a file or a generator"
            )
        self.graph = graph
        self.system = find_runnable(system)
        self._device = open_device(device, self.system)
        if trace is not False:
            check_tracing(self._device)
        self.threads = _threads(threads, trace=trace is not False)
        listed = _listed(programs)
        for program in listed:
            check_program(program, graph)
        self._cache = None if cache is None else open_cache(cache, graph, listed, self.system, self._device)
        self._queries = [self._prepare(program) for program in listed]
        self.answers = tuple(
            Answer(program, query, self._check, graph, self._lock)
            for program, query in zip(listed, self._queries, strict=True)
        )
        """One answer a program, in the order in which they were given."""
        self._writer = writer_of(trace, self._about())
        self._failure: BaseException | None = None
        self._version = graph.version
        with held_interrupts():
            self.started: Report = self._report(None, 0.0, self._run(None, saved))
        """What computing the first values took."""

    @property
    def device(self) -> str:
        """The name of the device that executes."""
        return self._device.name

    @property
    def cache(self) -> dict[str, Any] | None:
        """The settings of the device's cache as plain values; None when it has none."""
        return None if self._cache is None else self._cache.about()

    @property
    def values(self) -> NDArray[Any]:
        """The value of each vertex, when there is one program; otherwise see `answers`."""
        return self._only().values

    @property
    def parents(self) -> NDArray[np.int32]:
        """The vertex each value came from, when there is one program; otherwise see `answers`."""
        return self._only().parents

    def value(self, vertex: Vertex) -> Any:
        """Return the value of one vertex, by name or id, when there is one program; None if it is unreached."""
        return self._only().value(vertex)

    def path(self, vertex: Vertex, to: Vertex | None = None) -> list[Any]:
        """Return the vertices along which the value of a vertex came, by name or id, when there is one program."""
        return self._only().path(vertex, to)

    @property
    def trace(self) -> Trace:
        """What was read so far; the engine must have been made with `trace=True`."""
        if self._writer is None:
            raise InvalidArgument("trace=False must be True when the engine is made for a trace to be kept")
        if self._writer.path is not None:
            raise InvalidArgument(
                f"trace={str(self._writer.path)!r} must be True for the trace to be at hand: it goes to its file, "
                "which finish_trace() completes and Trace.load reads"
            )
        return self._writer.trace()

    @property
    def tracing(self) -> bool:
        """Whether what batches read is written down: not after the trace was finished, or could not be written."""
        return self._writer is not None

    def finish_trace(self) -> None:
        """Complete the file of the trace, for an engine made with `trace=FILE`; what is read after that is not in it.

        Before that there is no file of that name, so that what is found there is always whole.
        """
        writer = self._writer
        if writer is None or writer.path is None:
            raise InvalidArgument("trace must be a file when the engine is made for a file to be finished")
        self._writer = None
        with told_of(writer):
            writer.finish()

    @classmethod
    def open(
        cls,
        folder: str | Path,
        programs: Program | Sequence[Program] | None = None,
        *,
        device: str = "auto",
        system: str | System | None = None,
        threads: int | None = None,
        trace: bool | str | Path = False,
        cache: Asked | None = None,
        durability: str = "batch",
        allocate: Allocate | None = None,
    ) -> "Engine":
        """Go on from a directory that an engine was saved to: with its graph, its programs and all its batches.

        `programs` are needed where one is a class of your own, and must be those that were saved. With another system
        or device, a trace or a cache, answers are computed from scratch; otherwise they are taken up where they were.
        """
        from grapin.engine.state import State, abandoned_on_failure

        with abandoned_on_failure(State.found(Path(folder), durability)) as state:
            saved = state.load(allocate)
            engine = cls.__new__(cls)
            engine._set_up(  # noqa: SLF001 - an engine made another way
                saved.graph,
                saved.programs(None if programs is None else _listed(programs)),
                None if trace is not False or cache is not None else saved,
                device=device,
                system=saved.system if system is None else system,
                threads=threads,
                trace=trace,
                cache=cache,
            )
            for batch in state.batches(saved.graph.version):
                engine.apply(batch)
            engine._state = state  # noqa: SLF001 - as above
        return engine

    def save(self, folder: str | Path, *, durability: str = "batch") -> None:
        """Write graph, programs and answers to a directory, and keep every later batch there before `apply` returns.

        `Engine.open` goes on from it, also if this process is killed at any moment. The directory must be new or empty,
        or the one that this engine has already: then a snapshot is written there that opens more quickly.

        Args:
            folder: The directory, for this state alone.
            durability: What `apply` waits for. "batch": for the disk, so that not even a loss of power takes a batch
                away. "os": for the operating system; the process may be killed, and a loss of power may take the last
                batches away, never one from between them. "none": for nothing; batches are written with the next
                snapshot or by `close`.
        """
        from grapin.engine.state import State, abandoned_on_failure

        self._check()
        if self._state is not None and self._state.folder.resolve() == Path(folder).resolve():
            self._write_snapshot()
            return
        if self._state is not None:
            raise InvalidArgument(
                f"folder={str(folder)!r} must be {str(self._state.folder)!r}, where this engine is saved already"
            )
        with abandoned_on_failure(State.make(Path(folder), durability)) as state:
            if state.version is not None:
                raise InvalidArgument(
                    f"folder={str(folder)!r} must be new or empty, and has a state in it: Engine.open goes on from it"
                )
            self._state = state
            try:
                self._write_snapshot()
            except BaseException:
                self._state = None
                raise

    def close(self) -> None:
        """Let go of the directory this engine is saved in, with everything written; batches are kept no longer."""
        if self._state is not None:
            state, self._state = self._state, None
            state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def mark(self) -> str | None:
        """What was said with the last batch that `apply` was told a mark of, in this process or the one before."""
        return None if self._state is None else self._state.mark

    def apply(self, batch: Batch | NamedBatch, *, mark: str | None = None) -> Report:
        """Change the graph by a batch, of ids or of names, and bring every answer up to date.

        A bad batch changes nothing. A value that outgrows its 32 bits, or a device that fails, is found when the graph
        has changed: the error says so, and the answers can be read no more (`AnswersLost`); the graph can.

        In an engine that was saved, the batch is durable when this returns, and so is `mark`: where the batch ends in
        whatever it comes from, such as an offset in a file or a topic, to go on from after `Engine.open`.
        """
        self._check()
        if not isinstance(batch, (Batch, NamedBatch)):
            raise InvalidArgument(
                f"batch={batch!r:.60} must be a grapin.Batch, such as Batch(insert=[(0, 1)])"
            )
        with self._lock, held_interrupts():  # a batch is applied whole: Ctrl-C takes effect behind it
            begin = time.perf_counter()
            batch, unknown = self.graph.resolve(batch)
            body = None if self._state is None else encode(batch)
            applied = self.graph.apply(batch)
            if unknown:
                applied = applied.ignoring(unknown)
            self._version = applied.version
            update_seconds = time.perf_counter() - begin
            report = self._report(applied, update_seconds, self._run(applied))
            return report if body is None else self._kept(report, body, mark)

    def follow(self, program: Program) -> Answer:
        """Compute one more program from scratch and keep it fresh from now on; its answer comes last in `answers`.

        If it cannot be computed, the engine is as it was. An engine with a trace or a cache was laid out for its
        programs, and takes no more.
        """
        self._check()
        if self._writer is not None or self._cache is not None:
            raise InvalidArgument(
                "program must be given when the engine is made: one with a trace or a cache takes no more of them"
            )
        [program] = _listed(program)
        check_program(program, self.graph)
        query = self._prepare(program)
        with held_interrupts():
            query.start(self.graph.snapshot(), tracing=False)
        answer = Answer(program, query, self._check, self.graph, self._lock)
        self._queries.append(query)
        self.answers = (*self.answers, answer)
        if self._state is not None:
            self._write_snapshot()
        return answer

    def unfollow(self, answer: Answer) -> None:
        """Keep this answer fresh no longer; from now on it is of a graph that is gone, and refuses to be read."""
        if answer not in self.answers or len(self.answers) == 1:
            raise InvalidArgument("answer must be one of engine.answers, and not the last one that is left")
        place = self.answers.index(answer)
        del self._queries[place]
        self.answers = (*self.answers[:place], *self.answers[place + 1 :])
        answer.close()
        if self._state is not None:
            self._write_snapshot()

    def memory(self) -> dict[str, int]:
        """Return the bytes of the graph and of vertex state, by part."""
        parts = {f"graph.{name}": size for name, size in self.graph.memory().items()}
        for place, answer in enumerate(self.answers):
            parts |= {f"answers[{place}].{name}": size for name, size in answer.memory().items()}
        if self._cache is not None:
            parts["cache"] = self._cache.nbytes()
        return parts

    def plot(self) -> "Figure":
        """Draw for each answer how many vertices have which value, as a matplotlib figure."""
        figure = new_figure(5 * len(self.answers), 3.6)
        for answer, axes in zip(
            self.answers, np.atleast_1d(figure.subplots(1, len(self.answers))), strict=True
        ):
            answer.plot(axes)
        return figure

    def _facts(self) -> dict[str, str]:
        about = self._about()
        return {
            "graph": repr(self.graph),
            "programs": ", ".join(about["programs"]),
            "system": self.system.name,
            "device": self.device,
            "cache": "none" if self.cache is None else ", ".join(f"{n} {v}" for n, v in self.cache.items()),
            "memory": format_bytes(sum(self.memory().values())),
        }

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise InvalidArgument(
            "engine must be made where it is used, and cannot be copied or pickled: copy or pickle engine.graph, make "
            "another Engine on it there; values and parents are arrays, which can be"
        )

    def _check(self) -> None:
        """Refuse to read, and to go on from, answers that are of no graph or of one that is gone."""
        if self._failure is not None:
            ended = f"{type(self._failure).__name__}: {self._failure}".rstrip(": ")
            raise AnswersLost(
                f"the answers were lost at version {self._version} of the graph ({ended}): make another Engine on it"
            ) from self._failure
        if self.graph.version != self._version:
            raise InvalidArgument(
                f"graph.version={self.graph.version} must be {self._version}: the graph was changed elsewhere, and "
                "these are the answers of one that is gone; make another Engine on it, or one with all programs"
            )

    def _about(self) -> dict[str, Any]:
        graph = self.graph
        return {
            "programs": [answer.program.name for answer in self.answers],
            "system": self.system.name,
            "repair": self.system.repair.value,
            "transfer": self.system.transfer.name,
            "device": self.device,
            "directed": graph.directed,
            "aligned": graph.aligned,
            "weights": None if graph.weight_dtype is None else str(graph.weight_dtype),
            "cache": self.cache,
        }

    def _prepare(self, program: Program) -> Query:
        graph = self.graph
        query = self._device.query(
            program,
            self.system,
            weight_dtype=graph.weight_dtype,
            directed=graph.directed,
            threads=self.threads,
        )
        return query if self._cache is None else self._cache.attach(query)

    def _kept(self, report: Report, body: bytes, mark: str | None) -> Report:
        """Make a batch durable, and take a snapshot where that is worth it."""
        assert self._state is not None
        begin = time.perf_counter()
        try:
            self._state.append(report.version, body, mark)
            if self._state.worth_a_snapshot(report.update_seconds + report.compute_seconds):
                self._write_snapshot()
        except BaseException as error:  # the graph is ahead of what is durable: from here on nobody can go on
            self._failure = error
            raise
        return replace(report, save_seconds=time.perf_counter() - begin)

    def _write_snapshot(self) -> None:
        assert self._state is not None
        with self._lock, held_interrupts():
            programs = [answer.program for answer in self.answers]
            self._state.write(self.graph, programs, self._queries, self.system.name)

    def _run(self, applied: Applied | None, saved: "Saved | None" = None) -> tuple[QueryReport, ...]:
        """Bring every answer up to date, from scratch where there is no batch and nothing that was saved."""
        snapshot = self.graph.snapshot()
        reports = []
        for place, (answer, query) in enumerate(zip(self.answers, self._queries, strict=True)):
            begin = time.perf_counter()
            if saved is not None and saved.resume(place, answer.program, query, snapshot, self.system.name):
                reports.append(QueryReport(answer.program.name, Work(), time.perf_counter() - begin))
                continue
            tracing = self._writer is not None
            try:
                work: Work = (
                    query.start(snapshot, tracing=tracing)
                    if applied is None
                    else query.repair(snapshot, applied, tracing=tracing)
                )
            except (
                BaseException
            ) as error:  # also what a driver raises, and Ctrl-C: half a repair is no answer
                self._failure = error
                raise
            work = replace(work, counters=work.counters.moved_by(self.system.transfer.name))
            reports.append(QueryReport(answer.program.name, work, time.perf_counter() - begin))
        if self._writer is not None:
            writer, self._writer = self._writer, None  # a trace with a batch missing would be a wrong one
            with told_of(writer):
                writer.write([report.work for report in reports], snapshot, applied)
            self._writer = writer
        return tuple(reports)

    def _report(
        self, applied: Applied | None, update_seconds: float, queries: tuple[QueryReport, ...]
    ) -> Report:
        return Report(
            version=self._version,
            inserted=0 if applied is None else len(applied.inserted),
            deleted=0 if applied is None else len(applied.deleted),
            reweighted=0 if applied is None else len(applied.reweighted),
            ignored=0 if applied is None else applied.ignored,
            update_seconds=update_seconds,
            queries=queries,
        )

    def _only(self) -> Answer:
        if len(self.answers) > 1:
            raise InvalidArgument(f"engine has {len(self.answers)} programs: use engine.answers[i]")
        return self.answers[0]


def _listed(programs: Program | Sequence[Program]) -> list[Program]:
    """Return programs as a list, or say what one is; names are the command line's."""
    listed: list[Any] = list(programs) if isinstance(programs, (list, tuple)) else [programs]
    if not listed:
        raise InvalidArgument("programs=[] must hold at least one program")
    for one in listed:
        if not isinstance(one, Program):
            shown = one.__name__ if isinstance(one, type) else repr(one)
            raise InvalidArgument(f"programs={shown:.60} must be programs, such as grapin.BFS(source=0)")
    return listed


def _threads(given: int | None, *, trace: bool) -> int:
    if given is not None:
        return check_integer("threads", given, least=1, most=1024)
    return 1 if trace else os.cpu_count() or 1
