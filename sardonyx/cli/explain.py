"""`sardonyx explain program | arch | bitstream | register | outputs`: show what something is or becomes."""

from __future__ import annotations

import argparse
from typing import Any

from .console import Console
from .parser import Parser, add_common, path
from .program_options import add_program_options, program_arguments


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "explain", prog="sardonyx explain", help="show a machine, a program, a bitstream or a register",
        about="Show what a program becomes, what a machine is made of, what a bitstream configures, what a\n"
              "register means, and what drives the outputs of the modules.",
        examples=["sardonyx explain arch onyx", "sardonyx explain program 'x(i) = b(i) * c(i)'"])
    topics = parser.add_subparsers(dest="topic", metavar="TOPIC", required=True)

    program: Parser = topics.add_parser(
        "program", operands=True, prog="sardonyx explain program", help="what an expression becomes",
        about="Show the loops and the graph of an expression and what it needs of the array; with operands\n"
              "(--NAME FILE), also how they are cut into sub-tiles and how much work that is.",
        examples=["sardonyx explain program 'X(i,j) = B(i,k) * C(k,j)' --format C=ss10 --arch onyx",
                  "sardonyx explain program 'x(i) = B(i,j) * c(j)' --B a.mtx --c v.npy --tile 64",
                  "sardonyx explain program 'x(i) = B(i,j) * c(j)' --graph out/spmv.gv"])
    program.add_argument("expression", metavar="EXPR", help="such as 'X(i,j) = B(i,k) * C(k,j)'")
    add_program_options(program, "small")
    program.add_argument("--graph", metavar="FILE", type=path,
                         help="also write the graph as Graphviz, which `sardonyx run graph` and the public tools read")

    arch: Parser = topics.add_parser(
        "arch", prog="sardonyx explain arch", help="what a machine is made of",
        about="Show the sizes, tiles and primitives of a machine; without a name, the presets.",
        examples=["sardonyx explain arch", "sardonyx explain arch onyx", "sardonyx explain arch mine.json"])
    arch.add_argument("arch", metavar="NAME|FILE", nargs="?", help="a preset or a description file")

    bitstream: Parser = topics.add_parser(
        "bitstream", prog="sardonyx explain bitstream", help="what a bitstream configures",
        about="Decode a bitstream and show the configuration of each tile.",
        examples=["sardonyx explain bitstream app.bits --arch small"])
    bitstream.add_argument("bitstream", metavar="FILE", type=path, help="such as app.bits")
    bitstream.add_argument("--arch", metavar="NAME|FILE", default="small",
                           help="the machine it was made for (default: small)")

    register: Parser = topics.add_parser(
        "register", prog="sardonyx explain register", help="what a register means",
        about="Show a register by its name or its address (0x... or decimal).",
        examples=["sardonyx explain register status", "sardonyx explain register 0x10 --arch onyx"])
    register.add_argument("register", metavar="NAME|ADDRESS", help="the register")
    register.add_argument("--arch", metavar="NAME|FILE", default="small",
                          help="a preset or a description file (default: small)")

    outputs: Parser = topics.add_parser(
        "outputs", prog="sardonyx explain outputs", help="what drives the outputs of tiles and of what is around them",
        about="List every output of the modules that are hardened by themselves (tiles, what is beside a\n"
              "column, GLB tile, shell, controller and buses): a register, a constant, logic of registers, or\n"
              "inputs of the same cycle and why. Fails where an output follows an input by no listed path.",
        examples=["sardonyx explain outputs tiny", "sardonyx explain outputs mine.json --json"])
    outputs.add_argument("arch", metavar="NAME|FILE", nargs="?", default="small",
                         help="a preset or a description file (default: small)")

    for topic in (program, arch, bitstream, register, outputs):
        add_common(topic)
        topic.set_defaults(body=body)


def body(options: argparse.Namespace, console: Console) -> int:
    """Show the topic."""
    from .. import api, explained  # here, so that help and doctor work where a package is broken

    if options.topic == "program":
        outcome = api.explain_program(options.expression, graph=options.graph, **program_arguments(options))
    elif options.topic == "arch":
        outcome = explained.explain_arch(options.arch)
    elif options.topic == "bitstream":
        outcome = explained.explain_bitstream(options.bitstream, arch=options.arch)
    elif options.topic == "outputs":
        outcome = explained.explain_outputs(options.arch, progress=console.progress)
    else:
        outcome = explained.explain_register(options.register, arch=options.arch)
    console.show(outcome)
    return 0
