"""What clock gates spare, on a small global buffer: one simulation, whose words the model checks itself."""

from dataclasses import replace

import pytest
from amaranth.hdl import Fragment

from sardonyx.flow.asic.gating import BOUNDS, PARTS, REST, Tile, energy, machine, registers, workload
from sardonyx.flow.asic.power import COMPLETE, rates
from sardonyx.flow.asic.sram import access_fj
from sardonyx.hw.arch.glb import DYNAMIC, HYBRID, NONE, STATIC, Glb
from sardonyx.hw.glb.tile import GlbTile

SMALL = Glb(columns_per_tile=1, bank_bytes=128, load_loops=2, store_loops=2)
BUFFERS, WORDS = 2, 32


@pytest.fixture(scope="module", params=[SMALL, replace(SMALL, read_latency=2, bank_macros=2, ring=2)],
                ids=lambda glb: f"latency {glb.read_latency}, ring {glb.ring}")
def found(request: pytest.FixtureRequest) -> "tuple[Glb, dict[str, Tile]]":
    return request.param, workload(request.param, BUFFERS, WORDS)


def test_every_flop_of_a_tile_is_counted_once(found: "tuple[Glb, dict[str, Tile]]") -> None:
    glb, tiles = found
    whole = Fragment.get(GlbTile(replace(glb, clock_gating=HYBRID)), None)
    assert sum(part.flops for part in tiles["idle"].values()) == sum(map(len, registers(whole)))


def test_an_idle_tile_gets_no_clock_but_for_what_has_no_gate(found: "tuple[Glb, dict[str, Tile]]") -> None:
    glb, tiles = found
    for part in PARTS:
        events = tiles["idle"][part]
        # After a reset a bank is clocked for its margin.
        margin = (glb.read_latency - 1) * events.banks
        assert events.accesses == 0 and events.clocks == margin and (part == REST or events.moved == 0)
        assert events.clocked == (events.flops * events.cycles if part == REST else margin and events.flops)


def test_a_dma_that_is_not_enabled_gets_no_clock(found: "tuple[Glb, dict[str, Tile]]") -> None:
    _, tiles = found
    assert tiles["loads"]["store DMA"].clocked == tiles["stores"]["load DMA"].clocked == 0
    assert tiles["loads"]["load DMA"].clocked > 0 and tiles["stores"]["store DMA"].clocked > 0


def test_a_bank_is_accessed_once_for_what_enters_and_leaves(found: "tuple[Glb, dict[str, Tile]]") -> None:
    _, tiles = found
    lines = BUFFERS * WORDS // 4
    # The host moves lines, the load reads lines, and the store writes words.
    assert tiles["loads"]["banks"].accesses == 2 * lines
    assert tiles["stores"]["banks"].accesses == 2 * lines


def test_nothing_gated_is_every_flop_and_bank_in_every_cycle(found: "tuple[Glb, dict[str, Tile]]") -> None:
    glb, tiles = found
    idle = tiles["idle"]
    none = energy(idle, NONE, COMPLETE, glb)
    cycles, banks = idle["banks"].cycles, glb.banks * glb.bank_macros
    assert none.flops["load DMA"] == idle["load DMA"].flops * cycles * rates(COMPLETE, "load_dma").flop_fj
    assert none.banks == pytest.approx(banks * cycles * access_fj("sram_8x8x8", COMPLETE, 1, 0))


def test_each_way_spares_what_it_gates_and_none_goes_below_its_bound(found: "tuple[Glb, dict[str, Tile]]") -> None:
    glb, tiles = found
    totals = {way: machine(tiles, way, COMPLETE, glb, 4).total for way in (NONE, STATIC, DYNAMIC, HYBRID, *BOUNDS)}
    assert totals[NONE] > max(totals[STATIC], totals[DYNAMIC]) > min(totals[STATIC], totals[DYNAMIC]) > totals[HYBRID]
    assert totals[NONE] - totals[HYBRID] == pytest.approx(2 * totals[NONE] - totals[STATIC] - totals[DYNAMIC])
    assert totals[HYBRID] > totals[BOUNDS[0]] > totals[BOUNDS[1]] > totals[BOUNDS[2]] > 0


def test_the_port_for_registers_rests_between_buffers(found: "tuple[Glb, dict[str, Tile]]") -> None:
    glb, tiles = found
    port = tiles["port"]["register port"]
    assert 0 < port.moved <= port.clocked < port.flops * port.cycles, "it is written to, and rests"
    assert sum(part.flops for name, part in tiles["port"].items() if name != "register port") == 0
    none, dynamic = (machine(tiles, way, COMPLETE, glb, 16).flops["register port"] for way in (NONE, DYNAMIC))
    assert none == port.flops * port.cycles * rates(COMPLETE, "axi_lite").flop_fj and dynamic < none


def test_the_switch_of_a_ring_is_clocked_in_chains_alone(found: "tuple[Glb, dict[str, Tile]]") -> None:
    glb, tiles = found
    clocked = {name for name, parts in tiles.items() if parts["ring switch"].clocked}
    assert clocked == ({"loads", "loads_east", "stores", "stores_east"} if glb.ring > 1 else set())
