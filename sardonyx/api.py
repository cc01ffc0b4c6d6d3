"""Programs in, checked results out: what Python users and the command line call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from . import arguments
from .avoid import avoiding
from .compiler.einsum import FILES, CompiledEinsum, compile_fused
from .compiler.lang.einsum import EVERY, OUTERMOST
from .compiler.lang.kernel import kernel_names, load_kernel, program_names
from .compiler.lang.program import Program, parse_program, split
from .compiler.lang.schedule import Schedule, scheduled
from .compiler.sparse.fuse import alone, fuse
from .compiler.sparse.fused_tiling import sharing
from .compiler.sparse.lower import lower
from .compiler.sparse.settled import uncut
from .cutting import Plan, cut, plan
from .execute import Options, Result, options
from .graphs import write_graph
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .hw.arch.primitive import SCATTER
from .loops import choose
from .machines import named, on_smallest
from .options import DISPATCH, FEATURES, LOCATE, MOST, VALUES
from .outcome import Outcome, plain, silent
from .runtime.data.dispatch import ORDER
from .runtime.data.sub_tiles import Work
from .runtime.device import Device
from .sim import engines
from .sim.rtl import simulator
from .sim.rtl.machine import Machine
from .spread_runs import spread
from .statements import groups, run_program
from .tensors import values as tensors
from .tensors.coordinates import Coo
from .tensors.files import read_tensor

MATRIX_PRODUCT = "X(i,j) = B(i,k) * C(k,j)"


def einsum(expression: str, /, *misplaced: object, order: str | None = None, formats: Mapping[str, str] | None = None,
           arch: str | Arch | None = None, engine: str | Device = "rtl", tile: int | Mapping[str, int] | None = None,
           values: str = "exact", dump: str | Path | None = None, seed: int = 0, progress: Callable[[str], None] = silent,
           power: str | None = None, avoid: object = None, unroll: int | str = 1, dispatch: str = "order",
           locate: str = "auto", without: str | Sequence[str] | None = None, schedule: str | Schedule | None = None,
           counters: bool = False, jobs: int | None = None, cluster: str | None = None, state: str | Path | None = None,
           **operands: object) -> Result:
    """Run an expression, or several statements, on operands and check every word against NumPy.

    Parameters
    ----------
    expression : str        Such as ``X(i,j) = B(i,k) * C(k,j)``; statements with ``;`` between them, of which the last gives
                            the result.
    order : str             Loop order, such as ``ijk``; default: that of the fewest expected cycles on the operands, for fused
                            statements the indices of the result as written, then the others. Of several statements with
                            ``;`` between the orders.
    formats : mapping       Storage by tensor, such as ``{"C": "ss10"}``; default: compressed, in loop order.
    arch : str | Arch       A preset, a .json file, or a description; default: the device, or the smallest of `small`, `sparse`
                            and `onyx` that has what the program needs.
    engine : str | Device   golden, tokens, fabric, rtl or rtl-full, or a machine that is there (`sardonyx.board.open_board`).
    tile : int | mapping    Extent of sub-tiles, for all indices or by index; default: that of the fewest estimated cycles.
    values : str            For files: exact, round or small.
    dump : Path             Folder for every stage of the compiler.
    power : str             Estimate the energy of the run in a cell library, sky130hd or asap7; engines rtl and rtl-full.
    avoid : str | sequence  Tiles that the program leaves alone, such as defective ones of a chip: ``"3,5 column:4 glb:1"``
                            or pairs (x, y), as `sardonyx/avoid.py` says; beside those that `arch` avoids.
    unroll : int | str      Copies of the program beside each other, which share the sub-tiles; ``most``: as many as gain. Of a
                            program that keeps dense vectors lanes of its sums (`docs/schedules.md`).
    dispatch : str          How they do: order, sorted, expected or dynamic.
    locate : str            Which dense levels are located where another operand says the coordinates, in place of a scan and an
                            intersection: none, outermost, all; auto: all if the machine can, else outermost ones.
    without : str           Features to leave out, such as ``"pipelining,balancing"``, to see what they gain; also narrowing
                            and sharing.
    schedule : str          Loops, sub-tiles, copies and what stays inside the array, such as ``split(i,32) fuse(T)``, or a
                            `Schedule`; docs/schedules.md says what each means.
    counters : bool         Read the performance counters of the program's tiles, on a machine that has some
                            (`Arch.counter_bits`); engines rtl and rtl-full, and devices.
    jobs : int              Processes that run parts of it beside each other, with the same words and cycles.
    cluster : str           Workers of dask.distributed in their place: ``local``, so many of a cluster here, or the address of
                            a scheduler, such as ``tcp://host:8786``.
    state : Path            File in which parts are kept when they are done: a run that was stopped goes on.
    operands                scipy.sparse or NumPy arrays of any order, numbers, or paths of files, by name of the tensor.

    Raises UserError for whatever does not fit; nothing is run then.
    """
    said = arguments.schedule(schedule)
    program = arguments.statements(expression, order, formats, operands, misplaced, said)
    progress = arguments.function("progress", progress)
    how = replace(_how(engine, values, arch, dump, seed, power, avoid, counters),
                  spread=spread(engine, jobs, cluster, state, power, counters))
    wanted = _plan(said, tile, unroll, dispatch, without, order)
    data = {name: operand(value, name, values, how.seed) for name, value in operands.items()}
    return on_smallest(arch, how, progress, lambda each: run_program(
        located(program, locate, each.arch), said.fused, data, each, wanted, progress))


def kernel(name: str, /, *, size: int = 17, density: float = 0.2, order: str | None = None,
           formats: Mapping[str, str] | None = None, arch: str | Arch | None = None, engine: str | Device = "rtl",
           tile: int | None = None, values: str = "exact", dump: str | Path | None = None, seed: int = 0,
           progress: Callable[[str], None] = silent, power: str | None = None, avoid: object = None, unroll: int | str = 1,
           dispatch: str = "order", locate: str = "auto", without: str | Sequence[str] | None = None,
           schedule: str | Schedule | None = None, counters: bool = False, jobs: int | None = None, cluster: str | None = None,
           state: str | Path | None = None, **operands: object) -> Result:
    """Run a kernel of `apps/` by name; operands that are not given are random, with `size` for every index whose extent
    no operand says. A schedule, also an empty one, is in the place of what the kernel says is fused."""
    how = replace(_how(engine, values, arch, dump, seed, power, avoid, counters),
                  spread=spread(engine, jobs, cluster, state, power, counters))
    said = arguments.schedule(schedule)
    found = load_kernel(arguments.text("name", name))
    wanted = _plan(said, tile, unroll, dispatch, without, order or found.order)
    size, density = arguments.whole("size", size, 1), arguments.share("density", density)
    said = said if schedule is not None or not found.fuse else said.fuse(*found.fuse)
    program = scheduled(found.expression, said, arguments.order(order) or ("" if said.orders else found.order),
                        {**found.formats, **arguments.formats(formats)}, f"kernel {name}")
    progress = arguments.function("progress", progress)
    data = {tensor: operand(value, tensor, values, how.seed) for tensor, value in operands.items()}
    extents = program.extents(size, {tensor: each.shape for tensor, each in data.items()})
    for number, (tensor, shape) in enumerate(extents.items()):
        if tensor not in data:
            data[tensor] = tensors.random_tensor(shape, density if shape else 1.0, how.seed + number)
    return on_smallest(arch, how, progress, lambda each: run_program(
        located(program, locate, each.arch), said.fused, data, each, wanted, progress))


def simulated(arch: str | Arch = "small") -> Machine:
    """A machine in generated Verilog of all its tiles, as a device: for a ``with`` statement, at whose end the simulation ends.

    arch: a preset, a .json file, or a description; the first time it is built, which takes a minute or two.
    """
    return simulator.whole_machine(arguments.machine(arch)).start()


def kernels() -> Outcome:
    """The kernels of `apps/` and what each computes."""
    found = [load_kernel(name) for name in (*kernel_names(), *program_names())]
    width = max(len(each.name) for each in found)
    text = "\n".join(f"{each.name:{width}}  {'; '.join(split(each.expression)):45}  {each.doc}{_also(each.also)}"
                     for each in found)
    return Outcome({each.name: {"expression": each.expression, "doc": each.doc, "also": each.also} for each in found}, text)


def _also(names: Sequence[str]) -> str:
    return f" Also {', '.join(names)}." if names else ""


def demo(matrix: Path | None = None, *, out: Path = Path("out/demo"),
         progress: Callable[[str], None] = silent) -> Outcome:
    """Multiply a real sparse matrix with itself in generated Verilog and check every word.

    matrix: a Matrix Market file; default: the co-appearances in Les Miserables, 77 x 77, from networkx. A matrix that is
    not square is multiplied with its transpose. Values that are no 16-bit integers are replaced by small ones on the same
    pattern, and the table says so.
    """
    operand, what = demo_matrix(matrix)
    first = operand
    second = operand if operand.shape[0] == operand.shape[1] else _transposed(operand)
    how = options(engines.RTL, "small", out, 0, FILES)
    result = run_program(parse_program(MATRIX_PRODUCT), (), {"B": first, "C": second}, how, Plan(), progress)
    product = (_scipy(first) @ _scipy(second)).astype(np.int64)
    difference = scipy.sparse.coo_array(product - result.value.astype(np.int64)).data % (1 << 16)
    assert not difference.any(), "the result of the hardware is not SciPy's"
    report = {"matrix": what, "expression": MATRIX_PRODUCT, **result.report, "scipy": "equal",
              "picture": str(out / "array.svg")}
    return Outcome(report)


def demo_matrix(path: Path | None) -> tuple[Coo, str]:
    """The matrix of the demo, and what it is in words; values that are no 16-bit integers become small ones."""
    if path is None:
        import networkx
        graph = networkx.les_miserables_graph()
        data = networkx.to_scipy_sparse_array(graph, nodelist=sorted(graph), dtype=np.int64)
        return tensors.to_coo(data, "les_miserables"), f"les_miserables, {data.shape[0]} x {data.shape[1]}, {data.nnz} nonzeros"
    try:
        operand, note = read_tensor(path, "exact"), ""
    except UserError as refusal:
        if "integer" not in refusal.what and "is not in" not in refusal.what:
            raise
        operand, note = read_tensor(path, "small"), ", its values replaced by small integers"
    if operand.rank != 2:
        raise UserError(f"the demo multiplies matrices, this has {operand.rank} dimensions", str(path))
    return operand, f"{Path(path).name}, {operand.shape[0]} x {operand.shape[1]}, {operand.nnz} nonzeros{note}"


def _transposed(matrix: Coo) -> Coo:
    return Coo.make(matrix.shape[::-1], matrix.coords[:, ::-1], matrix.values)


def _scipy(matrix: Coo) -> Any:
    return scipy.sparse.csr_array((matrix.values.astype(np.int64), tuple(matrix.coords.T)), shape=matrix.shape)


def _how(engine: str | Device, values: str, arch: str | Arch | None, dump: str | Path | None, seed: int, power: str | None,
         avoid: object, counters: object) -> Options:
    arguments.choice("way to take values", values, VALUES)
    return options(engine, named(arch, engine), dump, seed, FILES, power, avoid, counters)


def _edges(tile: int | Mapping[str, int] | None) -> int | Mapping[str, int] | None:
    if isinstance(tile, Mapping):
        return {index: arguments.whole(f"tile['{index}']", edge, 1) for index, edge in tile.items()}
    return None if tile is None else arguments.whole("tile", tile, 1)


def _plan(said: Schedule, tile: int | Mapping[str, int] | None, unroll: object, dispatch: object, without: object,
          order: object) -> Plan:
    copies = None if isinstance(unroll, str) and unroll == MOST else arguments.whole("unroll", unroll, 1)
    return plan(said, _edges(tile), copies, arguments.choice("way to deal sub-tiles to copies", dispatch, DISPATCH),
                arguments.names("feature", without, FEATURES), bool(arguments.order(order)))


def located(program: Program, locate: object, arch: Arch) -> Program:
    """A program with the dense levels that are located, and its result scattered if the machine can do so."""
    which = arguments.choice("way to locate", locate, LOCATE)
    which = which if which != "auto" else EVERY if arch.mem.locate else OUTERMOST
    scatter = SCATTER in arch.mem.primitives
    statements = tuple(replace(each, locate=which, scatter=scatter) for each in program.statements)
    return replace(program, statements=statements)


def operand(value: object, name: str, values: str, seed: int) -> Coo:
    """An operand from what a user gives: a path, or an array."""
    if isinstance(value, str | Path):
        return read_tensor(value, values, seed)
    return tensors.to_coo(value, name)


def save(result: Result, path: Path) -> None:
    """Write the value of a result: a matrix as Matrix Market, anything else as a NumPy file (.npy)."""
    path = Path(path)
    matrix = scipy.sparse.issparse(result.value)
    check_ending(path, matrix)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A file that is open is written to the end or raises; a name alone is not.
        with path.open("wb") as file:
            if matrix:
                scipy.io.mmwrite(file, result.value.astype(np.int64), comment="written by sardonyx")
            else:
                np.save(file, np.asarray(result.value))
    except OSError as error:
        raise UserError(f"cannot write the result: {error.strerror or error}", str(path),
                        "name a file that can be written") from None


def check_ending(path: Path, matrix: bool) -> None:
    """UserError for a file name that does not end as that of a result does, a matrix or anything else."""
    if path.suffix != (".mtx" if matrix else ".npy"):
        raise UserError("only a matrix is written as Matrix Market" if not matrix else "a matrix is written as Matrix Market",
                        str(path), f"give a file name that ends in {'.mtx' if matrix else '.npy'}")


def explain_program(expression: str, /, *, order: str | None = None, formats: Mapping[str, str] | None = None,
                    arch: str | Arch = "small", tile: int | None = None, seed: int = 0, graph: Path | None = None,
                    avoid: object = None, locate: str = "auto", schedule: str | Schedule | None = None,
                    **operands: object) -> Outcome:
    """What an expression becomes: loops, graph, and what it needs of the array; for operands also how they are cut. Several
    statements are shown as they are fused, all of them in one program.

    graph: a file to write the graph to as Graphviz, one that is not there or that was written so before.
    """
    machine = avoiding(arguments.machine(arch), avoid)
    said = arguments.schedule(schedule)
    program = scheduled(arguments.text("expression", expression), said, arguments.order(order), arguments.formats(formats))
    program = located(program, locate, machine)
    if len(parts := groups(program, said.fused)) > 1:
        raise UserError(f"it runs as {len(parts)} programs, one after the other", program.text,
                        f"explain one of them, or fuse them: --schedule 'fuse({','.join(program.intermediates)})'")
    wanted = plan(said, tile, 1, ORDER, ordered=bool(arguments.order(order)))
    if wanted.edges is not None and not operands:
        name, where = ("split", str(Schedule(edges=said.edges))) if said.edges else ("tile", "tile")
        raise UserError(f"a {name} cuts operands, and there are none", where, f"give the operands, or no {name}")
    if wanted.copies != 1:
        raise UserError("what is explained is one copy", str(said), "leave out parallelize")
    fused = fuse(program.statements, program.formats) if len(program.statements) > 1 else alone(program.result)
    # How they are cut depends on the pattern of their nonzeros only.
    data = {name: operand(value, name, "small", seed) for name, value in operands.items()}
    cuts: dict[str, object] = {"fused": fused.ways, "as_one": fused.einsum.text} if fused.ways else {}
    if data:
        program.shapes({name: tensor.shape for name, tensor in data.items()})
        if wanted.ordered or fused.ways:
            work = Work(cut(fused, data, machine, wanted))
        else:
            loops = choose(program.result, program.formats, data, machine, wanted)
            fused, work, cuts = alone(loops.statement), Work(loops.tiling), loops.report()
        fused = sharing(fused, work.tiling) if fused.nest.kept else alone(work.tiling.einsum)
        cuts["work"] = work.told
        if work.tiling.after:
            cuts["by_the_host"] = f"{work.tiling.after}, where sub-tiles are added"
    elif not fused.nest.kept:
        asked, fused = fused.einsum.order, alone(uncut(fused.einsum))
        if fused.einsum.order != asked:
            cuts["asked_order"] = f"{' '.join(asked)}: some loops turn once in a sub-tile, and the order is that of the others"
    if fused.nest.sums:
        cuts["sums_apart"] = fused.nest.sums
    drawn = fused.einsum if not data else work.tiling.whole
    if graph is not None and (twice := [access for access in drawn.operands if access.repeated]):
        raise UserError(f"{twice[0]} is a diagonal, for which graphs of the public tools have no operand", str(graph),
                        "write the statement with the diagonal as an operand of its own")
    if graph is not None and fused.nest.kept:
        raise UserError(f"{' and '.join(fused.whole)} stays in MEM tiles, for which the public tools have no node", str(graph),
                        "write the graph of each statement")
    if graph is not None and len(drawn.every) > 1:
        raise UserError(f"the sum {drawn.every[0].expr} stays in MEM tiles, for which the public tools have no node",
                        str(graph), f"use loop order {' '.join(parse_program(drawn.text).result.order)}")
    written = {} if graph is None else {"graph": str(write_graph(lower(drawn), Path(graph)))}
    compiled = compile_fused(fused, machine, seed)
    report = {"expression": program.text, "order": " ".join(fused.einsum.order), **cuts, **_needs(compiled),
              "period_ns": compiled.timing.period_ns, "longest_path": compiled.timing.where, **written}
    lines = [f"{name.replace('_', ' ')}: {plain(value)}" for name, value in report.items()]
    text = "\n".join([compiled.sam.to_text(), *lines])
    return Outcome(report, text)


def _needs(compiled: CompiledEinsum) -> dict[str, object]:
    graph = compiled.graph
    waits = {"may_wait": "; ".join(compiled.waits)} if compiled.waits else {}
    return {**waits, "tiles": compiled.tiles, "slack_tiles": compiled.slack, "nets": len(graph.nets),
            "longest_route_hops": max((hop for hops in compiled.routing.hops.values() for hop in hops), default=0)}
