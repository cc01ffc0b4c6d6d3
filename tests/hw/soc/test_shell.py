"""The shell: only the GLB tile that an access means sees it."""

from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST

from sardonyx.hw.arch.soc import GLB_REGISTER_STRIDE, GLB_REGISTERS
from sardonyx.hw.soc.shell import Shell


def test_nothing_moves_in_a_glb_tile_that_is_not_meant() -> None:
    shell = Shell(LEAST)
    seen: dict[int, set[int]] = {0: set(), 1: set()}

    async def drive(sim: SimulatorContext) -> None:
        async def step() -> None:
            for tile, values in seen.items():
                values |= {sim.get(getattr(shell, f"glb{tile}_{name}")) for name in (
                    "register_index", "register_data", "register_write", "host_line", "host_data", "host_strobe", "host_valid")}
            await sim.tick()

        for name, value in (("awaddr", GLB_REGISTERS + GLB_REGISTER_STRIDE + 4), ("wdata", 0x1234), ("wstrb", 15),
                            ("awvalid", 1), ("wvalid", 1), ("bready", 1)):
            sim.set(getattr(shell, f"s_axil_{name}"), value)
        for _ in range(4):
            await step()
        for name, value in (("awaddr", LEAST.glb.tile_bytes), ("awsize", 3), ("awburst", 1), ("awvalid", 1), ("wdata", 0x5678),
                            ("wstrb", 255), ("wlast", 1), ("wvalid", 1), ("bready", 1)):
            sim.set(getattr(shell, f"s_axi_{name}"), value)
        for _ in range(4):
            await step()

    simulator = Simulator(shell)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert {0x1234, 0x5678} <= seen[1]
    assert seen[0] == {0}
