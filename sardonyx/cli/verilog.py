"""`sardonyx verilog`: write the hardware of a preset or of a user's own description."""

from __future__ import annotations

import argparse
from typing import Any

from .console import Console
from .parser import Parser, add_common, path


def add(commands: Any) -> None:
    """Add the command to the command line."""
    parser: Parser = commands.add_parser(
        "verilog", prog="sardonyx verilog", help="write the Verilog of a machine",
        about="Write a machine as Verilog: one file per unique module, a file list, its description, the\n"
              "register and port tables, a C header, and constraints and configurations for open ASIC flows.\n"
              "Enables of registers are made in synthesis: configurations for ASICs have `latches.tcl`, which\n"
              "makes the smallest tiles; `words.tcl` is for flows without latches. FPGA tools need neither.",
        examples=[
            "sardonyx verilog --preset onyx --out build/onyx",
            "sardonyx verilog --arch my_machine.json --out build/mine",
            "sardonyx verilog --preset onyx --soc --out build/onyx_soc",
        ])
    machine = parser.add_mutually_exclusive_group()
    machine.add_argument("--preset", metavar="NAME", default="small",
                         help="a machine that we ship, see `sardonyx explain arch` (default: small)")
    machine.add_argument("--arch", metavar="FILE", help="a description (arch.json) of your own")
    parser.add_argument("--soc", action="store_true",
                        help="with a RISC-V processor, its memory, a system DMA and a serial line in front of the buses")
    parser.add_argument("--out", metavar="DIR", type=path, required=True,
                        help="folder to write, made if missing")
    add_common(parser)
    parser.set_defaults(body=body)


def body(options: argparse.Namespace, console: Console) -> int:
    """Emit, show what was written."""
    from .. import emission  # here, so that help and doctor work where a package is broken

    arch = options.preset if options.arch is None else options.arch
    console.show(emission.emit_arch(arch, options.out, soc=options.soc, progress=console.progress))
    console.end(f"sardonyx run demo, or read {options.out}")
    return 0
