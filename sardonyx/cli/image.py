"""`sardonyx run image`: a Halide program on pictures."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from ..hw.arch.errors import UserError, shown
from .console import Console
from .parser import Parser, add_common, path, whole
from .program_options import Place, add_arch, add_avoid, add_counters, add_engine, add_power
from .results import with_tables


def add_image(programs: Any, place: Place) -> Parser:
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
    parser.add_argument("--output", metavar="FILE", type=path, help="write the result as a picture, or as .npy")
    parser.add_argument("--tile", metavar="WxH", type=_size,
                        help="size of a tile (default: as the program is scheduled, else that of the fewest cycles)")
    parser.add_argument("--shape", metavar="WxH", type=_size,
                        help="size of the result (default: the largest that the pictures allow)")
    parser.add_argument("--param", metavar="NAME=VALUE", type=_named_value, action="append", default=[],
                        help="the value of a scalar Param")
    parser.add_argument("--unroll", metavar="N", type=whole(1),
                        help="stripes of a tile that are computed at once (default: as the program is scheduled, else 1)")
    add_arch(parser, place.arch or "small")
    add_avoid(parser)
    add_engine(parser, place)
    parser.add_argument("--seed", metavar="N", type=whole(0), default=0, help="seed of placement (default: 0)")
    parser.add_argument("--dump", metavar="DIR", type=path, help="write every stage of the compiler")
    add_power(parser, place)
    add_counters(parser)
    add_common(parser)
    parser.set_defaults(body=run_image)
    return parser


def _named_file(text: str) -> tuple[str, Path]:
    """``photo=photo.png``, or a file alone."""
    name, equals, file = text.partition("=")
    return (name, path(file)) if equals else ("", path(text))


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
                              unroll=options.unroll, arch=options.arch,
                              engine=options.engine_of(options), seed=options.seed, dump=options.dump,
                              progress=console.progress, power=options.power, avoid=options.avoid, counters=options.counters)
    console.show(with_tables(result))
    console.end(f"look at {options.output}" if options.output else "--output FILE writes the result as a picture")
    return 0
