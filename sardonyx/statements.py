"""Run programs of one or several statements: those that are fused as one, the others in turn.

What a statement gives is the operand of those that use it: the host takes it out of the global buffer, and cuts it again. Only
what is fused (`compiler/sparse/fuse.py`) stays inside the array.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from .compiler.einsum import compile_fused, copies_and_groups, most_copies
from .compiler.ir.transfer import WORD_BYTES
from .compiler.lang.einsum import Einsum
from .compiler.lang.program import Program
from .compiler.lang.schedule import Schedule
from .compiler.sparse.fuse import Fused, alone, fuse
from .compiler.sparse.fused_tiling import sharing, tile_fused
from .compiler.sparse.tiles import Tiling
from .compiler.sparse.tiling import alone as one_copy
from .dump import Dump
from .execute import Options, Result, execute
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .options import MOST
from .outcome import silent
from .runtime.data.dispatch import DYNAMIC, ORDER, groups_needed
from .runtime.data.sub_tiles import Work
from .sim import engines
from .sim.golden import einsum as golden
from .tensor_job import TensorJob, shown, value_of
from .tensors.coordinates import Coo

Edges = int | Mapping[str, int] | None
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How a program is cut and copied.

    Parameters
    ----------
    edges : int | mapping    Of sub-tiles, for all indices or by index; None: chosen.
    copies : int             Of the program; None: as many as fit.
    dispatch : str           How sub-tiles are dealt to them.
    without : frozenset      Of `FEATURES`: what is left out.
    index : str              The index whose sub-tiles they share, if it is said.
    """

    edges: Edges = None
    copies: int | None = 1
    dispatch: str = ORDER
    without: frozenset[str] = frozenset()
    index: str = ""

    @property
    def dynamic(self) -> bool:
        """Whether the array deals sub-tiles."""
        return self.dispatch == DYNAMIC


def plan(schedule: Schedule, edges: Edges, copies: int | None, dispatch: str, without: frozenset[str] = frozenset()) -> Plan:
    """A plan from a schedule and from what else is said; UserError for what is said in both."""
    if schedule.edges and edges is not None:
        raise UserError("sub-tiles have an edge and are split", f"tile {edges}, {schedule}", "give one of them")
    if schedule.copies and copies != 1:
        raise UserError("the program has copies and is parallelized",
                        f"unroll {MOST if copies is None else copies}, {schedule}", "give one of them")
    index, count = schedule.copies or ("", copies)
    return Plan(schedule.edges or edges, count, dispatch, without, index)


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
    """Run a program on its operands by name."""
    program.shapes({name: tensor.shape for name, tensor in data.items()})
    parts = groups(program, fused)
    _check_used(wanted, parts, program)
    if how.engine == engines.GOLDEN:
        return _golden(program.statements, data)
    if len(parts) == 1:
        return _run_group(parts[0], program, data, how, wanted, progress)[0]
    began, known, reports = time.perf_counter(), dict(data), dict[str, Mapping[str, object]]()
    results = []
    for part in parts:
        name = part[-1].result.tensor
        folder = Dump(how.dump.folder / name) if how.dump else None
        given = {tensor: known[tensor] for each in part for tensor in each.tensors if tensor in known}
        found, known[name] = _run_group(part, program, given, replace(how, dump=folder), _own(wanted, part),
                                        partial(_told, progress, name))
        results.append(found)
        reports[name] = found.report
    cycles = [found.cycles for found in results if found.cycles is not None]
    launches = sum(int(str(found.report["launches"])) for found in results if found.cycles is not None)
    last = results[-1]
    report = {"engine": last.report["engine"], "arch": how.arch.name, "result": last.report["result"], "statements": reports,
              **({"cycles": sum(cycles), "launches": launches} if cycles else {}),
              "elapsed_s": round(time.perf_counter() - began, 2)}
    return Result(report, value=last.value, cycles=sum(cycles) if cycles else None)


