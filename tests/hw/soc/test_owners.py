"""Which region a GLB tile belongs to, against a model of claims."""

from itertools import pairwise

from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.soc.owners import Owners

TILES, REGIONS = 5, 3
CLAIM = st.tuples(st.integers(0, REGIONS - 1), st.one_of(st.integers(0, (1 << TILES) - 1), st.integers(0, (1 << 32) - 1)),
                  st.integers(0, (1 << REGIONS) - 1))


@given(claims=st.lists(CLAIM, max_size=20))
def test_a_region_has_what_it_claimed_last_and_none_that_is_occupied_changes(claims: "list[tuple[int, int, int]]") -> None:
    dut = Owners(TILES, REGIONS)
    owners: list[int | None] = [0] * TILES

    async def bench(sim: SimulatorContext) -> None:
        nonlocal owners
        for region, mask, occupied in claims:
            sim.set(dut.mask, mask)
            sim.set(dut.occupied, occupied)
            await sim.delay(1e-10)
            def busy(owner: "int | None", occupied: int = occupied) -> bool:
                return owner is not None and bool(occupied >> owner & 1)

            takes = [tile for tile in range(32) if mask >> tile & 1]
            refused = occupied >> region & 1 or any(tile >= TILES or busy(owners[tile]) for tile in takes)
            assert sim.get(dut.refused) >> region & 1 == bool(refused)
            if not refused:
                sim.set(dut.claims, 1 << region)
                owners = [region if tile in takes else None if owner == region else owner for tile, owner in enumerate(owners)]
            await sim.tick()
            sim.set(dut.claims, 0)
            found = [sim.get(getattr(dut, f"tiles{number}")) for number in range(REGIONS)]
            assert found == [sum((owner == number) << tile for tile, owner in enumerate(owners)) for number in range(REGIONS)]
            within = [west is not None and west == east for west, east in pairwise(owners)]
            assert sim.get(dut.open) == sum(inside << tile for tile, inside in enumerate(within, 1))

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
