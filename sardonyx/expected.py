"""What a program of one statement is expected to take on a machine, without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, permutations

from .compiler.einsum import copying
from .compiler.ir.transfer import WORD_BYTES
from .compiler.lang.einsum import Einsum
from .compiler.lang.program import parse_program
from .compiler.pipeline import check_resources
from .compiler.sparse.blocks import map_graph
from .compiler.sparse.copies import grouped
from .compiler.sparse.estimate import expect
from .compiler.sparse.fuse import alone
from .compiler.sparse.lower import lower
from .compiler.sparse.normalize import normalize, unsplit
from .compiler.sparse.search import Search
from .compiler.sparse.settled import with_lone
from .compiler.sparse.tiles import Tiling
from .cutting import Plan, cut, search
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .outcome import silent
from .tensors.coordinates import Coo

MOST_ORDERS = 720       # Of a statement that are tried: all of six indices.


@dataclass(frozen=True)
class Estimated:
    """A statement on some work: its sub-tiles, the copies that share them, and the cycles that are expected of all."""

    tiling: Tiling
    copies: int
    cycles: float


def estimated(statement: Einsum, data: Mapping[str, Coo], arch: Arch, wanted: Plan, looked: Search | None = None,
              progress: Callable[[str], None] = silent) -> Estimated:
    """The estimate for a statement; UserError where a machine is too small for its program, or its tiles do not fit. looked: as
    of `cut`."""
    tiling = cut(alone(statement), data, arch, wanted, progress, looked)
    check_room(tiling.einsum, arch, wanted)
    cycles, copies = on_copies(tiling, arch, wanted)
    return Estimated(tiling, copies, cycles)


def check_room(program: Einsum, arch: Arch, wanted: Plan) -> None:
    """UserError for a program, or so many copies of it, that a machine has no room for."""
    graph = map_graph(lower(program))
    check_resources(graph, arch)
    if wanted.copies is not None:
        grouped(graph, arch, wanted.copies, wanted.dynamic)


def on_copies(tiling: Tiling, arch: Arch, wanted: Plan) -> tuple[float, int]:
    """The cycles that are expected of sub-tiles, and on how many copies of their program."""
    copies = copying(alone(tiling.einsum), arch, wanted.copies, wanted.dynamic)
    found = expect(normalize(tiling.einsum), tiling, arch.glb.room_bytes // WORD_BYTES)
    return (found.apart, copies.most) if "pipelining" in wanted.without else found.shared(copies)


def orders(text: str, formats: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """The loop orders in which a statement can be computed, the default one first; of `MOST_ORDERS` that are tried."""
    default = parse_program(text).statements[0].order
    for order in islice(permutations(default), MOST_ORDERS):
        with suppress(UserError):
            yield parse_program(text, order, formats).statements[0].order


def glanced(statement: Einsum, data: Mapping[str, Coo], arch: Arch, wanted: Plan, edges: Mapping[str, int]) -> float:
    """The cycles that are expected with some edges, with 1 in place of some where sub-tiles settle sums; infinite where they do
    not fit."""
    looked = search(statement, data, arch, wanted)
    looked.glance([with_lone(statement, looked.clipped(edges), unsplit(looked.root))])
    return looked.cycles