def _run_group(statements: Sequence[Einsum], program: Program, data: Mapping[str, Coo], how: Options, wanted: Plan,
               progress: Tell) -> tuple[Result, Coo]:
    """Run statements as one program, whose result is that of the last one; it, and as a tensor."""
    began, final = time.perf_counter(), statements[-1]
    several = len(statements) > 1
    fused = fuse(statements, program.formats) if several else alone(final)
    _check_indices(wanted, fused.einsum)
    progress("cutting the operands into sub-tiles")
    work = Work(cut(fused, data, how.arch, wanted, progress))
    progress(f"cut the operands into {work.told}")
    inner = work.tiling.einsum
    if wanted.index and _parts(work.tiling, wanted.index) < 2:
        raise UserError(f"index {wanted.index} is one tile of {work.tiling.edges[wanted.index]}, so that copies would share "
                        "nothing", f"parallelize({wanted.index},{wanted.copies})", f"split({wanted.index},N) with a smaller N")
    # A statement whose functions are left to the host is another one.
    nests = sharing(fused, work.tiling) if fused.nest.kept else alone(inner)
    copies = most_copies(nests, how.arch, wanted.dynamic) if wanted.copies is None else wanted.copies
    # A group shares out its sub-tiles best if it is large, unless its links are too few.
    linked = groups_needed(work, copies) if wanted.dynamic else None
    answer = golden.evaluate_all(statements, data)[final.result.tensor] if several else None

    made: list[TensorJob] = []

    def job(tell: Tell) -> TensorJob:
        compiled = compile_fused(nests, how.arch, how.seed, tell, copies, wanted.dynamic, linked,
                                 "balancing" not in wanted.without)
        made.append(TensorJob(compiled, data, work, fused.einsum, wanted.dispatch, answer))
        return made[0]

    found = execute(replace(how, single="pipelining" in wanted.without), job, began, progress)
    return replace(found, report=_with_ways(found.report, fused)) if several else found, made[0].whole()


def cut(fused: Fused, data: Mapping[str, Coo], arch: Arch, wanted: Plan, progress: Tell = silent) -> Tiling:
    """The sub-tiles of operands for a machine."""
    @cache
    def share(inner: Einsum) -> tuple[int, int]:
        return copies_and_groups(alone(inner), arch, wanted.copies, wanted.dynamic)

    return tile_fused(fused, data, arch.mem.level_words, wanted.edges, arch.glb.bank_bytes // WORD_BYTES,
                      lambda tried: progress(f"cutting the operands into sub-tiles, {tried} edges compared"),
                      "narrowing" not in wanted.without,
                      one_copy if wanted.copies == 1 or "sharing" in wanted.without else share, "pipelining" in wanted.without)


def _told(progress: Tell, name: str, stage: str) -> None:
    progress(f"{name}: {stage}")


def _golden(statements: Sequence[Einsum], data: Mapping[str, Coo]) -> Result:
    final, known = statements[-1], {**data, **golden.evaluate_all(statements, data)}
    value = value_of(final, known[final.result.tensor])
    return Result({"engine": engines.GOLDEN, "result": shown(final, {name: known[name] for name in final.tensors}, value)},
                  value=value)


def _with_ways(report: Mapping[str, object], fused: Fused) -> dict[str, object]:
    """A report that says how intermediates get to their uses, behind what the result is."""
    found: dict[str, object] = {}
    for name, value in report.items():
        found[name] = value
        if name == "result":
            found |= {"fused": dict(fused.ways), "as_one": fused.einsum.text}
    return found


def _check_used(wanted: Plan, parts: Sequence[Sequence[Einsum]], program: Program) -> None:
    """UserError for an edge or copies of an index that no statement has, where they run in turn."""
    if len(parts) == 1:
        return      # the indices of a fused program have names of their own
    named = [*(wanted.edges if isinstance(wanted.edges, Mapping) else ()), *([wanted.index] if wanted.index else [])]
    for index in named:
        if index not in program.order:
            raise UserError(f"there is no index {index}", program.text, f"name one of {', '.join(program.order)}")


def _own(wanted: Plan, part: Sequence[Einsum]) -> Plan:
    """What of a plan is for a part of a program: the edges and copies of indices that its result's statement has."""
    names = part[-1].order
    edges = {index: edge for index, edge in wanted.edges.items() if index in names} if isinstance(wanted.edges, Mapping) \
        else wanted.edges
    if wanted.index and wanted.index not in names:
        return replace(wanted, edges=edges or None, copies=1, index="")
    return replace(wanted, edges=edges or None)


def _check_indices(wanted: Plan, einsum: Einsum) -> None:
    if wanted.index and wanted.index not in einsum.order:
        raise UserError(f"there is no index {wanted.index}", f"parallelize({wanted.index},{wanted.copies})",
                        f"name one of {', '.join(einsum.order)}")


def _parts(tiling: Tiling, index: str) -> int:
    """Tiles that an index is cut into."""
    return -(-tiling.extents[index] // tiling.edges[index])
