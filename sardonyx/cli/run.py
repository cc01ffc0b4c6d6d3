"""`sardonyx run einsum | kernel | graph | image | demo`: compile a program, run it on an engine, check it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..hw.arch.errors import UserError, shown
from ..options import DISPATCH, ENGINES, FEATURES, LOCATE, MOST, POWER, VALUES
from .console import Console, table
from .parser import Parser, add_common, fraction, tensor_format, whole


@dataclass(frozen=True)
class Place:
    """Where programs run, for the command that runs them there.

    Parameters
    ----------
    prog : str                   The command.
    arch : str                   The machine by default.
    engine : function            What runs a program, given the options; None: option --engine says it.
    examples : {str: lines}      By program; the others have their own.
    """

    prog: str = "sardonyx run"
    arch: str = "small"
    engine: Callable[[argparse.Namespace], Any] | None = None
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "run", prog="sardonyx run", help="run a program on an engine",
        about="Run an expression, a kernel that we ship, a graph of the Sparse Abstract Machine, a Halide program on a\n"
              "picture, or the demo.",
        examples=["sardonyx run demo",
                  "sardonyx run einsum 'x(i) = B(i,j) * c(j)' --B a.mtx --c v.npy",
                  "sardonyx run kernel spmspm --engine tokens",
                  "sardonyx run kernel spmspm --power",
                  "sardonyx run kernel spmspm --avoid '3,5 column:4'",
                  "sardonyx run graph matmul.gv --operands data",
                  "sardonyx run image blur.hlpipe --input photo.png --output blurred.png"])
    programs = parser.add_subparsers(dest="program", metavar="PROGRAM", required=True)
    add_programs(programs, Place())
    _add_demo(programs)
    _add_demo_soc(programs)


def add_programs(programs: Any, place: Place) -> None:
    """The programs that run on a machine of the user's choice: expressions, kernels, graphs and Halide programs."""
    for add_one in (_add_einsum, _add_kernel, _add_graph, _add_image):
        parser: Parser = add_one(programs, place)
        parser.set_defaults(engine_of=place.engine or (lambda options: options.engine))


def _add_einsum(programs: Any, place: Place) -> Parser:
    parser: Parser = programs.add_parser(
        "einsum", operands=True, prog=f"{place.prog} einsum", help="an expression on files",
        about="Compile an Einsum expression and run it. Every other option --NAME FILE is an operand: a\n"
              "matrix as .mtx, a tensor of any order as .tns (FROSTT) or .npy, texts also as .gz, or a\n"
              "number for a scalar.",
        examples=place.examples.get("einsum") or [
            "sardonyx run einsum 'X(i,j) = B(i,k) * C(k,j)' --B a.mtx --C b.mtx --order ijk --format C=ss10",
            "sardonyx run einsum 'X(i,j) = B(i,j) + C(i,j)' --B a.mtx --C b.mtx --engine golden --out x.mtx",
            "sardonyx run einsum 'x(i) = B(i,j) * c(j)' --B a.mtx --c v.npy --arch onyx --dump out/stages",
            "sardonyx run einsum 'y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)' --A a.mtx --x v.npy --schedule 'fuse(y)'",
        ])
    parser.add_argument("expression", metavar="EXPR", help="such as 'X(i,j) = B(i,k) * C(k,j)'")
    add_program_options(parser, place.arch)
    _add_run_options(parser, place)
    _add_copies(parser)
    add_common(parser)
    parser.set_defaults(body=run_einsum)
    return parser


def _add_kernel(programs: Any, place: Place) -> Parser:
    parser: Parser = programs.add_parser(
        "kernel", operands=True, prog=f"{place.prog} kernel", help="a kernel that we ship",
        about="Run a kernel by name. Operands are random, or files given as --NAME FILE.",
        examples=place.examples.get("kernel") or [
            "sardonyx run kernel --list",
            "sardonyx run kernel spmspm --engine rtl --size 40 --density 0.1 --seed 3",
            "sardonyx run kernel sddmm --engine golden --B a.mtx",
        ])
    parser.add_argument("name", metavar="NAME", nargs="?", help="the kernel, see --list")
    parser.add_argument("--list", action="store_true", help="list the kernels and what each computes")
    parser.add_argument("--size", metavar="N", type=whole(1), default=17,
                        help="extent of every index of random operands (default: 17)")
    parser.add_argument("--density", metavar="F", type=fraction, default=0.2,
                        help="share of nonzeros of random operands, 0 to 1 (default: 0.2)")
    add_program_options(parser, place.arch)
    _add_run_options(parser, place)
    _add_copies(parser)
    add_common(parser)
    parser.set_defaults(body=run_kernel)
    return parser


