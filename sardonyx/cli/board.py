"""`sardonyx board build | run`: a machine on an FPGA board."""

from __future__ import annotations

import argparse
from typing import Any

from .console import Console
from .parser import Parser, add_common, path, whole
from .program_options import Place
from .run import add_programs

UNTIL = ("project", "synthesis", "bitstream")
RUN = "sardonyx board run ulx3s-85f --port /dev/ttyUSB0"
EXAMPLES = {"einsum": [f"{RUN} einsum 'x(i) = b(i) * c(i)' --b v.npy --c v.npy"],
            "kernel": [f"{RUN} kernel vec_elemmul --size 100 --density 0.3"],
            "graph": [f"{RUN} graph spmv.gv --B a.mtx --c v.npy"],
            "image": [f"{RUN} image binomial --input photo.png --output blurred.png"]}


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "board", prog="sardonyx board", help="put a machine on an FPGA board and run programs there",
        about="Build a machine for a board, or run a program on one over its serial port.",
        examples=["sardonyx board build ulx3s-85f --out build/ulx3s",
                  "sardonyx board run ulx3s-85f --port /dev/ttyUSB0 kernel vec_elemmul"])
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    _add_build(actions)
    _add_run(actions)


def _add_build(actions: Any) -> None:
    parser: Parser = actions.add_parser(
        "build", prog="sardonyx board build", help="write the project of a board, and its bitstream",
        about="Write a machine behind a serial port as a project for a board, map it to the cells of the FPGA, and\n"
              "for ulx3s-85f place and route it to a bitstream, which takes half an hour or more. Boards:\n"
              "ulx3s-85f, arty-a7-100 (a project for Vivado).",
        examples=["sardonyx board build ulx3s-85f --out build/ulx3s",
                  "sardonyx board build arty-a7-100 --out build/arty --until project",
                  "sardonyx board build ulx3s-85f --arch my_machine.json --out build/mine --seed 3"])
    parser.add_argument("board", metavar="BOARD", help="ulx3s-85f or arty-a7-100")
    parser.add_argument("--out", metavar="DIR", type=path, required=True, help="folder to write, made if missing")
    parser.add_argument("--arch", metavar="NAME|FILE", default="fpga", help="a preset or a description file (default: fpga)")
    parser.add_argument("--until", metavar="STEP", choices=UNTIL, default=UNTIL[-1],
                        help=f"where to stop: {', '.join(UNTIL)} (default: {UNTIL[-1]})")
    parser.add_argument("--seed", metavar="N", type=whole(0), default=1, help="seed of placement (default: 1)")
    add_common(parser)
    parser.set_defaults(body=build)


def _add_run(actions: Any) -> None:
    parser: Parser = actions.add_parser(
        "run", prog="sardonyx board run", help="run a program on a board",
        about="Run an expression, a kernel that we ship, a graph or a Halide program on the machine on a board, and check\n"
              "every word.",
        examples=[*EXAMPLES["kernel"], *EXAMPLES["image"]])
    parser.add_argument("board", metavar="BOARD", help="ulx3s-85f or arty-a7-100")
    parser.add_argument("--port", metavar="PORT", required=True, help="serial port, as /dev/ttyUSB0 or COM3")
    parser.add_argument("--baud", metavar="N", type=whole(1), help="of the port (default: what the board is built for)")
    programs = parser.add_subparsers(dest="program", metavar="PROGRAM", required=True, parser_class=Parser)
    add_programs(programs, Place("sardonyx board run BOARD --port PORT", "fpga", run_on, EXAMPLES))


def build(options: argparse.Namespace, console: Console) -> int:
    """Build, show what was made."""
    from .. import board  # here, so that help and doctor work where a package is broken

    console.show(board.build_board(options.board, options.out, options.arch, until=options.until, seed=options.seed,
                                   progress=console.progress))
    if options.until == "bitstream" and options.board.startswith("ulx3s"):
        console.end(f"openFPGALoader -b ulx3s {options.out}/top.bit, then sardonyx board run {options.board} --port PORT "
                    "kernel vec_elemmul")
    else:
        console.end(f"run build_top.sh in {options.out}")
    return 0


def run_on(options: argparse.Namespace) -> Any:
    """The engine of a program that runs on a board: the device at its port."""
    from .. import board

    return board.open_board(options.board, options.port, options.arch, options.baud)
