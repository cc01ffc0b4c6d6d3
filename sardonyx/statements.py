"""Run programs of one or several statements: those that are fused as one, the others in turn.

What a statement gives is the operand of those that use it: the host takes it out of the global buffer, and cuts it again. Only
what is fused (`compiler/sparse/fuse.py`) stays inside the array.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from .compiler.einsum import compile_fused, most_copies
from .compiler.ir.mapped import graph_demands
from .compiler.lang.einsum import Einsum
from .compiler.lang.program import Program
from .compiler.sparse.blocks import map_graph
from .compiler.sparse.fuse import Fused, alone, fuse
from .compiler.sparse.fused_tiling import kept_whole, sharing
from .compiler.sparse.lanes import dealt, lanes_of
from .compiler.sparse.lower import lower_fused
from .compiler.sparse.normalize import normalize, unsplit
from .compiler.sparse.parts import with_parts
from .compiler.sparse.tiles import Tiling
from .cutting import Plan, cut
from .dump import Dump
from .execute import Options, Result, execute
from .expected import on_copies
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .hw.arch.errors import shown as shown_text
from .loops import choose
from .outcome import silent
from .runtime.data.dispatch import groups_needed
from .runtime.data.sub_tiles import Work
from .sim import engines
from .sim.golden import einsum as golden
from .tensor_job import TensorJob, shown, value_of
from .tensors.coordinates import Coo
from .tensors.values import check_value

Tell = Callable[[str], None]

_AS_IT_COMES = Plan()
MOST_LANES = 8


@dataclass(frozen=True)
class _Part:
    """Statements that run as one program, which gives the result of the last one."""

    statements: tuple[Einsum, ...]
    fused: Fused
    formats: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.statements[-1].result.tensor

    def operands(self, known: Mapping[str, Coo]) -> dict[str, Coo]:
        """Those of what is known that it takes."""
        made = {each.result.tensor for each in self.statements}
        return {name: known[name] for each in self.statements for name in each.tensors if name not in made}


def groups(program: Program, fused: Sequence[str]) -> list[tuple[Einsum, ...]]:
    """The statements of a program that run as one, each group in order and by its last statement; fused: intermediates that
    stay inside the array."""
    group = {each.result.tensor: {each.result.tensor} for each in program.statements}
    for each in program.statements:
        for tensor in each.tensors:
            if tensor in fused:
                joined = group[tensor] | group[each.result.tensor]
                group |= dict.fromkeys(joined, joined)
    found = []
    for each in program.statements:
        members = [one for one in program.statements if one.result.tensor in group[each.result.tensor]]
        leave = [one.result.tensor for one in members if one.result.tensor not in fused]
        if len(leave) > 1:
            inside = " and ".join(one.result.tensor for one in members if one.result.tensor in fused)
            raise UserError(f"{' and '.join(leave)} would leave the array from one fused program, which gives one result",
                            program.text, f"fuse {leave[0]} as well, or do not fuse {inside}")
        if each.result.tensor == leave[0]:
            found.append(tuple(members))
    return found


def run_program(program: Program, fused: Sequence[str], data: Mapping[str, Coo], how: Options, wanted: Plan,
                progress: Tell) -> Result:
    """Run a program on its operands by name. What its statements and its schedule cannot be is refused whatever the engine,
    before anything runs."""
    form, shapes = program.result.result.format, program.shapes({name: tensor.shape for name, tensor in data.items()})
    check_value(program.result.result.tensor, shapes[program.result.result.tensor], form.dense_levels == form.rank > 0)
    parts = [_Part(each, _fused(each, program), program.formats) for each in groups(program, fused)]
    _check_used(wanted, parts, program)
    if how.engine == engines.GOLDEN:
        return _golden(parts, program, data, how.arch, wanted)
    if len(parts) == 1:
        return _run_part(parts[0], data, how, wanted, progress)[0]
    began, known, reports = time.perf_counter(), dict(data), dict[str, Mapping[str, object]]()
    results = []
    for part in parts:
        folder = Dump(how.dump.folder / part.name) if how.dump else None
        found, known[part.name] = _run_part(part, part.operands(known), replace(how, dump=folder), _own(wanted, part),
                                            partial(_told, progress, part.name))
        results.append(found)
        reports[part.name] = found.report
    cycles = [found.cycles for found in results if found.cycles is not None]
    launches = sum(int(str(found.report["launches"])) for found in results if found.cycles is not None)
    last = results[-1]
    report = {"engine": last.report["engine"], "arch": how.arch.name, "result": last.report["result"], "statements": reports,
              **({"cycles": sum(cycles), "launches": launches} if cycles else {}),
              "elapsed_s": round(time.perf_counter() - began, 2)}
    return Result(report, value=last.value, cycles=sum(cycles) if cycles else None)


def _fused(statements: Sequence[Einsum], program: Program) -> Fused:
    return fuse(statements, program.formats) if len(statements) > 1 else alone(statements[-1])


def _work(fused: Fused, tiling: Tiling, wanted: Plan) -> Work:
    """Sub-tiles as work; UserError where copies would have nothing to share."""
    if wanted.index and _tiles(tiling, wanted.index) < 2:
        raise UserError(f"index {wanted.index} is one tile of {tiling.edges[wanted.index]}, so that copies would share "
                        "nothing", f"parallelize({wanted.index},{wanted.copies})", _to_share(fused, tiling, wanted.index))
    return Work(tiling, lanes_of(fused))


def _to_share(fused: Fused, tiling: Tiling, index: str) -> str:
    """What gives copies something to share where an index is one tile."""
    kept = kept_whole(fused)
    cut = [each for each in tiling.einsum.order
           if tiling.extents[each] > 1 and each not in kept | unsplit(normalize(tiling.einsum))]
    if index in cut:
        return f"split({index},{-(-tiling.extents[index] // 2)}) or smaller"
    ways = [f"parallelize and split {' or '.join(cut)}"] if cut else []
    if index in kept:
        ways.append(f"do not fuse {' and '.join(dict.fromkeys(slot.partition('.')[0] for slot in fused.whole))}")
    return ", or ".join([*ways, "leave out parallelize"])


def _on_lanes(fused: Fused, data: Mapping[str, Coo], arch: Arch, wanted: Plan) -> tuple[Fused, Plan]:
    """Fused statements whose rows are dealt to lanes in place of copies of the program, where that can be, and what is left of
    the plan. An index that is said is one of those sums, of which all are dealt."""
    slots = dealt(fused) if wanted.copies != 1 else ()
    summed = {access.stored[-1] for access in fused.einsum.operands if access.slot in slots}
    if not summed or (wanted.index and wanted.index not in summed):
        return fused, wanted
    single = replace(wanted, copies=1, index="")
    if wanted.copies is not None:
        return with_parts(replace(fused, lanes=wanted.copies), data, arch.mem.level_words), single
    for lanes in range(MOST_LANES, 1, -1):
        several = with_parts(replace(fused, lanes=lanes), data, arch.mem.level_words)
        graph = map_graph(lower_fused(sharing(several, cut(several, data, arch, single))))
        if all(each.needed <= each.has for each in graph_demands(graph, arch)):
            return several, single
    return fused, single


class CutOperands(NamedTuple):
    """Operands in sub-tiles, and what compiles the program for them.

    compiles : function    Is given whom to tell the stages and, of several statements, the result by NumPy.
    why : str              Why it has so many copies, if the plan does not say.
    sums : dict            The sums that are statements of their own (`Nest.sums`).
    """

    compiles: Callable[[Tell, Coo | None], TensorJob]
    why: str
    sums: Mapping[str, str]


def job_of(fused: Fused, data: Mapping[str, Coo], arch: Arch, wanted: Plan = _AS_IT_COMES, seed: int = 0,
           progress: Tell = silent, tiling: Tiling | None = None) -> CutOperands:
    """Cut operands by name into sub-tiles, the edges chosen and indices left out as the plan wants, whatever runs them.

    tiling: they are cut already.
    """
    fused, wanted = _on_lanes(fused, data, arch, wanted)
    work = _work(fused, tiling or cut(fused, data, arch, wanted, progress), wanted)
    progress(f"cut the operands into {work.told}")
    inner = work.tiling.einsum
    # A statement whose functions are left to the host is another one.
    nests = sharing(fused, work.tiling) if fused.nest.kept else alone(inner)
    copies, why = _copies(nests, work, arch, wanted)
    # A group shares out its sub-tiles best if it is large, unless its links are too few.
    linked = groups_needed(work, copies) if wanted.dynamic else None

    def compiles(tell: Tell, answer: Coo | None) -> TensorJob:
        compiled = compile_fused(nests, arch, seed, tell, copies, wanted.dynamic, linked, "balancing" not in wanted.without,
                                 work.most_words() if arch.glb.ring > 1 else None)
        return TensorJob(compiled, data, work, fused.einsum, wanted.dispatch, answer)

    return CutOperands(compiles, why, nests.nest.sums)


def _run_part(part: _Part, data: Mapping[str, Coo], how: Options, wanted: Plan, progress: Tell) -> tuple[Result, Coo]:
    """Run statements as one program, whose result is that of the last one; it, and as a tensor."""
    began, fused, several = time.perf_counter(), part.fused, len(part.statements) > 1
    progress("cutting the operands into sub-tiles")
    loops = None if wanted.ordered or several else choose(fused.einsum, part.formats, data, how.arch, wanted, progress)
    if loops:
        fused = alone(loops.statement)
    ready = job_of(fused, data, how.arch, wanted, how.seed, progress, loops.tiling if loops else None)
    answer = golden.evaluate_all(part.statements, data)[part.name] if several else None
    made: list[TensorJob] = []

    def job(tell: Tell) -> TensorJob:
        made.append(ready.compiles(tell, answer))
        return made[0]

    how = replace(how, single="pipelining" in wanted.without, early="early" not in wanted.without)
    found = execute(how, job, began, progress)
    more = {"fused": dict(fused.ways), "as_one": fused.einsum.text} if several else loops.report() if loops else {}
    more |= {"sums_apart": dict(ready.sums)} if ready.sums else {}
    more |= {"most": ready.why} if ready.why else {}
    return replace(found, report=_with(found.report, more)), made[0].whole()


def _told(progress: Tell, name: str, stage: str) -> None:
    progress(f"{name}: {stage}")


def _golden(parts: Sequence[_Part], program: Program, data: Mapping[str, Coo], arch: Arch, wanted: Plan) -> Result:
    final, known = program.result, {**data, **golden.evaluate_all(program.statements, data)}
    for part in parts:
        # Sub-tiles give NumPy nothing, but what is said of them may be wrong.
        if (own := _own(wanted, part)).edges is not None or own.index:
            fused, own = _on_lanes(part.fused, part.operands(known), arch, own)
            _work(fused, cut(fused, part.operands(known), arch, own), own)
    value = value_of(final, known[final.result.tensor])
    return Result({"engine": engines.GOLDEN, "result": shown(final, {name: known[name] for name in final.tensors}, value)},
                  value=value)


def _copies(nests: Fused, work: Work, arch: Arch, wanted: Plan) -> tuple[int, str]:
    """How many copies of a program there are, and why so many, if nobody says."""
    if wanted.copies is not None:
        return wanted.copies, ""
    most = most_copies(nests, arch, wanted.dynamic)
    if nests.nest.kept or "pipelining" in wanted.without:
        return most, f"{most} fit"
    cycles, copies = on_copies(work.tiling, arch, wanted)
    all_, _ = on_copies(work.tiling, arch, replace(wanted, copies=most))
    return copies, f"{most} fit" + f", for which {all_:,.0f} cycles are expected, {cycles:,.0f} for {copies}" * (copies < most)


def _with(report: Mapping[str, object], more: Mapping[str, object]) -> dict[str, object]:
    """A report that says how its program came about, behind what the result is."""
    found: dict[str, object] = {}
    for name, value in report.items():
        found[name] = value
        if name == "result":
            found |= more
    return found


def _check_used(wanted: Plan, parts: Sequence[_Part], program: Program) -> None:
    """UserError for an edge or copies of an index that no part of a program has."""
    known = list(dict.fromkeys(index for part in parts for index in part.fused.einsum.order))
    for index in [*(wanted.edges if isinstance(wanted.edges, Mapping) else ()), *([wanted.index] if wanted.index else [])]:
        if index not in known:
            raise UserError(f"there is no index {shown_text(str(index))}",
                            parts[0].fused.einsum.text if len(parts) == 1 else program.text,
                            f"name one of {', '.join(known)}" if known else "leave it out, since there are no loops")


def _own(wanted: Plan, part: _Part) -> Plan:
    """What of a plan is for a part of a program: the edges and copies of indices that it has."""
    names = part.fused.einsum.order
    edges = {index: edge for index, edge in wanted.edges.items() if index in names} if isinstance(wanted.edges, Mapping) \
        else wanted.edges
    if wanted.index and wanted.index not in names:
        return replace(wanted, edges=edges or None, copies=1, index="")
    return replace(wanted, edges=edges or None)


def _tiles(tiling: Tiling, index: str) -> int:
    """Tiles that an index is cut into."""
    return -(-tiling.extents[index] // tiling.edges[index])