def _add_graph(programs: Any, place: Place) -> Parser:
    parser: Parser = programs.add_parser(
        "graph", operands=True, prog=f"{place.prog} graph", help="a graph of the Sparse Abstract Machine on files",
        about="Run a graph in the Graphviz dialect of the public Sparse Abstract Machine tools, on whole operands. They\n"
              "are in a folder, as B.mtx, B.tns, B.npy, or tensor_B_mode_0_seg and its like, or each is given as\n"
              "--NAME FILE. `sardonyx explain program EXPR --graph FILE` writes such a graph.",
        examples=place.examples.get("graph") or [
            "sardonyx run graph matmul.gv --operands data --statement 'X(i,j) = B(i,k) * C(k,j)'",
            "sardonyx run graph matmul.gv --operands data --engine tokens --out out/product",
            "sardonyx run graph spmv.gv --B a.mtx --c v.npy --arch onyx --dump out/stages",
        ])
    parser.add_argument("graph", metavar="FILE", type=Path, help="the graph, such as matmul.gv")
    parser.add_argument("--operands", metavar="DIR", dest="folder", type=Path, help="folder of the operands")
    parser.add_argument("--statement", metavar="EXPR", help="what the graph computes: the result is compared with NumPy")
    parser.add_argument("--arch", metavar="NAME|FILE", default=place.arch,
                        help=f"a preset or a description file (default: {place.arch})")
    _add_avoid(parser)
    parser.add_argument("--seed", metavar="N", type=whole(0), default=0, help="seed of placement (default: 0)")
    _add_run_options(parser, place, "DIR", "folder for the result, as tensor_X_mode_0_seg and its like")
    _add_counters(parser)
    add_common(parser)
    parser.set_defaults(body=run_graph)
    return parser


def _add_image(programs: Any, place: Place) -> Parser:
    parser: Parser = programs.add_parser(
        "image", prog=f"{place.prog} image", help="a Halide program on pictures",
        about="Compile a serialised Halide pipeline (halide.serialize_pipeline), or a program that we ship, and\n"
              "run it on pictures, tile by tile. Every element is checked against NumPy.",
        examples=place.examples.get("image") or [
            "sardonyx run image blur.hlpipe --input photo.png --output blurred.png --arch onyx --engine rtl",
            "sardonyx run image blur.hlpipe --input photo=photo.png --tile 128x64 --unroll 2",
            "sardonyx run image gaussian --input photo.png --engine tokens",
            "sardonyx run image --list",
        ])
    parser.add_argument("pipeline", metavar="FILE|NAME", nargs="?",
                        help="a .hlpipe file, or a program that we ship, see --list")
    parser.add_argument("--list", action="store_true", help="list the programs that we ship and what each computes")
    parser.add_argument("--input", metavar="[NAME=]FILE", type=_named_file, action="append", default=[],
                        help="the picture for an ImageParam; its name may be left out if there is only one")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the result as a picture, or as .npy")
    parser.add_argument("--tile", metavar="WxH", type=_size,
                        help="size of a tile (default: as the program is scheduled, else that of the fewest cycles)")
    parser.add_argument("--shape", metavar="WxH", type=_size,
                        help="size of the result (default: the largest that the pictures allow)")
    parser.add_argument("--param", metavar="NAME=VALUE", type=_named_value, action="append", default=[],
                        help="the value of a scalar Param")
    parser.add_argument("--unroll", metavar="N", type=whole(1),
                        help="neighbours in x that are computed at once (default: as the program is scheduled, else 1)")
    parser.add_argument("--arch", metavar="NAME|FILE", default=place.arch,
                        help=f"a preset or a description file (default: {place.arch})")
    _add_avoid(parser)
    _add_engine(parser, place)
    parser.add_argument("--seed", metavar="N", type=whole(0), default=0, help="seed of placement (default: 0)")
    parser.add_argument("--dump", metavar="DIR", type=Path, help="write every stage of the compiler")
    _add_power(parser, place)
    add_common(parser)
    parser.set_defaults(body=run_image)
    return parser


def _named_file(text: str) -> tuple[str, Path]:
    """``photo=photo.png``, or a file alone."""
    name, equals, file = text.partition("=")
    return (name, Path(file)) if equals else ("", Path(text))


