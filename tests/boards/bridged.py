"""A `Bridge` in simulation, with a host on one side and slaves that answer when they like on the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

from amaranth.hdl import Const, Signal, Value
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.boards.bridge import Bridge

PATIENCE = 60
REGISTERS, LINES = 0x40, 0x80       # bytes that the two slaves have; the rest is answered with an error
SLVERR = 2
NOTHING = Const(0)


@dataclass
class Slaves:
    """What the slaves hold, and what was written to them, in order."""

    registers: dict[int, int] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    written: list[tuple[str, int, int]] = field(default_factory=list)


def converse(sent: Sequence[bytes | int], slaves: Slaves, seed: int = 0, irq_after: int | None = None,
             quiet: int = 4 * PATIENCE) -> bytes:
    """What a bridge answers to bytes and pauses of so many cycles, until it says nothing for `quiet` cycles."""
    bridge, answered = Bridge(PATIENCE), bytearray()
    chance = random.Random(seed)
    simulator = Simulator(bridge)
    simulator.add_clock(1e-6)

    async def host(sim: SimulatorContext) -> None:
        for part in sent:
            if isinstance(part, int):
                await pause(sim, part)
                continue
            for byte in part:
                await pause(sim, chance.choice((1, 1, 2, 9)))
                sim.set(bridge.i.payload, byte)
                sim.set(bridge.i.valid, 1)
                await when(sim, bridge.i.ready)
                sim.set(bridge.i.valid, 0)
        since = 0
        while since < quiet:
            before = len(answered)
            await sim.tick()
            since = 0 if len(answered) > before else since + 1

    async def listen(sim: SimulatorContext) -> None:
        while True:
            sim.set(bridge.o.ready, chance.random() < 0.6)
            _, _, valid, payload = await sim.tick().sample(bridge.o.valid, bridge.o.payload)
            if valid and sim.get(bridge.o.ready):
                answered.append(payload)

    async def interrupt(sim: SimulatorContext) -> None:
        if irq_after is not None:
            await pause(sim, irq_after)
            sim.set(bridge.irq, 1)

    simulator.add_testbench(host)
    simulator.add_testbench(listen, background=True)
    simulator.add_testbench(interrupt, background=True)
    for prefix, store, room, name in (("s_axil_", slaves.registers, REGISTERS, "register"),
                                      ("s_axi_", slaves.lines, LINES, "line")):
        simulator.add_testbench(_writes(_port(bridge, prefix), store, room, name, slaves, chance), background=True)
        simulator.add_testbench(_reads(_port(bridge, prefix), store, room, chance), background=True)
    simulator.run()
    return bytes(answered)


async def pause(sim: SimulatorContext, cycles: int) -> None:
    for _ in range(cycles):
        await sim.tick()


async def when(sim: SimulatorContext, condition: Signal, value: Value = NOTHING) -> int:
    """What a value is in the first cycle at whose end a condition holds."""
    while True:
        _, _, holds, found = await sim.tick().sample(condition, value)
        if holds:
            return int(found)


def _port(bridge: Bridge, prefix: str) -> Callable[[str], Signal]:
    def port(part: str) -> Signal:
        found: Signal = getattr(bridge, prefix + part)
        return found

    return port


def _writes(port: Callable[[str], Signal], store: dict[int, int], room: int, name: str, slaves: Slaves,
            chance: random.Random) -> Callable[[SimulatorContext], Coroutine[None, None, None]]:
    """A slave's write channels: address and word in either order, then the answer."""

    async def serve(sim: SimulatorContext) -> None:
        while True:
            found: dict[str, int] = {}
            for channel, what in chance.sample([("aw", "addr"), ("w", "data")], 2):
                await pause(sim, chance.randrange(1, 4))
                sim.set(port(f"{channel}ready"), 1)
                found[channel] = await when(sim, port(f"{channel}valid"), port(channel + what))
                sim.set(port(f"{channel}ready"), 0)
            good = found["aw"] < room
            if good:
                store[found["aw"]] = found["w"]
                slaves.written.append((name, found["aw"], found["w"]))
            await pause(sim, chance.randrange(1, 4))
            sim.set(port("bvalid"), 1)
            sim.set(port("bresp"), 0 if good else SLVERR)
            await when(sim, port("bready"))
            sim.set(port("bvalid"), 0)
    return serve


def _reads(port: Callable[[str], Signal], store: dict[int, int], room: int,
           chance: random.Random) -> Callable[[SimulatorContext], Coroutine[None, None, None]]:
    """A slave's read channels."""

    async def serve(sim: SimulatorContext) -> None:
        while True:
            await pause(sim, chance.randrange(1, 4))
            sim.set(port("arready"), 1)
            address = await when(sim, port("arvalid"), port("araddr"))
            sim.set(port("arready"), 0)
            await pause(sim, chance.randrange(1, 4))
            sim.set(port("rvalid"), 1)
            sim.set(port("rdata"), store.get(address, 0))
            sim.set(port("rresp"), 0 if address < room else SLVERR)
            await when(sim, port("rready"))
            sim.set(port("rvalid"), 0)
    return serve
