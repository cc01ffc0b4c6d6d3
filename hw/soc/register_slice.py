"""Register slices: a FIFO of two entries on every channel of a bus, so that no path leads through it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..stream.fifo import Fifo2

CHANNELS = ("aw", "w", "b", "ar", "r")
# What only caches, locks and protection would ask for.
UNUSED = ("lock", "cache", "prot")


def carried(ports: Mapping[str, wiring.Member], prefix: str, channel: str) -> list[str]:
    """The fields of a channel that are more than its handshake and mean something here, by their names with the prefix."""
    before = prefix + channel
    return [name for name in ports if name.startswith(before) and name.removeprefix(before) not in (*UNUSED, "valid", "ready")]


def sliced(m: Module, slave: wiring.Component, ports: Mapping[str, wiring.Member], prefix: str) -> SimpleNamespace:
    """Put a `Fifo2` on every channel of a slave's AXI port; return signals of the same names without prefix behind them.

    ports: those of the bus, ``{prefix}{channel}{field}``.

    Timing: a cycle of latency each way, one transfer a cycle and channel; every output of the bus comes from a register.
    """
    behind = {name.removeprefix(prefix): Signal(member.shape, name=name.removeprefix(prefix))
              for name, member in ports.items()}
    for channel in CHANNELS:
        fields = carried(ports, prefix, channel)
        outside = Cat(getattr(slave, name) for name in fields)
        inside = Cat(behind[name.removeprefix(prefix)] for name in fields)
        valid, ready = (getattr(slave, f"{prefix}{channel}{part}") for part in ("valid", "ready"))
        m.submodules[f"{channel}_slice"] = fifo = Fifo2(len(inside))
        if ports[f"{prefix}{channel}valid"].flow is In:
            m.d.comb += [fifo.i.payload.eq(outside), fifo.i.valid.eq(valid), ready.eq(fifo.i.ready),
                         inside.eq(fifo.o.payload), behind[f"{channel}valid"].eq(fifo.o.valid),
                         fifo.o.ready.eq(behind[f"{channel}ready"])]
        else:
            m.d.comb += [fifo.i.payload.eq(inside), fifo.i.valid.eq(behind[f"{channel}valid"]),
                         behind[f"{channel}ready"].eq(fifo.i.ready),
                         outside.eq(fifo.o.payload), valid.eq(fifo.o.valid), fifo.o.ready.eq(ready)]
    return SimpleNamespace(**behind)
