"""The shell: only the GLB tile that an access means sees it, and none is at its place before its reset has ended."""


from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST

from sardonyx.hw.arch.soc import (
    CONTROLLER,
    GLB_REGISTER_STRIDE,
    GLB_REGISTERS,
    offsets,
)
from sardonyx.hw.soc.shell import Shell


def test_nothing_moves_in_a_glb_tile_that_is_not_meant() -> None:
    shell = Shell(LEAST)
    seen: dict[int, set[int]] = {0: set(), 1: set()}

    async def drive(sim: SimulatorContext) -> None:
        async def step() -> None:
            for tile, values in seen.items():
                values |= {sim.get(getattr(shell, f"glb{tile}_{name}")) for name in (
                    "register_index", "register_data", "register_write", "host_write_line", "host_write_data",
                    "host_write_strobe", "host_write_valid", "host_read_line", "host_read_valid")}
            await sim.tick()

        for name, value in (("awaddr", GLB_REGISTERS + GLB_REGISTER_STRIDE + 4), ("wdata", 0x1234), ("wstrb", 15),
                            ("awvalid", 1), ("wvalid", 1), ("bready", 1)):
            sim.set(getattr(shell, f"s_axil_{name}"), value)
        for _ in range(4):
            await step()
        for name, value in (("awaddr", LEAST.glb.tile_bytes), ("awsize", 3), ("awburst", 1), ("awvalid", 1), ("wdata", 0x5678),
                            ("wstrb", 255), ("wlast", 1), ("wvalid", 1), ("bready", 1), ("arsize", 3), ("arburst", 1),
                            ("araddr", LEAST.glb.tile_bytes + 8 * 99), ("arvalid", 1), ("rready", 1)):
            sim.set(getattr(shell, f"s_axi_{name}"), value)
        for _ in range(4):
            await step()

    simulator = Simulator(shell)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert {0x1234, 0x5678, 99} <= seen[1]
    assert seen[0] == {0}


def test_what_is_asked_in_the_first_cycle_after_reset_is_at_its_place_after_the_reset_there() -> None:
    """And a reset of one cycle resets everything, in the middle of an access."""
    m, domain = Module(), ClockDomain("sync")
    m.domains += domain
    m.submodules.shell = shell = Shell(LEAST)
    asked: dict[str, list[int]] = {"config0": [], "glb0": []}
    reset: list[int] = []

    async def drive(sim: SimulatorContext) -> None:
        for name in ("wstrb", "bready"):
            sim.set(getattr(shell, f"s_axil_{name}"), 15)
        sim.set(shell.s_axi_wstrb, 255)
        for name in ("s_axi_awvalid", "s_axi_wvalid", "s_axi_wlast", "s_axi_bready"):
            sim.set(getattr(shell, name), 1)
        sim.set(shell.s_axi_awsize, 3)
        sim.set(shell.s_axil_awaddr, offsets(CONTROLLER)["config_write"])
        for cycle in range(40):
            sim.set(domain.rst, cycle in (0, 20))
            for name in ("s_axil_awvalid", "s_axil_wvalid"):
                sim.set(getattr(shell, name), cycle not in (0, 20))
            _, _, configured, stored, resets = await sim.tick().sample(
                shell.config0.valid, shell.glb0_host_write_valid, shell.reset)
            for name, here in (("config0", configured), ("glb0", stored)):
                asked[name] += [cycle] * here
            reset.extend([cycle] * resets)

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert reset == [1, 21]
    for cycles in asked.values():
        assert {2 + delay for delay in range(2)} & {*cycles} and {22 + delay for delay in range(2)} & {*cycles}, "at once"
        assert not {1, 21} & {*cycles}
