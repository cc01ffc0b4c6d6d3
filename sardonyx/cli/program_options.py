"""Options that programs have in common, and what they are as arguments of the Python interface."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..hw.arch.errors import UserError
from ..options import DISPATCH, ENGINES, FEATURES, LOCATE, MOST, POWER, VALUES
from .console import Console
from .parser import path, tensor_format, whole


@dataclass(frozen=True)
class Place:
    """Where programs run, for the command that runs them there.

    Parameters
    ----------
    prog : str                   The command.
    arch : str                   The machine by default; none: the smallest that has what a program needs.
    engine : function            What runs a program, given the options; None: option --engine says it.
    examples : {str: lines}      By program; the others have their own.
    """

    prog: str = "sardonyx run"
    arch: str | None = None
    engine: Callable[[argparse.Namespace], Any] | None = None
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)


def add_arch(parser: argparse.ArgumentParser, arch: str | None) -> None:
    """The machine, and its default; none: the smallest that does."""
    default = arch or "the smallest of small, sparse and onyx that has what the program needs"
    parser.add_argument("--arch", metavar="NAME|FILE", default=arch,
                        help=f"a preset or a description file (default: {default})")


def add_program_options(parser: argparse.ArgumentParser, arch: str | None) -> None:
    """The options that decide what a program compiles to."""
    parser.add_argument("--order", metavar="INDICES", help="loop order, outermost first, such as ijk")
    parser.add_argument("--format", metavar="NAME=FORMAT", type=tensor_format, action="append", default=[],
                        help="levels of a tensor (s compressed, d dense) and mode order, such as C=ss10")
    add_arch(parser, arch)
    add_avoid(parser)
    add_locate(parser)
    parser.add_argument("--tile", metavar="N", type=whole(1),
                        help="extent of a sub-tile (default: that of the fewest estimated cycles)")
    parser.add_argument("--schedule", metavar="TEXT",
                        help="loops, sub-tiles, copies, and what of several statements stays inside the array: such as "
                             "'reorder(k,i,j) split(i,32) parallelize(i,4) fuse(T)'")
    parser.add_argument("--seed", metavar="N", type=whole(0), default=0,
                        help="seed of placement and random operands (default: 0)")


def add_locate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--locate", choices=tuple(LOCATE), default="auto", metavar="HOW",
                        help=f"dense levels where another operand says the coordinates; {listed(LOCATE)} (default: auto)")


def add_avoid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--avoid", metavar="TILES", action="append", default=[],
                        help="tiles that the program leaves alone, such as defective ones: 3,5 or 3-6,2-4, column:4, "
                             "row:3, glb:2; several with blanks between, or --avoid again")


def add_engine(parser: argparse.ArgumentParser, place: Place) -> None:
    if place.engine is None:
        parser.add_argument("--engine", choices=tuple(ENGINES), default="rtl", metavar="ENGINE",
                            help=f"{listed(ENGINES)} (default: rtl)")


def add_run_options(parser: argparse.ArgumentParser, place: Place, out: str = "FILE",
                     what: str = "write the result: a matrix as .mtx, anything else as .npy") -> None:
    add_engine(parser, place)
    parser.add_argument("--values", choices=tuple(VALUES), default="exact", metavar="HOW",
                        help=f"{listed(VALUES)} (default: exact)")
    add_power(parser, place)
    parser.add_argument("--out", metavar=out, type=path, help=what)
    parser.add_argument("--dump", metavar="DIR", type=path, help="write every stage of the compiler")


def add_copies(parser: argparse.ArgumentParser) -> None:
    """Copies of a program, which only what is cut into sub-tiles has."""
    parser.add_argument("--unroll", metavar="N|most", type=copies, default=1,
                        help="copies of the program beside each other, which share the sub-tiles; most: as many as gain "
                             "(default: 1)")
    parser.add_argument("--dispatch", choices=tuple(DISPATCH), default="order", metavar="HOW",
                        help=f"how copies get sub-tiles; {listed(DISPATCH)} (default: order)")
    parser.add_argument("--without", metavar="NAMES",
                        help=f"leave features out, names with commas, to see what they gain; {listed(FEATURES)}")
    add_counters(parser)


def add_counters(parser: argparse.ArgumentParser) -> None:
    """Performance counters; streams of static programs move a word in every cycle."""
    parser.add_argument("--counters", action="store_true",
                        help="read the performance counters of the program's tiles, on a machine that is described with some "
                             "(counter_bits), or count on the token model, which has a clock for sparse programs: tokens, "
                             "cycles busy, starved and blocked")


def add_spread(parser: argparse.ArgumentParser, place: Place) -> None:
    """Who runs parts of what is cut into sub-tiles; a board runs all."""
    if place.engine is not None:
        parser.set_defaults(jobs=None, cluster=None, state=None)
        return
    parser.add_argument("--jobs", metavar="N", type=whole(1),
                        help="processes that run parts beside each other, with the same words and cycles (default: 1)")
    add_cluster(parser)
    parser.add_argument("--state", metavar="FILE", type=path, help="keep parts that are done: a run that was stopped goes on")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="local|ADDRESS",
                        help="workers of dask.distributed in place of processes: a cluster here, or those of the scheduler at "
                             "an address, such as tcp://host:8786 (needs the extra sardonyx[cluster])")


def copies(text: str) -> int | str:
    """A number of copies, or ``most``."""
    return text if text == MOST else whole(1)(text)


def add_power(parser: argparse.ArgumentParser, place: Place) -> None:
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
              "counters", "jobs", "cluster", "state"}
    if taken := sorted(options.operands.keys() & (named.keys() | others)):
        raise UserError(f"a tensor cannot be called '{taken[0]}'", where=f"--{taken[0]}",
                        fix="rename it in the expression")
    return named | options.operands


def engine_arguments(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    return {"engine": options.engine_of(options), "values": options.values, "dump": options.dump, "power": options.power,
            "progress": console.progress}


def copy_arguments(options: argparse.Namespace) -> dict[str, Any]:
    return {"unroll": options.unroll, "dispatch": options.dispatch, "without": options.without,
            "counters": options.counters, "jobs": options.jobs, "cluster": options.cluster, "state": options.state}