def _named_value(text: str) -> tuple[str, int]:
    """``gain=3``."""
    name, _, value = text.partition("=")
    try:
        return name, int(value, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a name and a whole number: write gain=3") from None


def _size(text: str) -> tuple[int, ...]:
    """``128x64`` as (128, 64); one size for each dimension."""
    sides = text.split("x")
    if not all(re.fullmatch("[0-9]{1,9}", side) and int(side) for side in sides):
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a size: write width and height, as 128x64")
    return tuple(map(int, sides))


def _add_demo(programs: Any) -> None:
    parser: Parser = programs.add_parser(
        "demo", prog="sardonyx run demo", help="a sparse product, a blurred photograph and a systolic array in Verilog",
        about="Multiply a real sparse matrix with itself, and blur a photograph with a Halide program, both in the\n"
              "Verilog of preset `small`; multiply matrices on a spatial array; and check every word. With --matrix,\n"
              "the sparse product alone.",
        examples=["sardonyx run demo", "sardonyx run demo --matrix a.mtx --out out/mine"])
    parser.add_argument("--matrix", metavar="FILE", type=Path,
                        help="a Matrix Market file; one not square is multiplied with its transpose")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("out/demo"),
                        help="folder for the Verilog and the picture (default: out/demo)")
    add_common(parser)
    parser.set_defaults(body=run_demo)


def _add_demo_soc(programs: Any) -> None:
    parser: Parser = programs.add_parser(
        "demo-soc", prog="sardonyx run demo-soc", help="a product and a blur, run by a RISC-V processor in generated Verilog",
        about="Let the firmware of a RISC-V processor configure preset `small` for a sparse matrix product, run it, switch\n"
              "to a blur of a photograph and run that, with all operands in memory outside; check every word and draw\n"
              "when what was at work. Needs a C compiler for the processor: pip install 'sardonyx[soc]'.",
        examples=["sardonyx run demo-soc", "sardonyx run demo-soc --out out/mine"])
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("out/demo-soc"),
                        help="folder for the timeline, the firmware's commands and the Verilog (default: out/demo-soc)")
    add_common(parser)
    parser.set_defaults(body=run_demo_soc)


def add_program_options(parser: argparse.ArgumentParser, arch: str = "small") -> None:
    """The options that decide what a program compiles to."""
    parser.add_argument("--order", metavar="INDICES", help="loop order, outermost first, such as ijk")
    parser.add_argument("--format", metavar="NAME=FORMAT", type=tensor_format, action="append", default=[],
                        help="levels of a tensor (s compressed, d dense) and mode order, such as C=ss10")
    parser.add_argument("--arch", metavar="NAME|FILE", default=arch,
                        help=f"a preset or a description file (default: {arch})")
    _add_avoid(parser)
    _add_locate(parser)
    parser.add_argument("--tile", metavar="N", type=whole(1),
                        help="extent of a sub-tile (default: that of the fewest estimated cycles)")
    parser.add_argument("--schedule", metavar="TEXT",
                        help="loops, sub-tiles, copies, and what of several statements stays inside the array: such as "
                             "'reorder(k,i,j) split(i,32) parallelize(i,4) fuse(T)'")
    parser.add_argument("--seed", metavar="N", type=whole(0), default=0,
                        help="seed of placement and random operands (default: 0)")


def _add_locate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--locate", choices=tuple(LOCATE), default="auto", metavar="HOW",
                        help=f"dense levels where another operand says the coordinates; {listed(LOCATE)} (default: auto)")


def _add_avoid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--avoid", metavar="TILES", action="append", default=[],
                        help="tiles that the program leaves alone, such as defective ones: 3,5 or 3-6,2-4, column:4, "
                             "row:3, glb:2; several with blanks between, or --avoid again")


def _add_engine(parser: argparse.ArgumentParser, place: Place) -> None:
    if place.engine is None:
        parser.add_argument("--engine", choices=tuple(ENGINES), default="rtl", metavar="ENGINE",
                            help=f"{listed(ENGINES)} (default: rtl)")


def _add_run_options(parser: argparse.ArgumentParser, place: Place, out: str = "FILE",
                     what: str = "write the result: a matrix as .mtx, anything else as .npy") -> None:
    _add_engine(parser, place)
    parser.add_argument("--values", choices=tuple(VALUES), default="exact", metavar="HOW",
                        help=f"{listed(VALUES)} (default: exact)")
    _add_power(parser, place)
    parser.add_argument("--out", metavar=out, type=Path, help=what)
    parser.add_argument("--dump", metavar="DIR", type=Path, help="write every stage of the compiler")


