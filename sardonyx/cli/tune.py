"""`sardonyx tune`: try loop orders, formats and edges of a sparse program."""

from __future__ import annotations

import argparse
from typing import Any

from ..hw.arch.errors import UserError
from ..options import DISPATCH, LOCATE, VALUES
from .console import Console
from .parser import Parser, add_common, path, tensor_format, whole
from .program_options import add_cluster, copies, listed

ENGINES = ("estimate", "rtl", "rtl-full")


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "tune", operands=True, prog="sardonyx tune", help="find the order, formats and sub-tiles of the fewest cycles",
        about="Try loop orders, formats of operands and edges of sub-tiles of an expression, by an estimate or\n"
              "on an engine, and print the best ones and the command that runs the best. Operands are --NAME FILE.",
        examples=["sardonyx tune 'X(i,j) = B(i,k) * C(k,j)' --B a.mtx --C b.mtx --arch onyx",
                  "sardonyx tune 'x(i) = B(i,j) * c(j)' --B a.mtx --c v.npy --engine rtl --budget 20 --state tuned.jsonl",
                  "sardonyx tune 'x(i) = B(i,j) * c(j)' --B a.mtx --c v.npy --cluster tcp://host:8786 --state tuned.jsonl"])
    parser.add_argument("expression", metavar="EXPR", help="such as 'X(i,j) = B(i,k) * C(k,j)'")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0], metavar="ENGINE",
                        help="estimate: no run; rtl, rtl-full: the best programs run in generated Verilog (default: estimate)")
    parser.add_argument("--budget", metavar="N", type=whole(1), default=40,
                        help="at most so many programs are estimated, and so many points looked at on the engine (default: 40);"
                             " of more loop orders, 720 at most, those of the fewest cycles with the edges of the default one")
    parser.add_argument("--jobs", metavar="N", type=whole(1), help="processes (default: one for each core)")
    add_cluster(parser)
    parser.add_argument("--state", metavar="FILE", type=path, help="keep results in a file: a run that was stopped goes on")
    parser.add_argument("--order", metavar="INDICES", help="this loop order and no other one")
    parser.add_argument("--format", metavar="NAME=FORMAT", type=tensor_format, action="append", default=[],
                        help="these levels of a tensor and no others")
    parser.add_argument("--arch", metavar="NAME|FILE", default="small", help="a preset or a description file (default: small)")
    parser.add_argument("--unroll", metavar="N|most", type=copies, default=1,
                        help="copies that share the sub-tiles (default: 1)")
    parser.add_argument("--dispatch", choices=tuple(DISPATCH), default="order", metavar="HOW",
                        help=f"how copies get sub-tiles; {listed(DISPATCH)} (default: order)")
    parser.add_argument("--locate", choices=tuple(LOCATE), default="auto", metavar="HOW",
                        help=f"dense levels where another operand says the coordinates; {listed(LOCATE)} (default: auto)")
    parser.add_argument("--values", choices=tuple(VALUES), default="exact", metavar="HOW",
                        help=f"{listed(VALUES)} (default: exact)")
    parser.add_argument("--seed", metavar="N", type=whole(0), default=0, help="seed of placement (default: 0)")
    add_common(parser)
    parser.set_defaults(body=body)


def body(options: argparse.Namespace, console: Console) -> int:
    """Tune."""
    from .. import tuning  # here, so that help and doctor work where a package is broken

    formats = dict(options.format)
    if len(formats) < len(options.format):
        raise UserError("a tensor has two formats", where="--format", fix="give --format once a tensor")
    named = {"order": options.order, "formats": formats or None, "arch": options.arch, "engine": options.engine,
             "budget": options.budget, "jobs": options.jobs, "cluster": options.cluster, "state": options.state,
             "unroll": options.unroll,
             "dispatch": options.dispatch, "locate": options.locate, "values": options.values, "seed": options.seed,
             "progress": console.progress}
    if taken := sorted(options.operands.keys() & named.keys()):
        raise UserError(f"a tensor cannot be called '{taken[0]}'", where=f"--{taken[0]}", fix="rename it in the expression")
    console.show(tuning.tune(options.expression, **named, **options.operands))
    console.end("the command above runs it")
    return 0
