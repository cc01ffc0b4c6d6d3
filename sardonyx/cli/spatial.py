"""`sardonyx spatial list | verilog | run | explain | search | soc`: spatial arrays from their functionality and dataflow."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
from pathlib import Path
from typing import Any

from ..hw.arch.errors import UserError, shown
from ..options import VALUES
from .console import Console
from .parser import Parser, add_common, fraction, path, tensor_format, whole
from .program_options import listed

# Of an accelerator: its core's memory, and the ports of its DMA.
RAM_BYTES = 1 << 14
# Of an operand that is no matrix, with its zeros.
MOST_DENSE = 1 << 24


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "spatial", prog="sardonyx spatial", help="spatial arrays: Verilog, runs, explanations",
        about="Work with a spatial array: one that we ship, by its name, or a file of Python with a value\n"
              "`design` (see docs/spatial.md).",
        examples=["sardonyx spatial list", "sardonyx spatial explain matmul_input_stationary",
                  "sardonyx spatial run matmul_hexagonal --operations 6",
                  "sardonyx spatial verilog matmul_weight_stationary --bound i=8 --bound j=8 --bound k=8 --out build/ws"])
    topics = parser.add_subparsers(dest="topic", metavar="TOPIC", required=True)
    every: Parser = topics.add_parser(
        "list", prog="sardonyx spatial list", help="the designs that we ship", about="List the designs that we ship.",
        examples=["sardonyx spatial list", "sardonyx spatial list --json"])
    verilog: Parser = topics.add_parser(
        "verilog", prog="sardonyx spatial verilog", help="write the Verilog of an array",
        about="Write an array as Verilog: one file per unique module, a file list, its picture, and its\n"
              "description, whose ports say the order of the words of every stream.",
        examples=["sardonyx spatial verilog matmul_input_stationary --out build/is"])
    run: Parser = topics.add_parser(
        "run", operands=True, prog="sardonyx spatial run", help="run operations on an array and check them",
        about="Run an array and check every element against NumPy. Operands are random, or given as\n"
              "--NAME FILE: a matrix as .mtx, a tensor as .tns (FROSTT) or .npy, the texts also as .gz; with an\n"
              "axis in front for several operations.",
        examples=["sardonyx spatial run matmul_input_stationary",
                  "sardonyx spatial run fir_filter --X signal.npy --engine tokens",
                  "sardonyx spatial run outerspace --A a.mtx --B b.mtx --values round",
                  "sardonyx spatial run mine.py --operations 20 --stalls 7"])
    explain: Parser = topics.add_parser(
        "explain", prog="sardonyx spatial explain", help="what moves where, and what an array is made of",
        about="Show how every variable moves through an array, and its PEs, wires, ports and steps.",
        examples=["sardonyx spatial explain matmul_hexagonal", "sardonyx spatial explain mine.py --picture mine.svg"])
    search: Parser = topics.add_parser(
        "search", prog="sardonyx spatial search", help="transforms that give small or fast arrays",
        about="Try transforms of a statement, or of the functionality of a design, and list those that no\n"
              "other one beats in estimated area and time.",
        examples=["sardonyx spatial search 'C(i,j) = A(i,k) * B(k,j)' --picture pareto.svg",
                  "sardonyx spatial search fir_filter --bound i=6",
                  "sardonyx spatial search 'C(i,j) = A(i,k) * B(k,j)' --sparse B=ds --bound j=32"])
    search.add_argument("functionality", metavar="EXPR|NAME|FILE", help="a statement, or a design")
    search.add_argument("--bound", metavar="INDEX=N", type=_bound, action="append", default=[],
                        help="the extent of an index (default: 4, or that of the design)")
    search.add_argument("--sparse", metavar="NAME=FORMAT", type=tensor_format, action="append", default=[],
                        help="an operand that is stored without zeros, as B=ds by rows or B=ds10 by columns, which an\n"
                             "array may skip")
    search.add_argument("--density", metavar="F", type=fraction, default=0.1,
                        help="how much of the operands is not 0, for --sparse (default: 0.1)")
    search.add_argument("--picture", metavar="FILE", type=path, help="plot area and time of all transforms as SVG")
    soc: Parser = topics.add_parser(
        "soc", prog="sardonyx spatial soc", help="an array with commands, a DMA and a RISC-V core",
        about="Put commands, a DMA and a RISC-V core around an array whose operands all have buffers: write its\n"
              "Verilog and C header, or multiply random matrices of a shape, memory to memory. Of an array of vectors:\n"
              "do operations on random operands.",
        examples=["sardonyx spatial soc tiled_matmul --product 20x12x16", "sardonyx spatial soc scnn --operations 4",
                  "sardonyx spatial soc tiled_matmul --no-core --ports 16 --out build/accelerator"])
    soc.add_argument("--ports", metavar="N", type=whole(1),
                     help="requests of the DMA at once, 1 to 16 (default: 4, of vectors 5)")
    soc.add_argument("--bus-bytes", metavar="N", type=whole(1),
                     help="bytes of a word of the bus: 8, 16 or 32 (default: 8)")
    soc.add_argument("--watchdog", action="store_true", help="commands may say how long nothing may move until all is given up")
    soc.add_argument("--counters", action="store_true",
                     help="registers say in how many cycles streams or lanes wait, and for what; the report of a\n"
                          "run has them")
    soc.add_argument("--no-core", action="store_true", help="commands over AXI4-Lite in place of the core")
    soc.add_argument("--out", metavar="DIR", type=path, help="write Verilog, header and description, made if missing")
    soc.add_argument("--product", metavar="RxCxT", type=_shape,
                     help="multiply random matrices: rows, columns, terms of a sum; the core's commands are compiled C")
    soc.add_argument("--operations", metavar="N", type=whole(1),
                     help="operations of an array of vectors on random operands; the core's commands are compiled C")
    soc.add_argument("--stored", metavar="N", type=whole(1),
                     help="bytes of an element of the result in memory: the low 1, 2 or 4 of a sum (default: all)")
    soc.add_argument("--seed", metavar="N", type=whole(0), default=0, help="seed of random operands (default: 0)")
    for one in (verilog, run, explain, soc):
        one.add_argument("design", metavar="NAME|FILE", help="see `sardonyx spatial list`, or a file that ends in .py")
        one.add_argument("--bound", metavar="INDEX=N", type=_bound, action="append", default=[],
                         help="another extent of an index; of a merger, its ways, rows, columns, lanes or take; "
                              "of outerspace, its lanes, ports, rows or pairs")
    verilog.add_argument("--out", metavar="DIR", type=path, required=True, help="folder to write, made if missing")
    run.add_argument("--engine", metavar="ENGINE", default="rtl",
                     help="golden: NumPy; tokens: the description, step by step; rtl: generated Verilog (default: rtl)")
    run.add_argument("--operations", metavar="N", type=whole(1), default=1,
                     help="operations back to back on random operands (default: 1)")
    run.add_argument("--stalls", metavar="SEED", type=whole(1), help="random stalls at all ports, engine rtl")
    run.add_argument("--values", choices=tuple(VALUES), default="exact", metavar="HOW",
                     help=f"{listed(VALUES)} (default: exact)")
    run.add_argument("--seed", metavar="N", type=whole(0), default=0, help="seed of random operands (default: 0)")
    explain.add_argument("--picture", metavar="FILE", type=path, help="draw the array as SVG")
    for one, body in ((every, show), (verilog, emit), (run, operate), (explain, tell), (search, seek), (soc, surround)):
        add_common(one)
        one.set_defaults(body=body)


def _bound(text: str) -> tuple[str, int]:
    """``i=8``."""
    found = re.fullmatch("([A-Za-z_][A-Za-z0-9_]*)=([0-9]{1,9})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not an index and an extent: write i=8")
    return found[1], int(found[2])


def _shape(text: str) -> tuple[int, int, int]:
    """``20x12x16``."""
    found = re.fullmatch("([0-9]{1,5})x([0-9]{1,5})x([0-9]{1,5})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is no shape of a product: write 20x12x16")
    rows, columns, terms = map(int, found.groups())
    return rows, columns, terms


def _design(options: argparse.Namespace) -> Any:
    # Here, so that help and doctor work where a package is broken.
    from .. import designs
    from ..mergers import MergerDesign
    from ..outer_products import OuterProductDesign

    found, bounds = designs.any_design(options.design), _bounds(options)
    if isinstance(found, MergerDesign | OuterProductDesign):
        return found.resized(bounds)
    return dataclasses.replace(found, bounds={**found.bounds, **bounds})


def _bounds(options: argparse.Namespace) -> dict[str, int]:
    bounds = dict(options.bound)
    if len(bounds) < len(options.bound):
        raise UserError("an index has two bounds", where="--bound", fix="give --bound once an index")
    return bounds


def show(_: argparse.Namespace, console: Console) -> int:
    """List the designs."""
    from .. import designs
    from ..outcome import Outcome

    found = designs.names()
    width = max(map(len, found))
    console.show(Outcome(dict(found), "\n".join(f"{name:{width}}  {text}" for name, text in found.items())))
    return 0


def emit(options: argparse.Namespace, console: Console) -> int:
    """Write the Verilog."""
    console.show(_design(options).verilog(options.out, console.progress))
    console.end(f"sardonyx spatial run {options.design}, or read {options.out}")
    return 0


def operate(options: argparse.Namespace, console: Console) -> int:
    """Run operations."""
    from ..spatial import MOST_OPERATIONS

    design = _design(options)
    operands = {name: _read(value, options.values, options.seed) if isinstance(value, Path) else value
                for name, value in options.operands.items()}
    if not operands:
        if options.operations > MOST_OPERATIONS:
            raise UserError(f"{options.operations} operations", "--operations", f"give 1 to {MOST_OPERATIONS}")
        operands = design.random(options.operations, options.seed)
    elif options.operations > 1:
        raise UserError("the number of operations is that of the operands", "--operations", "leave it out, or the operands")
    taken = {"engine", "stalls", "progress", "seed"} & operands.keys()
    if taken:
        raise UserError(f"an input cannot be called '{min(taken)}'", f"--{min(taken)}", "rename it in the design")
    console.show(design.run(options.engine, options.stalls, console.progress, options.seed, **operands))
    console.end(f"sardonyx spatial explain {options.design}")
    return 0


def _read(file: Path, values: str, seed: int) -> Any:
    """The operand in a file: a matrix of one of the texts is a sparse array of SciPy, which may be larger than a dense one."""
    import scipy.sparse

    from ..tensors.files import read_tensor
    from ..tensors.numpy_file import read_array

    if file.suffix == ".npy" and values == "exact":
        return read_array(file)
    tensor = read_tensor(file, values, seed)
    sparse = scipy.sparse.coo_array((tensor.values, tuple(tensor.coords.T)), tensor.shape)
    if len(tensor.shape) == 2:
        return sparse
    if math.prod(tensor.shape) > MOST_DENSE:
        raise UserError(f"it has the shape {' x '.join(map(str, tensor.shape))}", str(file),
                        f"give a matrix, or at most {MOST_DENSE:,} elements, zeros and all")
    return sparse.toarray()


def tell(options: argparse.Namespace, console: Console) -> int:
    """Explain a design."""
    design = _design(options)
    if options.picture:
        design.picture(options.picture)
    console.show(design.explain())
    console.end(f"look at {options.picture}" if options.picture else f"sardonyx spatial run {options.design}")
    return 0


def surround(options: argparse.Namespace, console: Console) -> int:
    """Put an accelerator around a design."""
    from .. import designs
    from ..outcome import Outcome
    from ..outer_products import OuterProductDesign

    found = designs.any_design(options.design)
    if options.out is None and options.product is None and options.operations is None:
        raise UserError("there is nothing to do", "sardonyx spatial soc",
                        "give --out DIR, --product RxCxT or, of vectors, --operations N")
    ram_bytes = 0 if options.no_core else RAM_BYTES
    if isinstance(found, OuterProductDesign):
        made = found.resized(_bounds(options)).accelerator(ram_bytes=ram_bytes, counters=options.counters)
        _surround_outer(options, console, made)
        return 0
    design = designs.design(options.design)
    bounds = {**design.bounds, **_bounds(options)}
    design = dataclasses.replace(design, bounds=bounds)
    if design.laned is not None:
        _surround_outer(options, console, design.accelerator(ram_bytes=ram_bytes, counters=options.counters))
        return 0
    bus = {} if options.bus_bytes is None else {"bus_bytes": options.bus_bytes}
    made = design.accelerator(options.ports, ram_bytes=ram_bytes, watchdog=options.watchdog, counters=options.counters, **bus)
    report = dict(made.verilog(options.out, console.progress).report) if options.out else {}
    if options.product:
        rows, columns, terms = options.product
        matrices = made.random(rows, columns, terms, options.seed)
        report |= made.product(*matrices, progress=console.progress, stored=options.stored).report
    if options.operations:
        operands = design.random(options.operations, options.seed)
        report |= made.compute(progress=console.progress, stored=options.stored, **operands).report
    console.show(Outcome(report))
    _surrounded(options, console)
    return 0


def _surround_outer(options: argparse.Namespace, console: Console, made: Any) -> None:
    """Put commands around an outer product, or a phase of one."""
    from ..outcome import Outcome
    from ..outer_products import OuterProductDesign

    ports = "give --bound ports=N" if isinstance(made, OuterProductDesign) else "give sp.Lanes(..., ports=N)"
    for name, given, fix in (("--ports", options.ports is not None, ports),
                             ("--bus-bytes", options.bus_bytes is not None, "leave it out: its lists have heads of 8 bytes"),
                             ("--watchdog", options.watchdog, "leave it out: a wait for what is not asked for is refused"),
                             ("--stored", options.stored is not None, "leave it out: sums have 32 bits"),
                             ("--operations", options.operations is not None, "give --product RxCxT")):
        if given:
            raise UserError("an outer product has no such choice", name, fix)
    report = dict(made.verilog(options.out, console.progress).report) if options.out else {}
    if options.product:
        matrices = made.matrices(*options.product, options.seed)
        report |= made.run(progress=console.progress, **matrices).report
    console.show(Outcome(report))
    _surrounded(options, console)


def _surrounded(options: argparse.Namespace, console: Console) -> None:
    console.end(f"read {options.out}" if options.out else f"sardonyx spatial soc {options.design} --out build/{options.design}")


def seek(options: argparse.Namespace, console: Console) -> int:
    """Search transforms."""
    from .. import designs
    from .. import spatial as sp
    from ..concerns import EXTENT

    text, bounds = options.functionality, _bounds(options)
    if "=" in text:
        functionality = sp.functionality(text)
        extents = {**dict.fromkeys(functionality.indices, EXTENT), **bounds}
    else:
        design = designs.design(text)
        functionality, extents = design.functionality, {**design.bounds, **bounds}
    formats = dict(options.sparse)
    if len(formats) < len(options.sparse):
        raise UserError("an operand has two formats", where="--sparse", fix="give --sparse once an operand")
    console.show(sp.search(functionality, extents, options.picture, console.progress, sp.stored(functionality, formats),
                           options.density))
    console.end(f"look at {options.picture}" if options.picture else "--picture FILE plots all of them")
    return 0
