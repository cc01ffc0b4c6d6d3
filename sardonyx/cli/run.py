"""`sardonyx run einsum | kernel | graph | image | demo`: compile a program, run it on an engine, check it."""

from __future__ import annotations

import argparse
from typing import Any

from ..hw.arch.errors import UserError
from .console import Console
from .demo import add_demo, add_demo_soc
from .image import add_image
from .parser import Parser, add_common, fraction, path, whole
from .program_options import (
    Place,
    add_arch,
    add_avoid,
    add_copies,
    add_counters,
    add_program_options,
    add_run_options,
    add_spread,
    copy_arguments,
    engine_arguments,
    program_arguments,
)
from .results import check_out, finish, hint, with_tables


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
    add_demo(programs)
    add_demo_soc(programs)


def add_programs(programs: Any, place: Place) -> None:
    """The programs that run on a machine of the user's choice: expressions, kernels, graphs and Halide programs."""
    for add_one in (_add_einsum, _add_kernel, _add_graph, add_image):
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
    add_run_options(parser, place)
    add_copies(parser)
    add_spread(parser, place)
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
    add_run_options(parser, place)
    add_copies(parser)
    add_spread(parser, place)
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
    parser.add_argument("graph", metavar="FILE", type=path, help="the graph, such as matmul.gv")
    parser.add_argument("--operands", metavar="DIR", dest="folder", type=path, help="folder of the operands")
    parser.add_argument("--statement", metavar="EXPR", help="what the graph computes: the result is compared with NumPy")
    add_arch(parser, place.arch)
    add_avoid(parser)
    parser.add_argument("--seed", metavar="N", type=whole(0), default=0, help="seed of placement (default: 0)")
    add_run_options(parser, place, "DIR", "folder for the result, as tensor_X_mode_0_seg and its like")
    add_counters(parser)
    add_common(parser)
    parser.set_defaults(body=run_graph)
    return parser


def run_einsum(options: argparse.Namespace, console: Console) -> int:
    """Run an expression."""
    from .. import api  # here, so that help and doctor work where a package is broken

    check_out(options.out, options.expression, options.order, dict(options.format))
    result = api.einsum(options.expression, **program_arguments(options), **engine_arguments(options, console),
                        **copy_arguments(options))
    return finish(result, options, console)


def run_kernel(options: argparse.Namespace, console: Console) -> int:
    """Run a kernel, or list them."""
    from .. import api
    from ..compiler.lang.kernel import load_kernel

    if options.list:
        console.show(api.kernels())
        return 0
    if options.name is None:
        raise UserError("no kernel is named", where="sardonyx run kernel", fix="sardonyx run kernel --list")
    if options.out is not None:
        kernel = load_kernel(options.name)
        check_out(options.out, kernel.expression, options.order or kernel.order, {**kernel.formats, **dict(options.format)})
    result = api.kernel(options.name, size=options.size, density=options.density,
                        **program_arguments(options), **engine_arguments(options, console), **copy_arguments(options))
    return finish(result, options, console)


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
                          **engine_arguments(options, console), **options.operands)
    console.show(with_tables(result))
    hint(options, console)
    return 0
