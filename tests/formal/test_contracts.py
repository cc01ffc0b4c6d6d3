import dataclasses
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from broken import lazy_fork
from contracts import Contract
from prover import Side, Verdict, cover, prove

from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.primitive import (
    ACCUMULATOR,
    ADDRESS,
    ALU,
    DIVIDER,
    DROPPER,
    JOINER,
    LEVEL,
    PASS_THROUGH,
    PRIMITIVES,
    REDUCER,
    REPEATER,
    SCATTER,
    SHARING_PRIMITIVES,
    Primitive,
)
from sardonyx.hw.arch.tile import MEM, PE
from sardonyx.hw.arch.token import TOKEN
from sardonyx.hw.sparse import joiner
from sardonyx.hw.sparse.interface import members
from sardonyx.hw.tile.core import build

SPARSE = {primitive.name: primitive for primitive in (JOINER, REPEATER, REDUCER, DROPPER, DIVIDER, *SHARING_PRIMITIVES,
                                                   ADDRESS)}
SMALL = dataclasses.replace(MEM, sram_lines=4, sram_lanes=2, locate=True)
FEW = dataclasses.replace(MEM, sram_lines=8, sram_lanes=2)
# With the operator for the multiplier, which the prover replaces.
MAXIMA = dataclasses.replace(PE, reduce_max=True)
CHEAP = dataclasses.replace(PE, multiplier_tree=False)


def sparse() -> Side:
    return Side({name: Contract(primitive, build(primitive, MAXIMA)) for name, primitive in SPARSE.items()})


def test_no_primitive_on_streams_is_without_a_proof() -> None:
    # A pass-through is a FIFO, which test_chains.py proves whole.
    assert {*SPARSE, ALU.name, LEVEL.name, ACCUMULATOR.name, SCATTER.name, PASS_THROUGH.name} == {
        name for name, each in PRIMITIVES.items() if not each.static}


def test_sparse_primitives_keep_the_contract(tmp_path: Path) -> None:
    assert prove(sparse(), tmp_path) == Verdict(True)


def test_every_output_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(sparse(), tmp_path, 5)


# Static, streams move every cycle whatever valid and ready say: there is no contract to keep.
def test_alu_keeps_the_contract_in_muladd(tmp_path: Path) -> None:
    assert prove(Contract(ALU, build(ALU, CHEAP), op=BY_NAME["muladd"].code, static=0), tmp_path) == Verdict(True)


# With any operation at once the solver has not ended after four minutes.
@pytest.mark.slow
@pytest.mark.parametrize("op", BY_NAME)
def test_alu_keeps_the_contract_in_every_operation(op: str, tmp_path: Path) -> None:
    assert prove(Contract(ALU, build(ALU, CHEAP), op=BY_NAME[op].code, static=0), tmp_path) == Verdict(True)


def test_level_keeps_the_contract_for_twelve_cycles(tmp_path: Path) -> None:
    assert prove(Contract(LEVEL, build(LEVEL, SMALL)), tmp_path, bound=12) == Verdict(True)


@pytest.mark.slow
def test_level_keeps_the_contract_for_sixteen_cycles(tmp_path: Path) -> None:
    assert prove(Contract(LEVEL, build(LEVEL, SMALL)), tmp_path, bound=16) == Verdict(True)


@pytest.mark.slow
def test_level_that_is_read_while_it_arrives_keeps_the_contract_for_twelve_cycles(tmp_path: Path) -> None:
    early = dataclasses.replace(SMALL, early=True)
    assert prove(Contract(LEVEL, build(LEVEL, early)), tmp_path, bound=12) == Verdict(True)
    assert cover(Contract(LEVEL, build(LEVEL, early)), tmp_path, 12)


def test_every_output_of_a_level_can_wait_and_move(tmp_path: Path) -> None:
    # So the bounds above reach past the latency of every output.
    assert cover(Contract(LEVEL, build(LEVEL, SMALL)), tmp_path, 12)


def test_accumulator_keeps_the_contract_for_twelve_cycles(tmp_path: Path) -> None:
    assert prove(Contract(ACCUMULATOR, build(ACCUMULATOR, FEW)), tmp_path, bound=12) == Verdict(True)


def test_every_output_of_an_accumulator_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(Contract(ACCUMULATOR, build(ACCUMULATOR, FEW)), tmp_path, 12)


def test_scatter_keeps_the_contract_for_twelve_cycles(tmp_path: Path) -> None:
    assert prove(Contract(SCATTER, build(SCATTER, FEW)), tmp_path, bound=12) == Verdict(True)


def test_every_output_of_a_scatter_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(Contract(SCATTER, build(SCATTER, FEW)), tmp_path, 12)


@pytest.mark.parametrize("found", ["crd is not retracted", "ref0_o is not retracted"])
def test_joiner_with_a_lazy_fork_is_found(found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joiner, "fork", lazy_fork)
    verdict = prove(Contract(JOINER, joiner.Joiner()), tmp_path, bound=4, only=found)
    assert verdict.failed == (found,)


class Restless(wiring.Component):
    """A pass-through that changes its mind about what it offers."""

    def __init__(self, primitive: Primitive = PASS_THROUGH) -> None:
        super().__init__(members(primitive))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        other = Signal(TOKEN.size)
        m.d.sync += other.eq(~other)
        m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready),
                     self.o.payload.eq(self.i.payload.as_value() ^ other)]
        return m


def test_changing_payload_is_found(tmp_path: Path) -> None:
    verdict = prove(Contract(PASS_THROUGH, Restless()), tmp_path, bound=4, only="o does not change")
    assert verdict.failed == ("o does not change",)
