"""Periods without registers: words go from core to core in one stretch, until a memory, a register file or the border."""

import dataclasses

import pytest

from sardonyx.compiler.ir.mapped import Block, MappedGraph, Net, Pin
from sardonyx.flow.asic.gain import unpipelined_ps
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.timing import Timing

ARCH = dataclasses.replace(presets.get("tiny"), timing=Timing(
    pe=1000, pe_inside=700, mem=500, glb=400, switch_box=10, connection_box=1, setup=5))


def chain(**config: int | str) -> MappedGraph:
    """From the global buffer through two PEs, of which the second has this configuration, and back."""
    blocks = (Block("in", "io", "", {}), Block("a", "pe", "alu", {}), Block("b", "pe", "alu", config),
              Block("out", "io", "", {}))
    nets = (Net(Pin("in", "g2f"), (Pin("a", "data0"),)), Net(Pin("a", "res0"), (Pin("b", "data1"),)),
            Net(Pin("b", "res0"), (Pin("out", "f2g"),)))
    return MappedGraph({block.name: block for block in blocks}, nets, ())


HOPS = {"in.g2f": (1,), "a.res0": (2,), "b.res0": (3,)}


def test_words_pass_all_cores_between_two_ends() -> None:
    assert unpipelined_ps(chain(), HOPS, ARCH) == 400 + 11 + 1000 + 21 + 1000 + 31 + 5


def test_a_register_file_ends_a_stretch() -> None:
    assert unpipelined_ps(chain(operand_b="channel0"), HOPS, ARCH) == 400 + 11 + 1000 + 21 + 5
    assert unpipelined_ps(chain(operand_a="channel0"), HOPS, ARCH) == 400 + 11 + 1000 + 21 + 1000 + 31 + 5, "the other operand"


def test_a_product_passes_the_multiplier_and_what_follows_it() -> None:
    assert unpipelined_ps(chain(op=BY_NAME["adc"].code), HOPS, ARCH) == 400 + 11 + 1000 + 21 + 1000 + 31 + 5
    assert unpipelined_ps(chain(op=BY_NAME["muladd"].code), HOPS, ARCH) == 400 + 11 + 1000 + 21 + 700 + 1000 + 31 + 5


def test_no_stretch_between_tiles_makes_the_inside_of_one_shorter() -> None:
    slow = dataclasses.replace(ARCH, timing=dataclasses.replace(ARCH.timing, pe_inside=9000))
    assert unpipelined_ps(chain(), HOPS, slow) == 9000 + 5


def test_words_that_go_round_without_a_register_are_no_static_program() -> None:
    graph = chain()
    ring = dataclasses.replace(graph, nets=(*graph.nets[:2], Net(Pin("b", "res0"), (Pin("a", "data1"), Pin("out", "f2g")))))
    with pytest.raises(ValueError, match="in a cycle"):
        unpipelined_ps(ring, {**HOPS, "b.res0": (3, 3)}, ARCH)
