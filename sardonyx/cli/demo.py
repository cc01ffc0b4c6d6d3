"""`sardonyx run demo | demo-soc`: what the machines do, without a question asked."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .console import Console, table
from .parser import Parser, add_common, path


def add_demo(programs: Any) -> None:
    parser: Parser = programs.add_parser(
        "demo", prog="sardonyx run demo", help="a sparse product, a blurred photograph and a systolic array in Verilog",
        about="Multiply a real sparse matrix with itself, and blur a photograph with a Halide program, both in the\n"
              "Verilog of preset `small`; multiply matrices on a spatial array; and check every word. With --matrix,\n"
              "the sparse product alone.",
        examples=["sardonyx run demo", "sardonyx run demo --matrix a.mtx --out out/mine"])
    parser.add_argument("--matrix", metavar="FILE", type=path,
                        help="a Matrix Market file; one not square is multiplied with its transpose")
    parser.add_argument("--out", metavar="DIR", type=path, default=Path("out/demo"),
                        help="folder for the Verilog and the picture (default: out/demo)")
    add_common(parser)
    parser.set_defaults(body=run_demo)


def add_demo_soc(programs: Any) -> None:
    parser: Parser = programs.add_parser(
        "demo-soc", prog="sardonyx run demo-soc", help="a product and a blur, run by a RISC-V processor in generated Verilog",
        about="Let the firmware of a RISC-V processor configure preset `small` for a sparse matrix product, run it, switch\n"
              "to a blur of a photograph and run that, with all operands in memory outside; check every word and draw\n"
              "when what was at work. Needs a C compiler for the processor: pip install 'sardonyx[soc]'.",
        examples=["sardonyx run demo-soc", "sardonyx run demo-soc --out out/mine"])
    parser.add_argument("--out", metavar="DIR", type=path, default=Path("out/demo-soc"),
                        help="folder for the timeline, the firmware's commands and the Verilog (default: out/demo-soc)")
    add_common(parser)
    parser.set_defaults(body=run_demo_soc)


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
