"""The banks of a GLB tile, and who has one in a cycle: what is saved, load, store, configuration, host, whose reads and writes
take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from amaranth.hdl import Cat, Module, Signal, Value

from ..arch.glb import Glb
from ..clock_gate import lasting
from ..emit import Clock, Macro, macro
from .bank import Bank


class HostPort(Protocol):
    """The ports of a tile for what the host asks of its memory (`tile.control_members`)."""

    host_write_valid: Value
    host_write_line: Value
    host_write_data: Value
    host_write_strobe: Value
    host_write_ready: Value
    host_read_valid: Value
    host_read_line: Value
    host_read_ready: Value
    host_read_word: Value


class Asked(NamedTuple):
    """What loads and stores ask of the banks of a tile in a cycle, where the word goes, and who waits to be granted."""

    read: Value
    read_line: Value
    word: Value
    read_grants: Sequence[Value]
    write: Value
    write_line: Value
    lanes: Value
    data: Value
    write_grants: Sequence[Value]


def own_banks(load: Macro, store: Macro) -> Asked:
    """What the units of a tile ask, which has no others."""
    return Asked(load.read, load.line, load.word, (load.grant,),
                 store.write, store.line, store.lanes, store.data, (store.grant,))


def share(m: Module, tile: HostPort, glb: Glb, asked: Asked, store: Macro, config: Macro | None, saver: Macro | None,
          clocks: Sequence[Clock | None]) -> None:
    """Add the banks of a tile to its module, a part that is `bank{n}`, each giving its cycle to the first that asks.

    tile: the host asks there. clocks: of each bank, its own or that of the tile.
    """
    lines = glb.bank_bytes // 8
    bits = (lines - 1).bit_length()
    read_bank = {name: Signal(range(max(2, glb.banks)), name=f"{name}_bank") for name in ("load", "host")}
    shown = {"load": asked.word, "host": tile.host_read_word}
    if config is not None:
        read_bank["config"], shown["config"] = Signal(range(max(2, glb.banks)), name="config_bank"), config.word
    words, writes, reads = [], [], []
    reads_next = Signal()
    for number in range(glb.banks):
        m.submodules[f"bank{number}"] = bank = macro(Bank.of(glb), clock=(clock := clocks[number]))
        if clock is not None:
            m.d.comb += clock.on.eq(lasting(m, f"bank{number}", bank.enable, Bank.margin(glb.read_latency)))
        load_here, store_here, write_here, read_here = (Signal(name=f"{who}_here{number}")
                                                        for who in ("load", "store", "write", "read"))
        m.d.comb += [load_here.eq(asked.read & (asked.read_line[bits:] == number)),
                     store_here.eq(asked.write & (asked.write_line[bits:] == number)),
                     write_here.eq(tile.host_write_valid & (tile.host_write_line[bits:] == number)),
                     read_here.eq(tile.host_read_valid & (tile.host_read_line[bits:] == number))]
        write_goes, read_goes = (Signal(name=f"{what}_goes{number}") for what in ("write", "read"))
        config_here = Signal(name=f"config_here{number}")
        # What is stored is there for all who come when the store has ended.
        taken = load_here | store_here | (store.holds & ~store.busy)
        if config is not None:
            m.d.comb += config_here.eq(config.read & (config.line[bits:] == number))
            taken |= config_here
        if saver is not None:
            save_here = Signal(name=f"save_here{number}")
            m.d.comb += save_here.eq(saver.write & (saver.line[bits:] == number))
            taken |= save_here
        m.d.comb += [write_goes.eq(~taken & write_here & ~(read_here & reads_next)),
                     read_goes.eq(~taken & read_here & ~(write_here & ~reads_next))]
        if saver is not None:
            # Answers come when they do, in a configuration, which has ended what loads and stores did.
            with m.If(save_here):
                m.d.comb += [bank.enable.eq(1), bank.address.eq(saver.line), bank.data.eq(saver.word), bank.write.eq(-1)]
        with (m.If if saver is None else m.Elif)(load_here):
            m.d.comb += [bank.enable.eq(1), bank.address.eq(asked.read_line), *(grant.eq(1) for grant in asked.read_grants)]
            m.d.sync += read_bank["load"].eq(number)
        with m.Elif(store_here):
            m.d.comb += [bank.enable.eq(1), bank.address.eq(asked.write_line),
                         *(grant.eq(1) for grant in asked.write_grants), bank.data.eq(asked.data),
                         bank.write.eq(Cat(lane.replicate(2) for lane in asked.lanes))]
        if config is not None:
            with m.Elif(config_here):
                m.d.comb += [bank.enable.eq(1), bank.address.eq(config.line), config.grant.eq(1)]
                m.d.sync += read_bank["config"].eq(number)
        with m.Elif(write_goes):
            m.d.comb += [bank.enable.eq(1), bank.address.eq(tile.host_write_line),
                         bank.write.eq(tile.host_write_strobe), bank.data.eq(tile.host_write_data)]
            m.d.sync += reads_next.eq(1)
        with m.Elif(read_goes):
            m.d.comb += [bank.enable.eq(1), bank.address.eq(tile.host_read_line)]
            m.d.sync += [read_bank["host"].eq(number), reads_next.eq(0)]
        words.append(bank.word)
        writes.append(write_goes)
        reads.append(read_goes)
    # One gate each: assigned in the branches above they are 0 for a moment, over which Icarus never comes to rest.
    m.d.comb += [tile.host_write_ready.eq(Cat(writes).any()), tile.host_read_ready.eq(Cat(reads).any())]
    stacked = Cat(*words)
    # What was asked then chooses the word that comes now.
    for name, bank in read_bank.items():
        for cycle in range(1, glb.read_latency):
            later = Signal.like(bank, name=f"{name}_bank_{cycle}")
            m.d.sync += later.eq(bank)
            bank = later
        m.d.comb += shown[name].eq(stacked.word_select(bank, 64))
