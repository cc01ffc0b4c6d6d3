"""Tune a sparse program: try loop orders, formats and edges of sub-tiles, and say how the best one is run.

First programs are compared by what is expected of each with the edges that are chosen for it: every loop order, and every order
with one operand in dense levels. Where these are more than are estimated, orders are taken by what is expected of each with the
edges of the default one. Then the best of them are looked at on the engine, and from the best point so far the edge of
each index is halved and doubled, for as long as that gains.

What was found is kept in a file as it comes (`kept.py`), so that a run that was stopped goes on: the same points are asked for,
and those in the file are not looked at again.

Cost:    at most `budget` programs are estimated, and at most as many points are looked at on the engine.
Source:  ours; Onyx (JSSC IV-B) leaves order, formats and edges to its users.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from . import api, arguments
from .compiler.einsum import FILES
from .compiler.lang.program import Program, parse_program
from .compiler.lang.schedule import Schedule
from .cutting import Plan, search
from .execute import options
from .expected import estimated, glanced, orders
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .kept import VERSION, Kept
from .options import DISPATCH, MOST, VALUES
from .outcome import Outcome, silent
from .sim import engines
from .spread import Workers, installed_version, processes, workers
from .statements import run_program
from .tensors.coordinates import Coo

ESTIMATE = "estimate"
# What points are looked at on: the estimate alone, or an engine with a clock.
ENGINES = {ESTIMATE: "the estimate by which edges are chosen, without a run", engines.RTL: "generated Verilog",
           engines.RTL_FULL: "generated Verilog of all tiles, configured over its buses"}
BUDGET, MOST_BUDGET = 40, 100_000
EXACT = next(iter(VALUES))      # The way to take values if nothing is said.
FIRST = 4               # One in so many of the points that are run are different programs, the rest edges of the best.
DENSE_PLACES = 1 << 20  # Of an operand that is tried in dense levels.
SHOWN = 12              # Rows of the table.


@dataclass(frozen=True)
class Point:
    """A program and its edges: none are those that are chosen. formats: those that are not the default."""

    order: tuple[str, ...]
    formats: tuple[tuple[str, str], ...] = ()
    edges: tuple[tuple[str, int], ...] = ()

    @property
    def schedule(self) -> Schedule:
        found = Schedule().reorder(*self.order) if self.order else Schedule()
        for index, edge in self.edges:
            found = found.split(index, edge)
        return found


@dataclass(frozen=True)
class Found:
    """What a point takes, or why it does not work. edges: those that were chosen, if none were given."""

    cycles: float = 0.0
    edges: tuple[tuple[str, int], ...] = ()
    refused: str = ""


@dataclass(frozen=True)
class Task:
    """What is tuned, and on what."""

    text: str
    data: Mapping[str, Coo]
    arch: Arch
    engine: str
    plan: Plan
    locate: str
    seed: int

    @cached_property
    def digest(self) -> str:
        """What tells tasks apart."""
        machine = f"{self.arch.fingerprint:x}", self.arch.avoid.text()
        said = [self.text, *machine, self.engine, repr(self.plan), self.locate, self.seed]
        parts = hashlib.sha256(json.dumps(said).encode())
        for name, tensor in sorted(self.data.items()):
            parts.update(f"{name}{tensor.shape}".encode() + tensor.coords.tobytes() + tensor.values.tobytes())
        return parts.hexdigest()

    def program(self, point: Point) -> Program:
        return api.located(parse_program(self.text, point.order, dict(point.formats)), self.locate, self.arch)

    def look(self, point: Point, engine: str) -> Found:
        """What a point takes on an engine."""
        plan = replace(self.plan, edges=dict(point.edges) or None)
        try:
            if engine != ESTIMATE:
                how = options(engine, self.arch, None, self.seed, FILES)
                return Found(float(run_program(self.program(point), (), self.data, how, plan, silent).cycles or 0), point.edges)
            each = estimated(self.program(point).statements[0], self.data, self.arch, plan)
            return Found(round(each.cycles, 1), tuple(each.tiling.edges.items()))
        except UserError as refused:
            return Found(refused=refused.what)


def _look(task: Task, asked: tuple[Point, str]) -> Found:
    return task.look(*asked)


class _Sweep:
    """Looks at points, each once, on some workers."""

    def __init__(self, task: Task, kept: Kept, found: Workers, progress: Callable[[str], None]) -> None:
        self.task, self.kept, self.workers, self.progress = task, kept, found, progress

    def all(self, points: Sequence[Point], engine: str, what: str) -> dict[Point, Found]:
        """What each point takes; what is not known yet is looked at."""
        keys = {point: json.dumps([engine, asdict(point)]) for point in points}
        open_ = [(point, engine) for point in keys if keys[point] not in self.kept.found]
        for done, ((point, _), found) in enumerate(self.workers.each(self.task, _look, open_), 1):
            self.kept.add(keys[point], asdict(found))
            self.progress(f"{what}: {done} of {len(open_)}, {len(keys) - len(open_)} known before")
        return {point: _found(self.kept.found[key]) for point, key in keys.items()}


def _found(kept: Mapping[str, Any]) -> Found:
    return Found(kept["cycles"], tuple((index, edge) for index, edge in kept["edges"]), kept["refused"])


def tune(expression: str, /, *, order: str | None = None, formats: Mapping[str, str] | None = None, arch: str | Arch = "small",
         engine: str = ESTIMATE, budget: int = BUDGET, jobs: int | None = None, state: str | Path | None = None,
         unroll: int | str = 1, dispatch: str = "order", locate: str = "auto", values: str = "exact", seed: int = 0,
         cluster: str | None = None, progress: Callable[[str], None] = silent, **operands: object) -> Outcome:
    """Try orders, formats and edges of a statement and report the best ones.

    Parameters
    ----------
    order, formats : str, mapping    What is not tried, because it is given.
    engine : str                     estimate, or what the best programs are run on: rtl, rtl-full.
    budget : int                     At most so many programs are estimated, and so many points looked at on the engine.
    jobs : int                       Processes; default: one for each core.
    cluster : str                    Workers of dask.distributed in their place: ``local``, so many of a cluster here, or the
                                     address of a scheduler, such as ``tcp://host:8786``, whose workers are as many as it has.
    state : Path                     File in which results are kept: a run that was stopped goes on.

    The others are as of `einsum`. Report: `schedule` and `formats` of the best point, `command` that runs it, and all `points`,
    the fewest cycles first. Raises UserError for what does not fit, and where no point works.
    """
    engine = arguments.choice("engine to tune on", engine, ENGINES)
    budget = arguments.whole("budget", budget, 1, MOST_BUDGET)
    jobs = processes(jobs, cluster, os.cpu_count() or 1)
    arguments.choice("way to take values", values, VALUES)
    program = arguments.statements(expression, order, formats, operands, (), Schedule())
    if len(program.statements) > 1:
        raise UserError(f"it has {len(program.statements)} statements", program.text, "tune one of them")
    machine, progress = arguments.machine(arch), arguments.function("progress", progress)
    copies = None if isinstance(unroll, str) and unroll == MOST else arguments.whole("unroll", unroll, 1)
    plan = Plan(None, copies, arguments.choice("way to deal sub-tiles to copies", dispatch, DISPATCH))
    data = {name: api.operand(value, name, values, arguments.seed(seed)) for name, value in operands.items()}
    program.shapes({name: tensor.shape for name, tensor in data.items()})
    task = Task(expression, data, machine, engine, plan, locate, seed)
    kept = Kept(None if state is None else Path(state), {"task": task.digest, VERSION: installed_version()},
                "the file is of another program, other operands or another machine", _found)
    programs = _programs(task, program, order, arguments.formats(formats), budget, progress)
    with workers(cluster, jobs) as found_workers:
        sweep = _Sweep(task, kept, found_workers, progress)
        expected = sweep.all(programs, ESTIMATE, "estimating programs")
        found = _descended(sweep, expected, budget)
    if not found:
        raise UserError(f"none of {len(programs)} programs fits: {next(iter(expected.values())).refused}", expression,
                        "choose a larger machine")
    given = {"arch": arch if isinstance(arch, str | Path) else machine.name,
             **({"values": values} if values != EXACT else {}), **({"seed": seed} if seed else {})}
    return Outcome(*_told(task, operands, given, found, len(programs)))


def _programs(task: Task, program: Program, order: str | None, formats: Mapping[str, str], budget: int,
              progress: Callable[[str], None]) -> list[Point]:
    """Orders and formats to try, at most so many: those that differ least from the default first. Of more orders than that
    those of the fewest expected cycles with the edges of the default one."""
    statement, given = program.statements[0], tuple(formats.items())
    tried = [statement.order] if order else [*orders(task.text, formats)]
    if len(tried) > budget:
        tried = _by_cycles(task, tried, given, progress)
    dense: list[tuple[str, str]] = []
    for tensor, rank in statement.tensors.items():
        if tensor not in formats and rank and prod(task.data[tensor].shape) <= DENSE_PLACES:
            dense += [(tensor, "d" * outer + "s" * (rank - outer)) for outer in range(1, rank + 1)]
    points = [Point(each, (*given, *more)) for more in ((), *((one,) for one in dense)) for each in tried]
    return points[:budget]


def _by_cycles(task: Task, tried: Sequence[tuple[str, ...]], formats: tuple[tuple[str, str], ...],
               progress: Callable[[str], None]) -> list[tuple[str, ...]]:
    """Loop orders by the cycles that are expected of each with the edges of the default one, which is the first; as they come,
    where that one does not fit."""
    statements = [task.program(Point(order, formats)).statements[0] for order in tried]
    try:
        edges = search(statements[0], task.data, task.arch, task.plan).chosen().edges
    except UserError:
        return list(tried)      # What else fits is found out with the budget.
    cycles: dict[tuple[str, ...], float] = {}
    for done, each in enumerate(statements[1:], 1):
        cycles[each.order] = glanced(each, task.data, task.arch, task.plan, edges)
        progress(f"comparing loop orders: {done} of {len(statements) - 1}")
    return [tried[0], *sorted(tried[1:], key=lambda order: cycles[order])]


def _descended(sweep: _Sweep, expected: Mapping[Point, Found], budget: int) -> list[tuple[Point, float]]:
    """Points that were looked at on the engine, the fewest cycles first."""
    ranked = sorted((each for each in expected.items() if not each[1].refused), key=lambda each: each[1].cycles)
    known: dict[Point, float] = {}
    wave = [replace(point, edges=found.edges) for point, found in ranked[:max(1, budget // FIRST)]]
    while wave := [point for point in wave if point not in known][:budget - len(known)]:
        before = min(known.values(), default=float("inf"))
        looked = sweep.all(wave, sweep.task.engine, f"looking at points on {sweep.task.engine}")
        known |= {point: float("inf") if found.refused else found.cycles for point, found in looked.items()}
        best = min(known, key=lambda point: known[point])
        wave = _neighbours(sweep.task, best) if known[best] < before else []
    return sorted(((point, cycles) for point, cycles in known.items() if cycles < float("inf")), key=lambda each: each[1])


def _neighbours(task: Task, point: Point) -> list[Point]:
    """The edge of each index halved and doubled."""
    extents = task.program(point).statements[0].extents({name: tensor.shape for name, tensor in task.data.items()})
    found = []
    for at, (index, edge) in enumerate(point.edges):
        for other in (edge // 2, min(edge * 2, extents[index])):
            if other >= 1 and other != edge:
                found.append(replace(point, edges=(*point.edges[:at], (index, other), *point.edges[at + 1:])))
    return found


def _told(task: Task, operands: Mapping[str, object], given: Mapping[str, object], found: Sequence[tuple[Point, float]],
          programs: int) -> tuple[dict[str, object], str]:
    """The report, and the table with what runs the best point. given: options of that as they were given."""
    best, least = found[0]
    # Where the user gave arrays, names to replace.
    files = {name: str(value) if isinstance(value, str | Path) else f"{name}.mtx" for name, value in operands.items()}
    words = ["sardonyx", "run", "einsum", task.text, *(word for name, file in files.items() for word in (f"--{name}", file)),
             *(word for name, value in given.items() for word in (f"--{name}", str(value))),
             *(word for each in best.formats for word in ("--format", "=".join(each))), "--schedule", str(best.schedule),
             "--locate", task.locate, "--dispatch", task.plan.dispatch,
             "--unroll", MOST if task.plan.copies is None else str(task.plan.copies)]
    points: list[dict[str, Any]] = [{"order": " ".join(point.order), "formats": dict(point.formats), "edges": dict(point.edges),
                                     "cycles": round(cycles)} for point, cycles in found]
    lines = [f"{'cycles':>12}  {'order':10}  {'edges':32}  formats"]
    for point, cycles in found[:SHOWN]:
        edges, forms = (", ".join(f"{name}{sign}{value}" for name, value in each)
                        for each, sign in ((point.edges, " "), (point.formats, "=")))
        lines.append(f"{cycles:>12,.0f}  {' '.join(point.order):10}  {edges:32}  {forms or 'compressed'}")
    command = shlex.join(words)
    report = {"expression": task.text, "arch": task.arch.name, "engine": task.engine, "programs": programs,
              "looked_at": len(found), "cycles": round(least), "schedule": str(best.schedule), "formats": dict(best.formats),
              "command": command, "points": points}
    said = f"{programs} programs estimated, {len(found)} points on {task.engine}; the best one:"
    return report, "\n".join([*lines, "", said, f"  {command}"])