def _add_copies(parser: argparse.ArgumentParser) -> None:
    """Copies of a program, which only what is cut into sub-tiles has."""
    parser.add_argument("--unroll", metavar="N|most", type=copies, default=1,
                        help="copies of the program beside each other, which share the sub-tiles; most: as many as gain "
                             "(default: 1)")
    parser.add_argument("--dispatch", choices=tuple(DISPATCH), default="order", metavar="HOW",
                        help=f"how copies get sub-tiles; {listed(DISPATCH)} (default: order)")
    parser.add_argument("--without", metavar="NAMES",
                        help=f"leave features out, names with commas, to see what they gain; {listed(FEATURES)}")
    _add_counters(parser)


def _add_counters(parser: argparse.ArgumentParser) -> None:
    """Performance counters, of programs of streams: static streams move a word in every cycle."""
    parser.add_argument("--counters", action="store_true",
                        help="read the performance counters of the program's tiles, on a machine that is described with some "
                             "(counter_bits), or count on the token model: tokens, cycles busy, starved and blocked")


def copies(text: str) -> int | str:
    """A number of copies, or ``most``."""
    return text if text == MOST else whole(1)(text)


def _add_power(parser: argparse.ArgumentParser, place: Place) -> None:
    if place.engine is not None:        # a board counts nothing
        parser.set_defaults(power=None)
        return
    first = next(iter(POWER))
    parser.add_argument("--power", metavar="LIBRARY", nargs="?", choices=tuple(POWER), const=first,
                        help=f"estimate the energy of the run, engines rtl and rtl-full; {listed(POWER)} (default: {first})")


def listed(names: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in names.items())


