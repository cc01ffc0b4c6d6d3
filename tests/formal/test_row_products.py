"""A design of parts of both machines keeps the stream contract as a whole: what its parts give each other does, all at once.

Every stream from part to part is read inside, and that it keeps the contract is claimed of all of them together. With what
FIFOs hold, that is an induction of one step, so nothing is left to an argument about the parts.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth.hdl import Module, Shape
from amaranth.lib.wiring import Component
from chains import keeps_contract
from prover import Verdict, prove
from test_buffers import Held
from test_ports import DOTS

from sardonyx.hw.arch.elastic import Worker
from sardonyx.hw.arch.token import TOKEN
from sardonyx.hw.joined.dealer import UNDER_WAY, Dealer
from sardonyx.hw.joined.row_products import AHEAD, LANES, RowProducts
from sardonyx.hw.memory.stored_level import SizedLevel, StoredLevel
from sardonyx.hw.sparse.joiner import Joiner
from sardonyx.hw.spatial.array.elastic_array import ElasticArray
from sardonyx.hw.spatial.array.elastic_pe import ElasticPe
from sardonyx.hw.stream.fifo import Fifo, Fifo2

LINES, FINISHED = 8, 4


def parts() -> "dict[str, Component]":
    """Parts of the design, by their path; links of the array are those of its PEs and ports."""
    array = DOTS.elastic
    assert array is not None, "values decide which points are computed"
    found: dict[str, Component] = {
        "rows_level": SizedLevel(LINES, LANES), "writer": SizedLevel(LINES, LANES), "joiner": Joiner(),
        "dealer": Dealer(len(array.outputs), 2, array.bits("x")), "ahead": Fifo(TOKEN, AHEAD), "array": ElasticArray(array)}
    for name in "bc":
        found |= {f"{name}_level": StoredLevel(LINES, LANES, False), f"{name}_values": StoredLevel(LINES, LANES, True)}
        found |= {f"{name}_{what}_fifo": Fifo2(TOKEN) for what in ("crd", "ref", "joined", "value")}
    return found | {f"array.{unit.name}": ElasticPe(unit.kind, unit.name) for unit in array.units
                    if isinstance(unit.kind, Worker)}


class Whole(Held):
    """The design with its streams inside."""

    def __init__(self) -> None:
        self.inner = [(f"{path}.{port}", Shape.cast(member.signature.members["payload"].shape).width)
                      for path, part in parts().items()
                      for port, member in part.signature.members.items() if member.is_signature]
        levels = ["rows_level", "writer", *(f"{name}_{what}.level" for name in "bc" for what in ("level", "values"))]
        fifos = {f"{level}.scanner.finished": FINISHED for level in levels} | {"ahead": AHEAD, "dealer.told": UNDER_WAY}
        assert DOTS.elastic is not None, "values decide which points are computed"
        super().__init__(RowProducts(DOTS.elastic, LINES), fifos, more={
            f"{named(path)}_{wire}": (f"part.{path}__{wire}", bits) for path, width in self.inner
            for wire, bits in (("valid", 1), ("ready", 1), ("payload", width))})

    def build(self, m: Module) -> None:
        super().build(m)
        for path, _ in self.inner:
            wires = {wire: getattr(self, f"{named(path)}_{wire}") for wire in ("valid", "ready", "payload")}
            keeps_contract(m, path, SimpleNamespace(**wires))


def named(path: str) -> str:
    return path.replace(".", "_")


@pytest.mark.slow
def test_row_products_keep_the_contract_as_a_whole(tmp_path: Path) -> None:
    whole = Whole()
    assert len(whole.inner) == 73
    assert prove(whole, tmp_path) == Verdict(True)
