"""The shell of a machine of regions: those that a register names do the same in the same cycle."""


import pytest
from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST
from shell_ports import STALLING, Ports, port_of, with_two_regions

from sardonyx.hw.arch.soc import (
    CONTROLLER,
    GLB_REGISTER_STRIDE,
    GLB_REGISTERS,
    GROUP,
    GROUP_REGISTERS,
    REGION_STRIDE,
    controller_registers,
    glb_registers,
    named,
    offsets,
)
from sardonyx.hw.soc.shell import Shell


def group(regions: int, **commands: int) -> int:
    return named(GROUP)["group"].word(regions=regions, **commands)


def watch(ports: Ports) -> "dict[str, list[int]]":
    """From now on, the cycles in which a port of a tile or its columns is 1."""
    seen: dict[str, list[int]] = {f"glb{tile}_{name}": [] for tile in range(2) for name in ("start", "stop", "configure")}
    seen |= {"flush0": [], "flush1": []}
    cycle = 0

    async def see(count: int = 1) -> None:
        nonlocal cycle
        for _ in range(count):
            for name, cycles in seen.items():
                cycles += [cycle] * ports.sim.get(port_of(ports.shell, name))
            await ports.sim.tick()
            cycle += 1

    ports.tick = see    # type: ignore[method-assign]
    return seen


def test_regions_of_a_group_flush_start_stop_and_configure_in_the_same_cycle() -> None:
    async def scenario(ports: Ports) -> None:
        seen = watch(ports)
        for commands in (group(3, start=1), group(3, stop=1), group(3, configure=1), group(3, start=1, configure=1)):
            assert await ports.write_at(GROUP_REGISTERS, commands) == 0
            await ports.tick(20)
        pairs = [(f"glb0_{name}", f"glb1_{name}") for name in ("start", "stop", "configure")]
        for one, other in (("flush0", "flush1"), *pairs):
            assert seen[one] and seen[one] == seen[other], one

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
def test_a_group_is_of_the_regions_that_it_names(region: int) -> None:
    async def scenario(ports: Ports) -> None:
        seen = watch(ports)
        for strange in (0b100 | 1 << region, 1 << 15):
            assert await ports.write_at(GROUP_REGISTERS, group(strange, start=1, configure=1)) == 2, "an error response"
        await ports.tick(20)
        assert not any(seen.values())
        assert await ports.write_at(GROUP_REGISTERS, group(1 << region, start=1, configure=1)) == 0
        await ports.tick(20)
        assert all(bool(cycles) == (f"{region}" in name) for name, cycles in seen.items()), seen

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
def test_no_register_of_a_region_gives_commands_to_another(region: int) -> None:
    """All words of its window, the unused ones too."""
    async def scenario(ports: Ports) -> None:
        seen = watch(ports)
        for offset in range(0, REGION_STRIDE, 4):
            if offset != offsets(CONTROLLER)["claim"]:
                await ports.write_at(REGION_STRIDE * region + offset, 0xFFFFFFFF)
        await ports.tick(20)
        assert not any(cycles for name, cycles in seen.items() if f"{1 - region}" in name)
        assert seen[f"flush{region}"]

    with_two_regions(scenario)


def test_one_region_has_no_group() -> None:
    shell, responses = Shell(LEAST), []

    async def bench(sim: SimulatorContext) -> None:
        responses.append(await Ports(sim, shell).write_at(GROUP_REGISTERS, 0))

    simulator = Simulator(shell)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert responses == [2]


@pytest.mark.parametrize("region", range(2))
def test_whoever_freezes_a_column_of_a_static_program_freezes_all_of_its_region(region: int) -> None:
    control = named(glb_registers(LEAST.glb))["store_control"]
    mine, other = (0b11 << 2 * number for number in (region, 1 - region))
    first = 1 << 2 * region

    async def scenario(ports: Ports) -> None:
        async def stall(number: int, columns: int) -> None:
            await ports.write_at(REGION_STRIDE * number + offsets(controller_registers(STALLING))["stall"], columns)

        async def frozen(word: int) -> int:
            await ports.write_at(GLB_REGISTERS + GLB_REGISTER_STRIDE * region + control.offset, word)
            for number in range(2):
                await stall(number, 0b0101)
            await ports.tick(20)
            return sum(ports.sim.get(port_of(ports.shell, f"stall{x}")) << x for x in range(4))

        for word in (0, control.word(enable=1), control.word(static=1)):
            assert await frozen(word) == 0b0101
        assert await frozen(control.word(enable=1, static=1)) == mine | 0b0101 & other
        assert await frozen(control.word(enable=1, affine=1)) == 0b0101
        await frozen(control.word(enable=1, static=1))
        await stall(region, 0)
        await ports.tick(20)
        assert not ports.sim.get(port_of(ports.shell, f"stall{2 * region}"))
        await stall(region, first << 1)
        await ports.tick(20)
        assert ports.sim.get(port_of(ports.shell, f"stall{2 * region}"))

    with_two_regions(scenario, column_stall=True)