def program_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_program_options` as arguments of the Python interface."""
    formats = dict(options.format)
    if len(formats) < len(options.format):
        raise UserError("a tensor has two formats", where="--format", fix="give --format once a tensor")
    named = {"order": options.order, "formats": formats or None, "arch": options.arch, "tile": options.tile,
             "seed": options.seed, "avoid": options.avoid, "locate": options.locate, "schedule": options.schedule}
    others = {"engine", "values", "dump", "power", "progress", "size", "density", "unroll", "dispatch", "without",
              "counters"}
    if taken := sorted(options.operands.keys() & (named.keys() | others)):
        raise UserError(f"a tensor cannot be called '{taken[0]}'", where=f"--{taken[0]}",
                        fix="rename it in the expression")
    return named | options.operands


def _engine_arguments(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    return {"engine": options.engine_of(options), "values": options.values, "dump": options.dump, "power": options.power,
            "progress": console.progress}


def _copy_arguments(options: argparse.Namespace) -> dict[str, Any]:
    return {"unroll": options.unroll, "dispatch": options.dispatch, "without": options.without,
            "counters": options.counters}


def run_einsum(options: argparse.Namespace, console: Console) -> int:
    """Run an expression."""
    from .. import api  # here, so that help and doctor work where a package is broken

    _check_out(options.out)
    result = api.einsum(options.expression, **program_arguments(options), **_engine_arguments(options, console),
                        **_copy_arguments(options))
    return _finish(result, options, console)


def run_kernel(options: argparse.Namespace, console: Console) -> int:
    """Run a kernel, or list them."""
    from .. import api

    if options.list:
        console.show(api.kernels())
        return 0
    if options.name is None:
        raise UserError("no kernel is named", where="sardonyx run kernel", fix="sardonyx run kernel --list")
    _check_out(options.out)
    result = api.kernel(options.name, size=options.size, density=options.density,
                        **program_arguments(options), **_engine_arguments(options, console), **_copy_arguments(options))
    return _finish(result, options, console)


def run_graph(options: argparse.Namespace, console: Console) -> int:
    """Run a graph."""
    from .. import graphs

    fixed = {"folder", "statement", "out", "arch", "seed", "engine", "values", "dump", "power", "progress", "avoid",
             "counters"}
    if taken := sorted(options.operands.keys() & fixed):
        raise UserError(f"a tensor cannot be called '{taken[0]}'", where=f"--{taken[0]}",
                        fix="put it into the folder of the operands")
    result = graphs.graph(options.graph, folder=options.folder, statement=options.statement, out=options.out, arch=options.arch,
                          seed=options.seed, avoid=options.avoid, counters=options.counters,
                          **_engine_arguments(options, console), **options.operands)
    console.show(_with_tables(result))
    _hint(options, console)
    return 0


def run_image(options: argparse.Namespace, console: Console) -> int:
    """Run a Halide program on pictures."""
    from .. import halide

    if options.list:
        console.show(halide.shipped())
        return 0
    if options.pipeline is None:
        raise UserError("no program is named", where="sardonyx run image", fix="sardonyx run image --list")
    files = dict(options.input)
    if len(files) < len(options.input):
        raise UserError("an image is given twice", where="--input", fix="name each: --input NAME=FILE")
    params = dict(options.param)
    if len(params) < len(options.param):
        raise UserError("a parameter has two values", where="--param", fix="give --param once a parameter")
    result = halide.run_files(options.pipeline, files, options.output, params, shape=options.shape, tile=options.tile,
                              unroll=options.unroll, arch=options.arch, engine=options.engine_of(options), seed=options.seed,
                              dump=options.dump, progress=console.progress, power=options.power, avoid=options.avoid)
    console.show(_with_tables(result))
    console.end(f"look at {options.output}" if options.output else "--output FILE writes the result as a picture")
    return 0


def run_demo(options: argparse.Namespace, console: Console) -> int:
    """Run the demo: the product beside the rest, since a simulation keeps one core busy."""
    from .. import api

    if options.matrix is not None:
        console.show(api.demo(options.matrix, out=options.out, progress=console.progress))
        console.end(f"open the picture in {options.out}")
        return 0

    def rest() -> dict[str, api.Outcome]:
        from .. import designs, halide
        return {"blur": halide.demo(options.out / "blur", progress=lambda stage: console.progress(f"blur: {stage}")),
                "spatial": designs.demo(options.out / "spatial", progress=lambda stage: console.progress(f"spatial: {stage}"))}

    others = console.beside(rest)
    product = api.demo(out=options.out, progress=lambda stage: console.progress(f"product: {stage}"))
    reports = {"product": product.report} | {name: each.report for name, each in others().items()}
    console.show(api.Outcome(reports, "\n\n".join(map(table, reports.values()))))
    console.end(f"open the pictures in {options.out}, or sardonyx run demo --matrix FILE")
    return 0


def run_demo_soc(options: argparse.Namespace, console: Console) -> int:
    """Run the demo of a system."""
    from .. import api, together

    found = together.demo(options.out, console.progress)
    programs = {name: each for name, each in found.report.items() if isinstance(each, Mapping)}
    rest = {name: each for name, each in found.report.items() if name not in programs}
    tables = [f"{name}\n{table(each)}" for name, each in programs.items()]
    console.show(api.Outcome(found.report, "\n\n".join([*tables, table(rest), found.text])))
    console.end(f"open {options.out / together.PICTURE}, or read {options.out / together.COMMANDS}")
    return 0


def _check_out(out: Path | None) -> None:
    """UserError for a result file of no kind that is written, before the run, which may take minutes."""
    if out is not None and (out.suffix not in (".mtx", ".npy") or out.is_dir()):
        raise UserError("the result is written to a file that ends in .mtx (a matrix) or .npy (a vector or tensor)", str(out),
                        "name such a file")


def _with_tables(result: Any) -> Any:
    """What was found, with energy and counters in tables of their own; of statements that ran in turn those of each."""
    from .. import api

    rest, found = _apart(result.report)
    if "statements" in rest:
        apart = {name: _apart(each) for name, each in rest["statements"].items()}
        rest["statements"] = {name: plain for name, (plain, _) in apart.items()}
        found += [f"{name}: {each}" for name, (_, tables) in apart.items() for each in tables]
    return api.Outcome(result.report, "\n\n".join([table(rest), *found])) if found else result


def _apart(report: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A report without its tables, and these."""
    from .. import counters, power

    kinds: dict[str, Callable[[Any], str]] = {"power": power.text, "counters": counters.text}
    return ({name: value for name, value in report.items() if name not in kinds},
            [text(report[name]) for name, text in kinds.items() if name in report])


def _finish(result: Any, options: argparse.Namespace, console: Console) -> int:
    from .. import api

    if options.out is not None:
        api.save(result, options.out)
    console.show(_with_tables(result))
    _hint(options, console)
    return 0


def _hint(options: argparse.Namespace, console: Console) -> None:
    """End with what to try next."""
    if getattr(options, "engine", "") in ("golden", "tokens", "fabric"):
        hint = "--engine rtl runs the same program in generated Verilog"
    elif options.dump is None:
        hint = "--dump DIR writes every stage of the compiler"
    else:
        hint = f"read the stages in {options.dump}"
    console.end(hint)
